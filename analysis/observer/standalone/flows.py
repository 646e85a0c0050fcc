"""Which flows a capture holds: TCP connections and uTP connections, one flow for each direction that carries data."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from analysis.observer.conversation import DATA, FEWEST_PKTS, LARGEST_FRAME, both_ways
from analysis.observer.standalone.captures import UDP, Captured

MOST: Final = 20  # flows of a capture that are described, the largest first
FULL_OF_NUMBERS: Final = 0.5  # part of the numbers between a uTP flow's first and last that it must use; others are
# datagrams that only look like uTP

UTP: Final = pl.col("utp_header_bytes") > 0
ENDS: Final = ("ip_version", "proto", "src", "sport", "dst", "dport")


@dataclass(frozen=True, eq=False)
class CapturedFlow:
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

    captured: Captured
    flows: list[CapturedFlow]
    small: int  # flows with too few packets
    beyond: int  # flows behind the largest MOST
    datagrams: int  # packets of UDP that are not uTP


def find(captured: Captured, packets: pl.DataFrame) -> Summary:
    """Find all flows, the one with most data first; `packets` are those of the capture."""
    of_tcp, of_utp = _directions(packets, UTP.not_() & (pl.col("proto") != UDP), ENDS), _of_utp(packets)
    candidates = [_large(table, ends) for table, ends in ((of_tcp, ENDS), (of_utp, (*ENDS, "utp_connection")))]
    accepted = [candidates[0], candidates[1].filter("is_numbered")]
    largest = pl.concat(accepted, how="diagonal_relaxed").sort("payload_bytes", descending=True, maintain_order=True)
    small = sum(len(table.filter(pl.col("pkts").is_between(1, FEWEST_PKTS - 1))) for table in (of_tcp, of_utp))
    datagrams = (
        int((packets["proto"] == UDP).sum()) - int(accepted[1]["all_pkts"].sum()) - _answers(of_utp, accepted[1])
    )
    return Summary(
        captured,
        [_flow(captured, packets, flow) for flow in largest.head(MOST).to_dicts()],
        small,
        max(0, len(largest) - MOST),
        max(0, datagrams),
    )


def _directions(packets: pl.DataFrame, chosen: pl.Expr, ends: tuple[str, ...], *more: pl.Expr) -> pl.DataFrame:
    """Count the packets between each two ends: all, those with data, and their bytes of data."""
    return (
        packets.lazy()
        .filter(chosen)
        .group_by(ends)
        .agg(
            pl.len().alias("all_pkts"),
            ((pl.col("payload_bytes") > 0) & (pl.col("utp_type") == DATA)).sum().alias("pkts"),
            pl.col("payload_bytes").cast(pl.Int64).sum(),
            *more,
        )
        .collect()
    )


def _large(table: pl.DataFrame, ends: tuple[str, ...]) -> pl.DataFrame:
    return table.filter(pl.col("pkts") >= FEWEST_PKTS).sort("pkts", *ends, descending=True)


def _of_utp(packets: pl.DataFrame) -> pl.DataFrame:
    """The directions of what has the form of uTP, and whether it is numbered as uTP is, one after the other."""
    whole, half = 1 << 16, 1 << 15
    seq = pl.col("seq").filter(pl.col("utp_type") == DATA).cast(pl.Int64)
    numbers = ((seq.diff().fill_null(0) + half + whole) % whole - half).cum_sum()  # as `unwrapped` counts
    span = numbers.max() - numbers.min() + 1
    is_numbered = (numbers.n_unique() >= FULL_OF_NUMBERS * span).alias("is_numbered")
    return _directions(packets, UTP, (*ENDS, "utp_connection"), is_numbered)


def _answers(of_utp: pl.DataFrame, flows: pl.DataFrame) -> int:
    """Packets that come back to the senders of uTP flows: their connection's number differs by one at most."""
    back = flows.select(
        *("ip_version", "proto"),
        *(pl.col(a).alias(b) for a, b in (("src", "dst"), ("sport", "dport"), ("dst", "src"), ("dport", "sport"))),
        pl.col("utp_connection").cast(pl.Int64),
    )
    near = pl.concat([back.with_columns(pl.col("utp_connection") + apart) for apart in (-1, 0, 1)])
    counted = of_utp.with_columns(pl.col("utp_connection").cast(pl.Int64)).join(near, on=near.columns)
    return int(counted["all_pkts"].sum())


def _flow(captured: Captured, packets: pl.DataFrame, largest: dict[str, Any]) -> CapturedFlow:
    """Make a flow of a direction's ends."""
    transport = "tcp" if largest["utp_connection"] is None else "utp"
    version = largest["ip_version"]
    of_kind = UTP if transport == "utp" else UTP.not_()
    ports = pl.col("sport"), pl.col("dport")
    either = pl.any_horizontal(
        (ports[0] == largest[a]) & (ports[1] == largest[b]) for a, b in (("sport", "dport"), ("dport", "sport"))
    )
    same = (pl.col("ip_version") == version) & (pl.col("proto") == largest["proto"]) & of_kind
    there, back = both_ways(packets.filter(either & same), largest)
    return CapturedFlow(
        captured,
        transport,
        captured.endpoint(version, largest["src"], largest["sport"]),
        captured.endpoint(version, largest["dst"], largest["dport"]),
        there,
        back,
        list(_remarks(transport, there, back)),
    )


def _remarks(transport: str, there: pl.DataFrame, back: pl.DataFrame) -> Iterator[str]:
    if not len(back):
        yield "only one direction was captured, so nothing that needs answers is known"
    opened = pl.col("flags") & 0x02 > 0
    if transport == "tcp" and not (there.filter(opened).height and back.filter(opened).height):
        yield "the connection's first packets are missing, and with them the unit of its receive window"
    largest = int(there["ip_length"].cast(pl.Int64).max() or 0)  # type: ignore[arg-type]  # of integers
    if largest > LARGEST_FRAME:
        yield (
            f"packets of up to {largest} bytes: jumbo frames, or the host cut them up (or put them together) behind "
            "this tap; then what is counted here is not what the network carried"
        )
