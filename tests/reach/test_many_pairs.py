"""The largest network that a scenario may ask for fills its link, also on CPUs that it has to share."""

import csv
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve

PAIRS, RATE_BPS = 250, 100_000_000
SCENARIO = f"""\
experiment: many
title: As many flows as there may be pairs
topology: {{name: dumbbell, pairs: {PAIRS}}}
bottleneck: {{rate: {RATE_BPS // 10**6}mbit, buffer: 400p}}
delay: {{forward: 10ms, backward: 10ms}}
flows:
"""
FLOW = "  - {{name: flow{0}, implementation: tcp-ledbat, from: s{0}, to: d{0}}}\n"
REST = "duration: 3s\ncaptures: [bottleneck-out]\n"


@pytest.fixture
def _others() -> Iterator[None]:
    """A program on each CPU that computes without end."""
    words = [sys.executable, "-c", "while True: pass"]
    cpus = sorted(os.sched_getaffinity(0))
    running = [subprocess.Popen(["taskset", "-c", str(cpu), *words], start_new_session=True) for cpu in cpus]
    yield
    for each in running:
        each.kill()
        each.wait()


@pytest.mark.usefixtures("_others")
def test_as_many_flows_as_there_may_be_pairs_fill_the_link(tmp_path: Path) -> None:
    file = tmp_path / "trial" / "many.yaml"
    file.parent.mkdir()
    file.write_text(SCENARIO + "".join(FLOW.format(pair) for pair in range(1, PAIRS + 1)) + REST)
    (cell,) = expand(file, "complete")
    summary = execute(resolve(cell, 1), tmp_path)
    assert sum(flow["received_bytes"] > 0 for flow in summary["flows"].values()) == PAIRS
    with (run_folder(tmp_path, cell, 1) / "traces" / "queue.csv").open() as trace:
        sent = {int(row["time_ns"]): int(row["sent_bytes"]) for row in csv.DictReader(trace)}
    second = 10**9
    assert 8 * (sent[2 * second] - sent[second]) == pytest.approx(RATE_BPS, rel=0.001)
