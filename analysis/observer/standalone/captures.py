"""A capture file to one table of TCP and UDP packets.

What the observer holds of a packet, and makes of it, takes less than 450 bytes. MOST_PKTS of them bound its memory,
whatever the captures say.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.capture import pcap
from analysis.errors import BadInputError
from common.counts import plural

TCP, UDP = 6, 17
OUTGOING: Final = 2  # `direction` of Linux cooked captures
TWICE_NS: Final = 1_000_000  # a packet that a host forwards is captured on its way in and on its way out
MOST_PKTS: Final = 1 << 23  # in the captures of one command

Addresses = NDArray[np.void]


@dataclass(frozen=True, eq=False)
class Captured:
    """What a capture is, beside its packets with ports."""

    path: Path
    origin_ns: int  # the first packet's time since the epoch, from which all instants of this capture are counted
    end_ns: int  # the last packet's
    pkts: int
    addresses: Addresses  # of IPv6, 16 bytes each; packets have their places here
    others: int  # packets of other protocols, fragments and what was cut before the ports
    remarks: list[str]  # sentences for the page

    def endpoint(self, version: int, address: int, port: int) -> str:
        """Address and port as people write them."""
        if version == 6:
            return f"[{IPv6Address(self.addresses[address].tobytes())}]:{port}"
        return f"{IPv4Address(address)}:{port}"


def read(path: Path, most_pkts: int = MOST_PKTS) -> tuple[Captured, pl.DataFrame]:
    """Read a capture file; returns its packets with ports beside it, by time (`time_ns` counts from the epoch).

    Raises BadInputError when it is no capture, or holds no packet of TCP or UDP, or more than `most_pkts` of them.
    """
    tables, sixes, pkts, ported_pkts, truncated = [], [], 0, 0, False
    for chunk in pcap.read_wide(path):
        columns = chunk.columns
        chosen = np.flatnonzero(np.isin(columns["proto"], (TCP, UDP)) & (columns["dport"] > 0))
        if ported_pkts + len(chosen) > most_pkts:
            number = pkts + int(chosen[most_pkts - ported_pkts]) + 1
            allowed = f"{MOST_PKTS} in the captures given together; editcap -c {MOST_PKTS} divides a capture"
            raise BadInputError(f"{path}: packet {number}: too many packets of TCP and UDP; allowed: {allowed}")
        kept = {name: values[chosen] for name, values in columns.items()}
        six = kept["ip_version"] == 6
        sixes.append(np.stack([kept.pop("src6")[six], kept.pop("dst6")[six]]))
        tables.append(pl.DataFrame(kept))
        pkts += len(columns["proto"])
        ported_pkts += len(chosen)
        truncated = chunk.truncated
    remarks = ["its last packet is cut off, and omitted"] if truncated else []
    if not ported_pkts:
        raise BadInputError(f"{path}: {pkts} packets, none of them TCP or UDP over IPv4 or IPv6")
    ported, addresses = _numbered(pl.concat(tables), np.concatenate(sixes, axis=1))
    del tables, sixes
    if not ported["time_ns"].is_sorted():
        ported = ported.sort("time_ns", maintain_order=True)
        remarks.append("its packets are not in the order of their times; they were sorted")
    once = _once(ported)
    if len(once) < len(ported):
        remarks.append(
            f"{plural(len(ported) - len(once), 'packet')} captured twice, on the way in and out of this host; "
            "the first time counts"
        )
    times = once["time_ns"]
    return Captured(path, int(times[0]), int(times[-1]), len(once), addresses, pkts - ported_pkts, remarks), once


def _numbered(packets: pl.DataFrame, ends: Addresses) -> tuple[pl.DataFrame, Addresses]:
    """Put places in the list of addresses that is returned for IPv6's `ends`, sources above destinations."""
    if not ends.size:
        return packets, np.empty(0, "V16")
    both = ends.ravel()
    # numpy compares such bytes as text, which ends at a zero: two numbers do not
    halves = both.view(">u8").reshape(-1, 2).astype(np.uint64)
    order = np.lexsort((halves[:, 1], halves[:, 0]))
    changes = (np.diff(halves[order], axis=0) != 0).any(axis=1)
    places = np.empty(len(both), np.uint32)
    places[order] = np.cumsum(np.append(False, changes))
    different = both[order[np.append(True, changes)]]
    six = packets["ip_version"].to_numpy() == 6
    numbered = []
    for name, of_end in zip(("src", "dst"), np.split(places, 2), strict=True):
        values = packets[name].to_numpy().copy()
        values[six] = of_end
        numbered.append(pl.Series(name, values))
    return packets.with_columns(numbered), different


def _once(packets: pl.DataFrame) -> pl.DataFrame:
    """Leave out the second of two equal packets of a cooked capture, of which one came in and the other went out."""
    if not packets["direction"].max():
        return packets
    same = [*("ip_version", "proto", "digest", "ip_id", "payload_bytes")]
    before = pl.col("time_ns").shift(1).over(same)
    turned = pl.col("direction") != pl.col("direction").shift(1).over(same)
    return packets.filter(((pl.col("time_ns") - before <= TWICE_NS) & turned).fill_null(False).not_())
