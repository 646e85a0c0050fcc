"""Which flow a packet belongs to, and in which direction it goes."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.capture.addresses import RunAddresses
from analysis.run_json import Flow

STRANGER: Final = -1
UDP: Final = 17


class Owners:
    """Tells flows by the address and port of their receivers; no two flows have one port.

    A receiver may go on over UDP from another port than the one that was asked. So a flow also has the packets between
    its receiver's address and a port from which its own port was asked before.
    """

    def __init__(self, flows: Sequence[Flow], addresses: RunAddresses) -> None:
        self._names = pl.Series("flow", [*(flow.name for flow in flows), None], pl.Categorical)
        self._of_port = np.full(1 << 16, STRANGER, np.int16)
        self._of_port[[flow.port for flow in flows]] = np.arange(len(flows))
        self.addresses = addresses
        numbers = (addresses.number(flow.address) for flow in flows)
        self._addresses = np.array([*numbers, 0], np.uint32)  # the last: of strangers
        # addresses and UDP ports that asked, sorted, and which flows they asked for; no end is as great as the last
        self._asking = np.array([np.iinfo(np.uint64).max], np.uint64)
        self._asked = np.array([STRANGER], np.int16)

    def of(self, packets: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Give `flow` (a name) and `forward` (data goes there, ACKs come back) of each packet; null for strangers."""
        data = self._by_receiver(packets["dst"].to_numpy(), packets["dport"].to_numpy())
        ack = self._by_receiver(packets["src"].to_numpy(), packets["sport"].to_numpy())
        over_udp = packets["proto"].to_numpy() == UDP
        if over_udp.any():
            self._learn(packets, data, over_udp)
            strange = over_udp & (np.maximum(data, ack) == STRANGER)
            data[strange] = self._by_sender(packets.filter(strange), "src", "sport", "dst")
            ack[strange] = self._by_sender(packets.filter(strange), "dst", "dport", "src")
        owner = np.maximum(data, ack)
        # STRANGER counts from the end, where there is no name
        flow = self._names.gather(owner % len(self._names))
        forward = pl.Series("forward", data >= ack).set(pl.Series(owner == STRANGER), None)
        return flow, forward

    def _by_receiver(self, addresses: NDArray[np.uint32], ports: NDArray[np.uint16]) -> NDArray[np.int16]:
        """Give the number of the flow whose receiver has an address and a port."""
        flows = self._of_port[ports]
        return np.where(self._addresses[flows] == addresses, flows, np.int16(STRANGER))

    def _learn(self, packets: pl.DataFrame, data: NDArray[np.int16], over_udp: NDArray[np.bool_]) -> None:
        """Remember from which addresses and UDP ports the flows' receivers were asked."""
        asking = over_udp & (data != STRANGER)
        ends = _ends(packets.filter(asking), "src", "sport")
        unknown = ~np.isin(ends, self._asking)
        new, first = np.unique(ends[unknown], return_index=True)
        places = np.searchsorted(self._asking, new)
        self._asking = np.insert(self._asking, places, new)
        self._asked = np.insert(self._asked, places, data[asking][unknown][first])

    def _by_sender(self, packets: pl.DataFrame, address: str, port: str, other: str) -> NDArray[np.int16]:
        """Give the number of the flow that one end asked for, if the other end has its receiver's address."""
        ends = _ends(packets, address, port)
        places = np.searchsorted(self._asking, ends)
        flows = np.where(self._asking[places] == ends, self._asked[places], np.int16(STRANGER))
        return np.where(self._addresses[flows] == packets[other].to_numpy(), flows, np.int16(STRANGER))


def _ends(packets: pl.DataFrame, address: str, port: str) -> NDArray[np.uint64]:
    ends: NDArray[np.uint64] = (
        packets.select(pl.col(address).cast(pl.UInt64) * 65536 + pl.col(port)).to_series().to_numpy()
    )
    return ends
