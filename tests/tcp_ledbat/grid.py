"""The grid of docs/howto/module.md, from 1 to 600 ms: `python -m tests.tcp_ledbat.grid` carries out its runs.

They take a quarter of an hour. grid.csv has what they gave, a line a run; the page's table comes from that file alone:
`python -m tests.tcp_ledbat.grid page` writes it.
"""

import csv
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from scenarios.load import read
from tests.tcp_ledbat import tables
from tests.tcp_ledbat.tables import PACKET_BITS, SLOW_CWND_PKTS, acked_bps, runs

HERE: Final = Path(__file__).parent
RECORD: Final = HERE / "grid.csv"
CONTROLS: Final = ("cubic", "bbr", "ledbat", "ledbatpp")
TARGET_MS: Final = {"ledbat": 100, "ledbatpp": 60}
LOW: Final = {"ledbat": "`ledbat`, `slow_start=1`", "ledbatpp": "`ledbatpp`"}
ENOUGH: Final = 0.85
SETTLED_S, SETTLED_ROUND_TRIPS = 30.0, 60
CYCLE_ROUND_TRIPS: Final = 170  # of LEDBAT++ on a long path: the slowdown with its climb, ten times
LEAST_S: Final = 72.0
LEAST_BUFFER_PKTS: Final = 10
ROUND_TRIPS_MS: Final = (1, 20, 120, 300, 600)
BUFFERS: Final = (0.5, 2.0, 8.0)
FIELDS: Final = ("mbit", "round_trip_ms", "products", "offload", "control", "payload_mbit", "queue_ms")


@dataclass(frozen=True, order=True)
class Cell:
    """A link, a base round-trip time, a buffer in bandwidth-delay products, and whether devices segment."""

    mbit: int
    round_trip_ms: int
    products: float
    offload: bool

    @property
    def buffer_pkts(self) -> int:
        """Never less than ten packets, which is much on a short slow cell."""
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

    cell: Cell
    control: str
    payload_mbit: float
    queue_ms: float


def cells() -> Iterator[Cell]:
    """All cells: three links with all round trips and buffers, without offload for one of them, and 1 Gbit/s."""
    for mbit in (1, 10, 100):
        for round_trip_ms in ROUND_TRIPS_MS:
            for products in BUFFERS:
                yield Cell(mbit, round_trip_ms, products, offload=True)
            yield Cell(mbit, round_trip_ms, 2.0, offload=False)
    for round_trip_ms, products in ((20, 0.5), (20, 2.0), (120, 2.0), (300, 0.5), (300, 2.0), (600, 0.5)):
        yield Cell(1000, round_trip_ms, products, offload=True)


def measure(cell: Cell, controls: Iterable[str] = CONTROLS) -> Iterator[Measured]:
    """Carry out the runs of a cell."""
    data = read(HERE / "grid.yaml").data
    data["cases"] = {control: data["cases"][control] for control in controls}
    data |= {
        "matrix": {
            "rate": [f"{cell.mbit}mbit"],
            "one_way": [f"{cell.round_trip_ms * 500}us"],
            "buffer": [f"{cell.buffer_pkts}p"],
        },
        "offload": cell.offload,
        "duration": f"{cell.duration_s:.0f}s",
    }
    for values, traces in runs(data, "cwnd-f1", "queue"):
        window, queue = (
            trace.filter(trace["time_ns"] >= cell.settled_s * 1e9) for trace in (traces["cwnd-f1"], traces["queue"])
        )
        if values["case"] == "ledbatpp":
            slow = (window["cwnd_pkts"] <= SLOW_CWND_PKTS).to_list()
            begins = [at for at in range(1, len(slow)) if slow[at] and not slow[at - 1]]
            if len(begins) > 1:
                window = window[begins[0] : begins[-1] + 1]
        queue_ms = float(queue["backlog_pkts"].to_numpy().mean()) * PACKET_BITS / cell.mbit / 1e3
        rate_mbit = acked_bps(window) / 1e6
        yield Measured(cell, values["case"], round(rate_mbit, 3), round(queue_ms, 1))


def record(measured: Iterable[Measured], file: Path = RECORD) -> None:
    """Write what was measured, in the order of the cells."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
        writer.writeheader()
        for each in measured:
            rest = {"control": each.control, "payload_mbit": each.payload_mbit, "queue_ms": each.queue_ms}
            writer.writerow(asdict(each.cell) | rest)


def recorded(file: Path = RECORD) -> dict[Cell, dict[str, Measured]]:
    """Read what was measured, by cell and control."""
    by_cell: dict[Cell, dict[str, Measured]] = {}
    with file.open(newline="") as stream:
        for line in csv.DictReader(stream):
            products, offload = float(line["products"]), line["offload"] == "True"
            cell = Cell(int(line["mbit"]), int(line["round_trip_ms"]), products, offload)
            of = Measured(cell, line["control"], float(line["payload_mbit"]), float(line["queue_ms"]))
            by_cell.setdefault(cell, {})[of.control] = of
    return by_cell


def fails(of: dict[str, Measured], control: str) -> str:
    """What of the goal a control misses in a cell; "" if nothing. A packet that is being sent is no queue."""
    share = of[control].payload_mbit / of["cubic"].payload_mbit
    allowed_ms = TARGET_MS[control] + PACKET_BITS / of[control].cell.mbit / 1e3
    if share < ENOUGH:
        return f"{share:.0%} of CUBIC's rate"
    return f"{of[control].queue_ms:.0f} ms of queue" if of[control].queue_ms > allowed_ms else ""


def table(by_cell: dict[Cell, dict[str, Measured]]) -> str:
    """In Markdown: a line for each link, with ranges over round-trip times, buffers and offload; then what fails."""
    controls = {"cubic": "CUBIC", "bbr": "BBR", **LOW}
    lines = ["| link | round-trip time | " + " | ".join(controls.values()) + " |", "|---" * (2 + len(controls)) + "|"]
    for mbit in dict.fromkeys(cell.mbit for cell in sorted(by_cell)):
        here = [of for cell, of in by_cell.items() if cell.mbit == mbit]
        cells = [f"{_range([of['cubic'].cell.round_trip_ms for of in here])} ms"]
        for control in controls:
            shares = [100 * of[control].payload_mbit / of["cubic"].payload_mbit for of in here]
            share = "" if control == "cubic" else f"{_range(shares)} %, "
            cells.append(f"{share}{_range([of[control].queue_ms for of in here])} ms")
        lines.append(f"| {mbit} Mbit/s | " + " | ".join(cells) + " |")
    missed = [
        f"- {name} on {cell.mbit} Mbit/s, {cell.round_trip_ms} ms, room for {cell.products:g} products, "
        f"{'with' if cell.offload else 'without'} offload: {found}"
        for cell, of in sorted(by_cell.items())
        for control, name in LOW.items()
        if (found := fails(of, control))
    ]
    return "\n".join([*lines, "", *(missed or ["No cell."])]) + "\n"


def _range(values: list[float]) -> str:
    low, high = round(min(values)), round(max(values))
    return f"{low}" if low == high else f"{low} to {high}"


def main(*links: str) -> None:
    """Carry out the runs of all links, or of those given in Mbit/s, and record them; then write the page's table."""
    if links == ("page",):
        tables.write(tables.PAGE, "grid", table(recorded()))
        return
    kept = recorded() if links and RECORD.exists() else {}
    for cell in cells():
        if not links or str(cell.mbit) in links:
            kept[cell] = {each.control: each for each in measure(cell)}
            record(each for of in sorted(kept) for each in kept[of].values())
    tables.write(tables.PAGE, "grid", table(kept))


if __name__ == "__main__":
    main(*sys.argv[1:])
