"""What the captures around the bottleneck's queue tell: which packets passed it and when, and which were dropped.

All functions take `packets`, a scan of packets.parquet, and read of it what they need. `bound_for` is the network to
which packets through the queue go.
"""

import math
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.run_json import NS
from analysis.series import Floats

Ints = NDArray[np.int64]
Network = IPv4Network | IPv6Network

# These fields identify a packet on both sides of the queue: routing changes none of them. QUIC's `ip_id` may be 0.
IDENTITY: Final = ("src", "dst", "sport", "dport", "proto", "ip_id", "seq", "tsval", "payload_bytes")
KNOWN: Final = ("flow", "forward", "time_ns", "left_ns", "dropped")
SLICE_PKTS: Final = 300_000


@dataclass(frozen=True, eq=False)
class TapPackets:
    """Packets that passed a tap."""

    times_ns: Ints  # ascending
    total_bytes: Ints  # IP bytes of all packets before each, and of all: one number more than packets

    def bytes(self, start_ns: int, end_ns: int) -> int:
        """IP bytes that passed in [start, end)."""
        first, behind = np.searchsorted(self.times_ns, [start_ns, end_ns])
        return int(self.total_bytes[behind] - self.total_bytes[first])

    def binned(self, edges_s: Floats) -> Ints:
        """IP bytes that passed between successive edges, the left ones included."""
        return np.diff(self.total_bytes[np.searchsorted(self.times_ns / NS, edges_s)])


def _passed(packets: pl.DataFrame) -> TapPackets:
    packets = packets.sort("time_ns")
    total = np.concatenate([[0], np.cumsum(packets["ip_length"].to_numpy(), dtype=np.int64)])
    return TapPackets(packets["time_ns"].to_numpy(), total)


NOTHING: Final = TapPackets(np.zeros(0, np.int64), np.zeros(1, np.int64))


def _crossing(packets: pl.LazyFrame, bound_for: Network) -> pl.LazyFrame:
    """Return the packets through the queue: those to an address of a network."""
    addresses = packets.select(pl.col("dst").unique()).collect()["dst"]
    there = addresses.filter([ip_address(address) in bound_for for address in addresses])
    return packets.filter(pl.col("dst").is_in(there.implode()) & (pl.col("time_ns") >= 0))


def left(packets: pl.LazyFrame, bound_for: Network) -> TapPackets:
    """Return all packets that left the bottleneck's queue."""
    out = _crossing(packets, bound_for).filter(pl.col("tap") == "bottleneck-out")
    return _passed(out.select("time_ns", "ip_length").collect())


def delivered(packets: pl.LazyFrame, tap: str = "bottleneck-out") -> dict[str, TapPackets]:
    """Return the packets of each flow behind the bottleneck of its direction, without ACKs; idle flows are left out."""
    out = packets.filter((pl.col("tap") == tap) & pl.col("forward") & (pl.col("time_ns") >= 0))
    by_flow = out.select("flow", "time_ns", "ip_length").collect().partition_by("flow", as_dict=True, include_key=False)
    return {str(flow): _passed(of_flow) for (flow,), of_flow in by_flow.items()}


def passages(packets: pl.LazyFrame, bound_for: Network) -> pl.DataFrame:
    """Packets arriving at the bottleneck: of which `flow`, whether its data (`forward`), when, `left_ns`, `dropped`.

    A queue is first-in first-out, so one that did not leave although a later one did was dropped; those behind the
    last that left may still have been waiting when the capture ended. Time is cut into slices of at most about
    `SLICE_PKTS` arrivals, since what makes a packet itself takes ten times the room of what is known of it then.
    """
    crossing = _crossing(packets, bound_for)
    arriving = crossing.filter(pl.col("tap") == "bottleneck-in").select("flow", "forward", "time_ns", *IDENTITY)
    leaving = crossing.filter(pl.col("tap") == "bottleneck-out").select(*IDENTITY, left_ns="time_ns")
    count, end_ns = arriving.select(pl.len(), pl.col("time_ns").max()).collect().row(0)
    edges_ns = np.linspace(0, end_ns or 0, math.ceil(count / SLICE_PKTS) + 1, dtype=np.int64).tolist()
    waiting = arriving.clear().collect()
    known, last_ns = [], 0
    for start_ns, until_ns in pairwise([*edges_ns[:-1], None]):
        arrived, gone = (
            table.filter(pl.col(time) >= start_ns, *([] if until_ns is None else [pl.col(time) < until_ns])).collect()
            for table, time in ((arriving, "time_ns"), (leaving, "left_ns"))
        )
        passed = _matched(pl.concat([waiting, arrived.sort("time_ns")]), gone.sort("left_ns"))
        times_ns = passed.filter(pl.col("left_ns").is_not_null())["time_ns"].to_numpy()
        last_ns = max(last_ns, int(times_ns.max(initial=0)))
        passed = passed.with_columns(dropped=pl.col("left_ns").is_null() & (pl.col("time_ns") < last_ns))
        undecided = pl.col("left_ns").is_null() & ~pl.col("dropped")
        waiting = passed.filter(undecided).select(waiting.columns)
        known.append(passed.filter(~undecided).select(*KNOWN))
    still = waiting.with_columns(left_ns=pl.lit(None, pl.Int64), dropped=pl.lit(value=False))
    return pl.concat([*known, still.select(*KNOWN)])


def _matched(arrived: pl.DataFrame, gone: pl.DataFrame) -> pl.DataFrame:
    """Add to each packet that arrived the instant at which it left; both tables are sorted by time."""
    # packets with the same identity are matched in their order
    turn = pl.int_range(pl.len()).over(IDENTITY).alias("turn")
    gone = gone.with_columns(turn)
    return arrived.with_columns(turn).join(gone, on=[*IDENTITY, "turn"], how="left", maintain_order="left")
