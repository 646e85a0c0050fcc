"""How the cost of a run grows with what it does, one thing at a time; `make bench` draws it as a picture."""

import dataclasses
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import vl_convert

from engine.run import execute
from scenarios.resolve import expand, resolve

_SCENARIO = """\
experiment: bench-growth
title: CUBIC flows, nothing captured
topology: {{name: dumbbell, pairs: {pairs}}}
bottleneck: {{rate: {rate_mbps}mbit, buffer: {buffer_pkts}p}}
delay: {{forward: 10ms, backward: 10ms}}
flows: {flows}
duration: {duration_s}s
sample: 1s
captures: []
"""
_CELLS = """\
experiment: bench-cells
title: Cells that are planned and never run
topology: {{name: dumbbell, pairs: 1}}
bottleneck: {{rate: 10mbit, buffer: "${{buffer}}"}}
delay: {{forward: 10ms, backward: 10ms}}
flows: [{{name: tcp, implementation: tcp-cubic, from: s1, to: d1}}]
duration: 10s
matrix: {{buffer: [{buffers}]}}
"""

_FLOWS_MBPS = 40
_POWERS = {"values": [10.0**power for power in range(-3, 6)], "format": "~g"}
"""Of ten, on axes."""


class Cost(NamedTuple):
    """What one size of one thing costs: wall seconds, and the part of them that each unit has."""

    what: str
    size: float
    seconds: float

    @property
    def each_s(self) -> float:
        """Wall seconds for each unit of `size`."""
        return self.seconds / self.size


def measure(folder: Path) -> Iterator[Cost]:
    """Let rate, flows, hosts, duration and cells grow; a run without flows, measured first, is taken off."""
    fixed_s = min(_wall_s(folder, flows=0, duration_s=1) for _ in range(3))
    for rate_mbps in (1, 10, 100, 1000):
        duration_s = min(600, 4000 // rate_mbps)
        seconds = _wall_s(folder, rate_mbps=rate_mbps, duration_s=duration_s) - fixed_s
        yield Cost("rate, Mbit/s, of a virtual minute", rate_mbps, seconds * 60 / duration_s)
    for flows in (1, 10, 100, 250):
        seconds = _wall_s(folder, pairs=flows, flows=flows, rate_mbps=_FLOWS_MBPS, duration_s=10)
        yield Cost(f"flows that share {_FLOWS_MBPS} Mbit/s for 10 s", flows, seconds - fixed_s)
    for pairs in (1, 10, 100, 250):
        yield Cost("hosts without flows", 2 * pairs, _wall_s(folder, pairs=pairs, flows=0, duration_s=1))
    for duration_s in (60, 600, 3600):
        yield Cost("virtual seconds at 10 Mbit/s", duration_s, _wall_s(folder, duration_s=duration_s) - fixed_s)
    for cells in (10, 100, 1000, 10_000):
        file = folder / "cells.yaml"
        file.write_text(_CELLS.format(buffers=", ".join(f"{10 + index}p" for index in range(cells))))
        yield Cost(
            "cells of a scenario, planned",
            cells,
            _timed([str(Path(sys.executable).with_name("testbed")), "plan", str(file)]),
        )


def draw(costs: list[Cost], into: Path) -> None:
    """Write a picture (SVG): a plot for each thing that grows, both axes logarithmic."""
    rows = [{"what": cost.what, "size": cost.size, "seconds": max(cost.seconds, 1e-3)} for cost in costs]
    axes = {
        "x": {"field": "size", "type": "quantitative", "scale": {"type": "log"}, "title": None, "axis": _POWERS},
        "y": {
            "field": "seconds",
            "type": "quantitative",
            "scale": {"type": "log"},
            "title": "wall time [s]",
            "axis": _POWERS,
        },
    }
    plots = [
        {
            "title": what,
            "data": {"values": [row for row in rows if row["what"] == what]},
            "mark": {"type": "line", "point": True, "color": "black"},
            "encoding": axes,
            "width": 240,
            "height": 180,
        }
        for what in dict.fromkeys(cost.what for cost in costs)
    ]
    into.write_text(vl_convert.vegalite_to_svg({"concat": plots, "columns": 3, "background": "white"}))


def _wall_s(folder: Path, *, pairs: int = 1, flows: int = 1, rate_mbps: int = 10, duration_s: int = 10) -> float:
    """Wall seconds of one run; its buffer holds 100 ms, or two packets for each flow if that is more."""
    buffer_pkts = max(2 * flows, rate_mbps * 100 // 12, 10)
    listed = [
        f"{{name: f{index}, implementation: tcp-cubic, from: s{index}, to: d{index}}}"
        for index in range(1, max(1, flows) + 1)
    ]
    file = folder / "trial" / "growth.yaml"
    file.parent.mkdir(exist_ok=True)
    text = _SCENARIO.format(
        pairs=pairs,
        rate_mbps=rate_mbps,
        buffer_pkts=buffer_pkts,
        flows=f"[{', '.join(listed)}]",
        duration_s=duration_s,
    )
    file.write_text(text)
    (cell,) = expand(file, "complete")
    if not flows:
        cell = dataclasses.replace(cell, settings={**cell.settings, "flows": []})
    started = time.monotonic()
    execute(resolve(cell, 1), folder, keep=())
    return time.monotonic() - started


def _timed(command: list[str]) -> float:
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started
