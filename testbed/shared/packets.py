"""The packets of a flow around an instant, as its sender or another tap sees them."""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from analysis.run import Run
from analysis.run_json import NS
from scenarios.utp_script import KINDS
from testbed.shared.panel import CLIENT

AROUND: Final = 8
"""Packets before the instant, and as many behind it."""
TAP: Final = "sender"
_TCP: Final = {0x02: "SYN", 0x01: "FIN", 0x04: "RST"}


@dataclass(frozen=True)
class ShownPacket:
    """A packet: the instant (s), whether it goes the sender's way, its kind, its numbers, and its bytes of data.

    Over UDP without uTP, such as by QUIC, which encrypts them, it has no numbers.
    """

    time_s: float
    is_sent: bool
    kind: str
    seq: int | None
    ack: int | None
    payload_bytes: int

    def __str__(self) -> str:
        way = "->" if self.is_sent else "<-"
        numbers = "" if self.seq is None else f"seq {self.seq}  ack {self.ack}  "
        return f"{self.time_s:10.6f} {way} {self.kind:5}  {numbers}{self.payload_bytes} bytes"


def around(run: Run, instant_s: float, tap: str = TAP, flow: str = CLIENT) -> list[ShownPacket]:
    """List a flow's packets at a tap around an instant."""
    rows = run.packets(100).with_row_index("packet")
    known = run.table("utp").select("packet", "utp_type")
    of_flow = (pl.col("tap") == tap) & (pl.col("flow") == flow)
    seen = rows.filter(of_flow).join(known, on="packet", how="left").sort("time_ns", "packet").collect()
    first = int((seen["time_ns"] < instant_s * NS).sum())
    is_udp = run.flow(flow).transport == "udp"
    return [_packet(row, is_udp=is_udp) for row in seen.slice(max(0, first - AROUND), 2 * AROUND).iter_rows(named=True)]


def _packet(row: dict[str, Any], *, is_udp: bool) -> ShownPacket:
    if is_udp:
        return ShownPacket(row["time_ns"] / NS, row["forward"], "UDP", None, None, row["payload_bytes"])
    if row["utp_type"] is not None:
        kind = KINDS[row["utp_type"]] if row["utp_type"] < len(KINDS) else f"type {row['utp_type']}"
    else:
        kind = next(
            (word for flag, word in _TCP.items() if row["flags"] & flag), "DATA" if row["payload_bytes"] else "ACK"
        )
    return ShownPacket(row["time_ns"] / NS, row["forward"], kind, row["seq"], row["ack"], row["payload_bytes"])
