"""What programs say that they measured, in one form."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from analysis.observer.conversation import Samples

THROUGHPUT: Final = "throughput_bps"
ROUND_TRIP: Final = "rtt_ms"
LATENCY: Final = "latency_ms"  # of requests
QUEUING: Final = "queuing_ms"
WINDOW_BYTES: Final = "window_bytes"
WINDOW_PKTS: Final = "window_pkts"
AXES: Final = {  # of the picture: what it shows of a series, and by what its values are divided
    THROUGHPUT: ("throughput [Mbit/s]", 1e6),
    ROUND_TRIP: ("round-trip time [ms]", 1),
    LATENCY: ("latency [ms]", 1),
    QUEUING: ("queuing delay [ms]", 1),
    WINDOW_BYTES: ("congestion window [kB]", 1e3),
    WINDOW_PKTS: ("congestion window [packets]", 1),
}


@dataclass(frozen=True, eq=False)
class Stream:
    """What was measured of a stream, or by one kind of probe."""

    name: str
    ends: tuple[str, str] | None  # addresses and ports of sender and receiver
    transport: str | None
    series: dict[str, Samples]  # by AXES' names, in the unit of the name; a throughput counts from its instant on
    end_s: float
    control: str | None = None  # as the file names it
    counts: dict[str, int] = field(default_factory=dict)  # retransmitted_pkts, lost_pkts, sent_pkts


@dataclass(frozen=True, eq=False)
class Log:
    """A file's content; instants are seconds from its beginning."""

    path: Path
    program: str
    began: str | None
    streams: list[Stream]
    remarks: list[str]  # sentences for the page
