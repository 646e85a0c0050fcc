"""A link follows its rate trace, on packets."""

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.capture.columns import write_columns
from analysis.run import Run
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: traced
title: More than a link carries
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 8mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: stream, implementation: udp-cbr, from: s1, to: d1, params: {rate: 12mbit}}
rate_traces:
  - {on: bottleneck, file: link.csv}
duration: 4s
captures: [bottleneck-out]
"""


def test_a_link_follows_its_trace(program: Callable[[str], None], tmp_path: Path) -> None:
    program("udp-cbr")
    file = trial(tmp_path, SCENARIO)
    (file.parent / "link.csv").write_text("time_s,rate_bps\n0,6000000\n1,2000000\n2,9000000\n3.5,1000000\n")
    (cell,) = expand(file, "complete")
    execute(resolve(cell, 1), tmp_path)
    write_columns(run_folder(tmp_path, cell, 1))
    run = Run(run_folder(tmp_path, cell, 1))
    for t0, t1, rate_bps in ((0.1, 1, 6e6), (1, 2, 2e6), (2, 3.5, 9e6), (3.5, 4, 1e6)):
        assert run.throughput("stream", t0, t1) == pytest.approx(rate_bps, rel=0.005)
