"""Which flow a packet belongs to, and in which direction it goes."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.settings import Flow

STRANGER: Final = -1


class Owners:
    """Tells flows by the address and port of their receivers; no two flows have one port."""

    def __init__(self, flows: Sequence[Flow]) -> None:
        self._names = pl.Series("flow", [*(flow.name for flow in flows), None], pl.Categorical)
        self._of_port = np.full(1 << 16, STRANGER, np.int16)
        self._of_port[[flow.port for flow in flows]] = np.arange(len(flows))
        self._addresses = np.array([*(flow.address for flow in flows), 0], np.uint32)  # the last: of strangers

    def of(self, packets: pl.DataFrame) -> tuple[pl.Series, pl.Series]:
        """Give `flow` (a name) and `forward` (data goes there, ACKs come back) of each packet; null for strangers."""
        data = self._by_receiver(packets["dst"].to_numpy(), packets["dport"].to_numpy())
        ack = self._by_receiver(packets["src"].to_numpy(), packets["sport"].to_numpy())
        owner = np.maximum(data, ack)
        # STRANGER counts from the end, where there is no name
        flow = self._names.gather(owner % len(self._names))
        forward = pl.Series("forward", data >= ack).set(pl.Series(owner == STRANGER), None)
        return flow, forward

    def _by_receiver(self, addresses: NDArray[np.uint32], ports: NDArray[np.uint16]) -> NDArray[np.int16]:
        """Give the number of the flow whose receiver has an address and a port."""
        flows = self._of_port[ports]
        return np.where(self._addresses[flows] == addresses, flows, np.int16(STRANGER))
