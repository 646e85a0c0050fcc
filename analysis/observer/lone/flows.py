"""Which flows a capture holds: TCP connections and uTP connections, one flow for each direction that carries data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from analysis.observer.conversation import DATA, LARGEST_FRAME, both_ways, unwrapped
from analysis.observer.lone.captures import UDP, Captured

FEWEST_PKTS: Final = 20  # with data; less tells nothing of a controller
MOST: Final = 20  # flows of a capture that are described, the largest first
FULL_OF_NUMBERS: Final = 0.5  # part of the numbers between a uTP flow's first and last that it must use

ENDS: Final = ("ip_version", "proto", "src", "sport", "dst", "dport")


@dataclass(frozen=True, eq=False)
class Found:
    """A flow in a capture: its data packets' direction (`there`) and the other (`back`), by time."""

    captured: Captured
    transport: str  # "tcp" or "utp"
    sender: str  # address and port
    receiver: str
    there: pl.DataFrame
    back: pl.DataFrame
    remarks: list[str]

    @property
    def payload_bytes(self) -> int:
        """Bytes of data, packets that were sent again with them."""
        return int(self.there["payload_bytes"].cast(pl.Int64).sum())


@dataclass(frozen=True)
class Summary:
    """What a capture holds beside the flows that are described."""

    flows: list[Found]
    small: int  # flows with too few packets
    beyond: int  # flows behind the largest MOST
    datagrams: int  # packets of UDP that are not uTP


def find(captured: Captured) -> Summary:
    """Find all flows, the one with most data first."""
    packets = captured.packets
    utp = pl.col("utp_header_bytes") > 0
    of_tcp = packets.filter(pl.col("proto") != UDP)
    of_utp = packets.filter(utp)
    found: list[Found] = []
    small = 0
    counted = 0
    for table, ends in ((of_tcp, ENDS), (of_utp, (*ENDS, "utp_connection"))):
        carrying = table.filter((pl.col("payload_bytes") > 0) & (pl.col("utp_type") == DATA))
        sizes = carrying.group_by(ends).agg(pl.len().alias("pkts"))
        small += len(sizes.filter(pl.col("pkts") < FEWEST_PKTS))
        parts = {} if not len(table) else table.partition_by(*ENDS[:2], as_dict=True)
        for largest in sizes.filter(pl.col("pkts") >= FEWEST_PKTS).sort("pkts", *ends, descending=True).to_dicts():
            flow = _flow(captured, parts[largest["ip_version"], largest["proto"]], largest)
            if flow is None:
                continue
            found.append(flow)
            counted += len(flow.there) * ("utp_connection" in largest)
    found.sort(key=lambda flow: -flow.payload_bytes)
    answers = sum(len(flow.back) for flow in found if flow.transport == "utp")
    datagrams = len(packets.filter(pl.col("proto") == UDP)) - counted - answers
    return Summary(found[:MOST], small, max(0, len(found) - MOST), max(0, datagrams))


def _flow(captured: Captured, table: pl.DataFrame, largest: dict[str, Any]) -> Found | None:
    """Make a flow of a direction's ends; None for datagrams that only look like uTP."""
    there, back = both_ways(table, largest)
    transport = "utp" if "utp_connection" in largest else "tcp"
    if transport == "utp" and not _numbered(there):
        return None
    version = largest["ip_version"]
    return Found(
        captured,
        transport,
        captured.endpoint(version, largest["src"], largest["sport"]),
        captured.endpoint(version, largest["dst"], largest["dport"]),
        there,
        back,
        list(_remarks(transport, there, back)),
    )


def _numbered(there: pl.DataFrame) -> bool:
    """Whether packets of a uTP form are numbered as uTP's are, one after the other."""
    numbers = unwrapped(there.filter(pl.col("utp_type") == DATA)["seq"].cast(pl.Int64).to_numpy(), 16)
    different = np.unique(numbers)
    return len(different) >= FULL_OF_NUMBERS * (int(different[-1]) - int(different[0]) + 1)


def _remarks(transport: str, there: pl.DataFrame, back: pl.DataFrame) -> Iterator[str]:
    if not len(back):
        yield "only one direction was captured: nothing that needs answers can be told"
    opened = pl.col("flags") & 0x02 > 0
    if transport == "tcp" and not (there.filter(opened).height and back.filter(opened).height):
        yield "the connection's first packets are missing, and with them the unit of its receive window"
    largest = int(there["ip_length"].cast(pl.Int64).max() or 0)  # type: ignore[arg-type]  # of integers
    if largest > LARGEST_FRAME:
        yield (
            f"packets of up to {largest} bytes: jumbo frames, or the host cut them up (or put them together) behind "
            "this tap; then what is counted here is not what the network carried"
        )
