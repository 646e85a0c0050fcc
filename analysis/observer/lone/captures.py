"""A capture file to one table of TCP and UDP packets."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.capture import pcap
from analysis.errors import BadInputError

TCP, UDP = 6, 17
OUTGOING: Final = 2  # `direction` of Linux cooked captures
TWICE_NS: Final = 1_000_000  # a packet that a host forwards is captured on its way in and on its way out


@dataclass(frozen=True, eq=False)
class Captured:
    """Packets with ports, by time; `time_ns` counts from the epoch, addresses of IPv6 are places in `addresses`."""

    path: Path
    packets: pl.DataFrame
    addresses: list[bytes]
    others: int  # packets of other protocols, fragments and what was cut before the ports
    remarks: list[str]  # sentences for the page

    @property
    def origin_ns(self) -> int:
        """The first packet's time, from which all instants of this capture are counted."""
        return int(self.packets["time_ns"][0])

    def endpoint(self, version: int, address: int, port: int) -> str:
        """Address and port as people write them."""
        if version == 6:
            return f"[{IPv6Address(self.addresses[address])}]:{port}"
        return f"{IPv4Address(address)}:{port}"


def read(path: Path) -> Captured:
    """Read a capture file. Raises BadInputError when it is none, or holds no packet of TCP or UDP."""
    columns, truncated = pcap.read_all(path)
    remarks = ["its last packet is cut off and left out"] if truncated else []
    addresses = _number(columns)
    packets = pl.DataFrame({name: values for name, values in columns.items() if name not in ("src6", "dst6")})
    ported = packets.filter(pl.col("proto").is_in([TCP, UDP]) & (pl.col("dport") > 0))
    others = len(packets) - len(ported)
    if not len(ported):
        raise BadInputError(f"{path}: {len(packets)} packets, none of them TCP or UDP over IPv4 or IPv6")
    if not ported["time_ns"].is_sorted():
        ported = ported.sort("time_ns", maintain_order=True)
        remarks.append("its packets are not in the order of their times; they were sorted")
    once = _once(ported)
    if len(once) < len(ported):
        remarks.append(
            f"{len(ported) - len(once)} packets were captured twice, on their way in and out of this host; "
            "the first time counts"
        )
    return Captured(path, once, addresses, others, remarks)


def _number(columns: dict[str, NDArray[Any]]) -> list[bytes]:
    """Replace IPv6's addresses by places in the list that is returned."""
    six = columns["ip_version"] == 6
    both = np.concatenate([columns["src6"][six], columns["dst6"][six]])
    # numpy compares such bytes as text, which ends at a zero: two numbers do not
    different, places = np.unique(both.view(np.dtype([("high", ">u8"), ("low", ">u8")])), return_inverse=True)
    columns["src"][six], columns["dst"][six] = np.split(places.astype(np.uint32), 2)
    return [address.tobytes() for address in different]


def _once(packets: pl.DataFrame) -> pl.DataFrame:
    """Leave out the second of two equal packets of a cooked capture, of which one came in and the other went out."""
    if not packets["direction"].max():
        return packets
    same = [*("ip_version", "proto", "digest", "ip_id", "payload_bytes")]
    before = pl.col("time_ns").shift(1).over(same)
    turned = pl.col("direction") != pl.col("direction").shift(1).over(same)
    return packets.filter(((pl.col("time_ns") - before <= TWICE_NS) & turned).fill_null(False).not_())
