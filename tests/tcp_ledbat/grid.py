"""The grid of docs/howto/module.md, from 1 to 600 ms: `python -m tests.tcp_ledbat.grid` carries out its runs.

They take a quarter of an hour. grid.csv has what they gave, a line a run; the page's tables come from that file alone.
"""

import csv
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Final

from scenarios.load import read
from tests.tcp_ledbat.tables import PACKET_BITS, SLOW_CWND_PKTS, acked_bps, runs

HERE: Final = Path(__file__).parent
RECORD: Final = HERE / "grid.csv"
CONTROLS: Final = ("cubic", "bbr", "ledbat", "ledbatpp")
TARGET_MS: Final = {"ledbat": 100, "ledbatpp": 60}
ENOUGH: Final = 0.85
SETTLED_S, SETTLED_ROUND_TRIPS = 30.0, 60
CYCLE_ROUND_TRIPS: Final = 170  # of LEDBAT++ on a long path: the slowdown with its climb, ten times
LEAST_S: Final = 72.0
LEAST_BUFFER_PKTS: Final = 10
ROUND_TRIPS_MS: Final = (1, 20, 120, 300, 600)
BUFFERS: Final = (0.5, 2.0, 8.0)


@dataclass(frozen=True, order=True)
class Path_:
    """A link, the base round-trip time, the buffer in bandwidth-delay products, and whether hosts segment in devices."""

    mbit: int
    round_trip_ms: int
    products: float
    offload: bool

    @property
    def buffer_pkts(self) -> int:
        """Never less than ten packets, which is much on a short slow path."""
        product = self.mbit * 1e3 * self.round_trip_ms / PACKET_BITS
        return max(math.ceil(self.products * product), LEAST_BUFFER_PKTS)

    @property
    def settled_s(self) -> float:
        """From when on a flow is measured."""
        return max(SETTLED_S, SETTLED_ROUND_TRIPS * self.round_trip_ms / 1e3)

    @property
    def duration_s(self) -> float:
        """Two cycles of LEDBAT++ after that."""
        return max(LEAST_S, self.settled_s + 2 * CYCLE_ROUND_TRIPS * self.round_trip_ms / 1e3)


@dataclass(frozen=True)
class Measured:
    """A run: the payload's rate and the mean queue from `settled_s` on; of LEDBAT++ over whole cycles if there are."""

    mbit: int
    round_trip_ms: int
    products: float
    offload: bool
    control: str
    payload_mbit: float
    queue_ms: float


def paths() -> Iterator[Path_]:
    """All cells: three links with all round trips and buffers, without offload for one of them, and 1 Gbit/s."""
    for mbit in (1, 10, 100):
        for round_trip_ms in ROUND_TRIPS_MS:
            for products in BUFFERS:
                yield Path_(mbit, round_trip_ms, products, offload=True)
            yield Path_(mbit, round_trip_ms, 2.0, offload=False)
    for round_trip_ms, products in ((20, 0.5), (20, 2.0), (120, 2.0)):
        yield Path_(1000, round_trip_ms, products, offload=True)


def measure(path: Path_, controls: Iterable[str] = CONTROLS) -> Iterator[Measured]:
    """Carry out the runs of a path."""
    data = read(HERE / "grid.yaml").data
    data["cases"] = {control: data["cases"][control] for control in controls}
    data |= {
        "matrix": {
            "rate": [f"{path.mbit}mbit"],
            "one_way": [f"{path.round_trip_ms * 500}us"],
            "buffer": [f"{path.buffer_pkts}p"],
        },
        "offload": path.offload,
        "duration": f"{path.duration_s:.0f}s",
    }
    for values, traces in runs(data, "cwnd-f1", "queue"):
        window, queue = (
            trace.filter(trace["time_ns"] >= path.settled_s * 1e9) for trace in (traces["cwnd-f1"], traces["queue"])
        )
        if values["case"] == "ledbatpp":
            slow = (window["cwnd_pkts"] <= SLOW_CWND_PKTS).to_list()
            begins = [at for at in range(1, len(slow)) if slow[at] and not slow[at - 1]]
            if len(begins) > 1:
                window = window[begins[0] : begins[-1] + 1]
        queue_ms = float(queue["backlog_pkts"].to_numpy().mean()) * PACKET_BITS / path.mbit / 1e3
        rate_mbit = acked_bps(window) / 1e6
        yield Measured(*astuple(path), values["case"], round(rate_mbit, 3), round(queue_ms, 1))


def record(measured: Iterable[Measured], file: Path = RECORD) -> None:
    """Write what was measured, in the order of the cells."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(Measured.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(each) for each in measured)


def recorded(file: Path = RECORD) -> dict[Path_, dict[str, Measured]]:
    """Read what was measured, by path and control."""
    by_path: dict[Path_, dict[str, Measured]] = {}
    with file.open(newline="") as stream:
        for line in csv.DictReader(stream):
            path = Path_(
                int(line["mbit"]), int(line["round_trip_ms"]), float(line["products"]), line["offload"] == "True"
            )
            of = Measured(*astuple(path), line["control"], float(line["payload_mbit"]), float(line["queue_ms"]))
            by_path.setdefault(path, {})[of.control] = of
    return by_path


def main(*links: str) -> None:
    """Carry out the runs of all links, or of those given in Mbit/s; record them and print the tables."""
    kept = recorded() if links and RECORD.exists() else {}
    for path in paths():
        if not links or str(path.mbit) in links:
            kept[path] = {each.control: each for each in measure(path)}
            record(each for of in sorted(kept) for each in kept[of].values())


if __name__ == "__main__":
    main(*sys.argv[1:])
