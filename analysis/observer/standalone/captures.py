"""A capture file to one table of TCP and UDP packets.

What the observer holds of a packet, and makes of it, takes less than 450 bytes. MOST_PKTS of them bound its memory,
whatever the captures say.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.capture import pcap
from analysis.capture.addresses import distinct
from analysis.errors import BadInputError
from common.counts import plural

TCP, UDP = 6, 17
OUTGOING: Final = 2  # `direction` of Linux cooked captures
TWICE_NS: Final = 1_000_000  # a packet that a host forwards is captured on its way in and on its way out
MIRRORED_NS: Final = 1_000_000_000  # a numbered packet seen twice; its sender's numbers begin again after 65536 others
MIRRORED_SHARE: Final = 0.1  # of packets with data that come twice at once, which senders hardly ever do
BEGINS_OR_ENDS: Final = 0x07  # flags of TCP
PROTOCOLS: Final = {
    1: "ICMP", 2: "IGMP", 4: "IP in IP", 6: "TCP", 17: "UDP", 41: "IPv6 in IP", 47: "GRE", 50: "ESP", 51: "AH",
    58: "ICMPv6", 88: "EIGRP", 89: "OSPF", 103: "PIM", 112: "VRRP", 132: "SCTP",
}  # fmt: skip
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
    others: dict[str, int]  # packets without ports, by what they are
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
    tables, sixes, pkts, ported_pkts = [], [], 0, 0
    others: Counter[str] = Counter()
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
        others += _others(columns, chosen)
        remarks = list(chunk.left_out)
        if chunk.truncated:
            remarks.append("its last packet is cut off, and omitted")
    if not ported_pkts:
        found = "; ".join([f"{plural(pkts, 'packet')}, {told(others)}" if pkts else "no packet", *remarks])
        raise BadInputError(f"{path}: found {found}; allowed: packets of TCP or UDP")
    ported, addresses = _numbered(pl.concat(tables), np.concatenate(sixes, axis=1))
    del tables, sixes
    if not ported["time_ns"].is_sorted():
        ported = ported.sort("time_ns", maintain_order=True)
        remarks.append("its packets are not in the order of their times; they were sorted")
    once = _once(ported)
    if len(once) < len(ported):
        remarks.append(
            f"{plural(len(ported) - len(once), 'packet')} captured twice, on the way in and out of this host or by a "
            "port that mirrors both; the first time counts"
        )
    times = once["time_ns"]
    return Captured(path, int(times[0]), int(times[-1]), len(once), addresses, dict(others), remarks), once


def told(others: Mapping[str, int]) -> str:
    """Say how many packets of each kind there are, the most first."""
    return ", ".join(f"{count:,} {what}" for what, count in sorted(others.items(), key=lambda one: (-one[1], one[0])))


def _others(columns: dict[str, NDArray[Any]], ported: NDArray[np.intp]) -> Counter[str]:
    """Count packets without ports by what they are."""
    without = np.ones(len(columns["proto"]), bool)
    without[ported] = False
    kinds, counts = np.unique(
        np.where(columns["ip_version"] > 0, columns["proto"].astype(np.int64), -1)[without], return_counts=True
    )
    counted: Counter[str] = Counter()
    for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        name = (
            "not of IP, or in a tunnel that is not read"
            if kind < 0
            else PROTOCOLS.get(kind, f"of IP's protocol {kind}")
        )
        if kind in (TCP, UDP):
            name += " cut before the ports, or fragments"
        counted[name] += count
    return counted


def _numbered(packets: pl.DataFrame, ends: Addresses) -> tuple[pl.DataFrame, Addresses]:
    """Put places in the list of addresses that is returned for IPv6's `ends`, sources above destinations."""
    if not ends.size:
        return packets, np.empty(0, "V16")
    places, different = distinct(ends.ravel())
    six = packets["ip_version"].to_numpy() == 6
    numbered = []
    for name, of_end in zip(("src", "dst"), np.split(places, 2), strict=True):
        values = packets[name].to_numpy().copy()
        values[six] = of_end
        numbered.append(pl.Series(name, values))
    return packets.with_columns(numbered), different


def _once(packets: pl.DataFrame) -> pl.DataFrame:
    """Leave out packets that were captured before.

    A cooked capture has a packet that its host forwards coming in and going out, with other addresses if they are
    translated. A port that mirrors both directions of another, or several of one path, gives packets twice: they have
    one number of IP, where their sender numbers packets, or come at nearly the same time and carry data or begin or end
    a connection. Where so many of the packets with data come twice, those without are no answers either.
    """
    again = packets["digest"].is_duplicated() & (packets["digest"] != 0)
    if not again.any():
        return packets
    before, turned = pl.col("time_ns").shift(1), pl.col("direction") != pl.col("direction").shift(1)
    same = ("ip_version", "proto", "digest", "ip_id", "payload_bytes")
    ends = ("src", "dst", "sport", "dport")
    apart, of_ends = pl.col("time_ns") - before.over(same), pl.col("time_ns") - before.over(*same, *ends)
    is_numbered = (pl.col("ip_id") > 0) | (pl.col("utp_header_bytes") > 0)  # uTP's own clock is in the digest
    forwarded = turned.over(same) & (apart <= TWICE_NS)
    has_data = pl.col("payload_bytes") > 0
    at_once = (has_data | ((pl.col("flags") & BEGINS_OR_ENDS) > 0)) & (of_ends <= TWICE_NS)
    mirrored = (is_numbered & (of_ends <= MIRRORED_NS)) | at_once
    # other datagrams may say the same twice
    told_apart = (pl.col("proto") == TCP) | (pl.col("utp_header_bytes") > 0)
    twice = forwarded | (mirrored & told_apart)
    candidates = packets.filter(again)
    if _share_of_data(candidates.filter(twice.fill_null(False)), packets) >= MIRRORED_SHARE:
        twice |= (of_ends <= TWICE_NS) & told_apart
    some = candidates.select(twice.fill_null(False)).to_series()
    out = again.to_numpy().copy()
    out[out] = some.to_numpy()
    return packets.filter(pl.Series(~out))


def _share_of_data(twice: pl.DataFrame, of: pl.DataFrame) -> float:
    """How many of the packets with data that their senders do not number are among those that came twice."""
    data, those = (table.filter((pl.col("payload_bytes") > 0) & (pl.col("ip_id") == 0)) for table in (of, twice))
    return len(those) / max(len(data) - len(those), 1)
