"""What recording costs: `python -m tests.trust.recorded_cost [--repeats COUNT] [KIND...]`.

CPU seconds of whole guests, packing included, in turn without any packet recorded, with those of one tap and with those
of all. What else the machine does adds to all three; the smallest of several repeats has least of it.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.bench import measure
from engine.run import execute
from scenarios.resolve import Cell, expand, resolve

_OF_CUBIC = """\
experiment: cost
title: CUBIC flows that share a fast link
topology: {{name: dumbbell, pairs: {flows}}}
bottleneck: {{rate: {rate}, buffer: {buffer}}}
delay: {{forward: 10ms, backward: 10ms}}
flows: [{listed}]
duration: {duration}
"""


def kinds(folder: Path) -> dict[str, Cell]:
    """Return the runs that are measured, by name."""
    found = {"flow": expand(measure.FLOW, "complete")[0]}
    found |= {cell.settings["flows"][0]["implementation"]: cell for cell in expand(measure.PROGRAMS, "complete")}
    for name, flows, rate, buffer, duration in (
        ("gigabit", 1, "1gbit", "8333p", "10s"),
        ("250-flows", 250, "40mbit", "500p", "10s"),
    ):
        each = (f"{{name: f{n}, implementation: tcp-cubic, from: s{n}, to: d{n}}}" for n in range(1, flows + 1))
        text = _OF_CUBIC.format(flows=flows, rate=rate, buffer=buffer, duration=duration, listed=", ".join(each))
        file = folder / name / "cost.yaml"
        file.parent.mkdir()
        file.write_text(text)
        [found[name]] = expand(file, "complete")
    return found


def cost(cell: Cell, repeats: int, folder: Path) -> list[tuple[int, list[float]]]:
    """Return the packets and the CPU seconds of each repeat with no tap, one and all."""
    cell = replace(cell, settings={**cell.settings, "captures": []})
    ways: tuple[Sequence[str], ...] = ([], ["bottleneck-out"], list(resolve(cell, 1)["network"]["taps"]))
    found: list[tuple[int, list[float]]] = [(0, []) for _ in ways]
    for _ in range(repeats):
        for way, keep in enumerate(ways):
            summary = execute(resolve(cell, 1), folder / "runs", keep)
            pkts = sum(held["pkts"] for held in summary["captured"].values())
            found[way] = pkts, [*found[way][1], summary["cpu_s"]]
    return found


def main() -> int:
    """Print a row for each kind of run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="default: %(default)s")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="default: all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="testbed-cost-") as name:
        known = kinds(Path(name))
        print("| run | none | bottleneck-out | packets | all taps | packets |\n|" + "---|" * 6, flush=True)
        for kind in options.kinds or known:
            (_, none), (some, one), (many, every) = cost(known[kind], options.repeats, Path(name))
            shown = [f"{min(cpu_s):.2f}, {statistics.median(cpu_s):.2f}" for cpu_s in (none, one, every)]
            print(f"| {kind} | {shown[0]} | {shown[1]} | {some} | {shown[2]} | {many} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
