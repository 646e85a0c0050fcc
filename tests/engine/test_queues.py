"""Queueing disciplines do on packets what they are for, and the summary counts it."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.capture import pcap
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

SETTLED_NS = 4_000_000_000
ONE_CUBIC = """\
experiment: queues
title: One CUBIC flow behind each queueing discipline
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 200p}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: tcp, implementation: tcp-cubic, from: s1, to: d1}
duration: 12s
captures: []
cases:
  fifo: {}
  red: {bottleneck: {queue: red, params: {min: 10p, max: 30p, ecn: true}}, tcp: {ecn: on}}
  codel: {bottleneck: {queue: codel}}
  codel-ecn: {bottleneck: {queue: codel, params: {ecn: true}}, tcp: {ecn: on}}
  fq-codel: {bottleneck: {queue: fq_codel}, tcp: {ecn: accecn}}
  pie: {bottleneck: {queue: pie}}
  fq-pie: {bottleneck: {queue: fq_pie}}
  cake: {bottleneck: {queue: cake}, tcp: {ecn: on}}
  dualpi2: {bottleneck: {queue: dualpi2, buffer: 10000p}}
  fq: {bottleneck: {queue: fq}}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], float]]:
    """By case: what the queue counted, and its mean in ms once the flow has settled."""
    folder = tmp_path_factory.mktemp("queues")
    by_case = {}
    for cell in expand(trial(folder, ONE_CUBIC), "complete"):
        execute(resolve(cell, 1), folder)
        by_case[cell.name.removeprefix("case=")] = _read(run_folder(folder, cell, 1))
    return by_case


def _read(folder: Path) -> tuple[dict[str, Any], float]:
    with (folder / "traces" / "queue.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if int(row["time_ns"]) >= SETTLED_NS]
    waiting_ms = 8e3 * float(np.mean([int(row["backlog_bytes"]) for row in rows])) / 10e6
    return json.loads((folder / "summary.json").read_text())["counters"]["queues"]["bottleneck"], waiting_ms


@pytest.mark.parametrize(
    ("case", "target_ms"),
    [("codel", 5), ("codel-ecn", 5), ("fq-codel", 5), ("cake", 5), ("pie", 15), ("fq-pie", 15), ("dualpi2", 15)],
)
def test_a_standing_queue_is_kept_near_the_target(runs: Any, case: str, target_ms: float) -> None:
    """The FIFO's is several times as long."""
    _, waiting_ms = runs[case]
    assert target_ms / 3 < waiting_ms < 1.5 * target_ms
    assert runs["fifo"][1] > 3 * waiting_ms


@pytest.mark.parametrize("case", ["red", "codel-ecn", "fq-codel", "cake"])
def test_with_ecn_packets_are_marked_instead_of_dropped(runs: Any, case: str) -> None:
    counted, _ = runs[case]
    assert counted["marked_pkts"] > 5
    assert counted["dropped_pkts"] == 0


@pytest.mark.parametrize("case", ["codel", "pie", "fq-pie", "dualpi2"])
def test_without_ecn_packets_are_dropped_early(runs: Any, case: str) -> None:
    counted, _ = runs[case]
    assert counted["dropped_pkts"] > 5
    assert (counted["marked_pkts"], counted["overflowed_pkts"]) == (0, 0)


def test_red_marks_early_enough_to_stay_below_its_upper_threshold(runs: Any) -> None:
    counted, waiting_ms = runs["red"]
    assert waiting_ms / 1.2 < 30
    assert (counted["dropped_pkts"], counted["overflowed_pkts"]) == (0, 0)


DCTCP = """\
experiment: dctcp
title: DCTCP behind a queue that marks
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 200p, queue: red, params: {min: 10p, max: 30p, ecn: true}}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: flow, implementation: {sender: tcp-dctcp, receiver: "${receiver}"}, from: s1, to: d1}
duration: 12s
captures: [sender]
matrix:
  receiver: [tcp-dctcp, tcp-cubic]
tcp: {ecn: on}
"""
ECE = 0x40


def test_dctcp_needs_a_receiver_with_dctcp(tmp_path: Path) -> None:
    """It echoes each mark (RFC 8257, section 3.2); another one of Linux does not accept ECN from a SYN that has ECT."""
    marked, dropped, echoed = {}, {}, {}
    for cell in expand(trial(tmp_path, DCTCP), "complete"):
        execute(resolve(cell, 1), tmp_path)
        folder = run_folder(tmp_path, cell, 1)
        counted, _ = _read(folder)
        name = cell.name.removeprefix("receiver=")
        marked[name], dropped[name] = counted["marked_pkts"], counted["dropped_pkts"]
        echoed[name] = pcap.read(folder / "pcap" / "sender.pcap.gz").packets.filter(pl.col("flags") & ECE != 0).height
    assert marked["tcp-dctcp"] > 100
    assert dropped["tcp-dctcp"] == 0
    assert 0.5 * marked["tcp-dctcp"] < echoed["tcp-dctcp"] < 1.5 * marked["tcp-dctcp"]
    assert marked["tcp-cubic"] == 0
    assert dropped["tcp-cubic"] > 10


SMALL = """\
experiment: small
title: Packets of 200 bytes, more than the link carries
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 2mbit, buffer: 20p}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: call, implementation: udp-cbr, from: s1, to: d1, params: {rate: 3200kbit}}
duration: 6s
captures: []
cases:
  packets: {}
  bytes: {bottleneck: {queue: bfifo}}
  cells: {bottleneck: {overhead: 32B, cells: true}}
"""


def test_small_packets_fill_bytes_and_cells(program: Callable[[str], None], tmp_path: Path) -> None:
    program("udp-cbr")
    by_case = {}
    for cell in expand(trial(tmp_path, SMALL), "complete"):
        summary = execute(resolve(cell, 1), tmp_path)
        with (run_folder(tmp_path, cell, 1) / "traces" / "queue.csv").open() as file:
            most_pkts = max(int(row["backlog_pkts"]) for row in csv.DictReader(file))
        received = summary["flows"]["call"]["received_bytes"] / 160
        by_case[cell.name.removeprefix("case=")] = (most_pkts, received)
    assert by_case["packets"] == (20, pytest.approx(6 * 2e6 / 8 / 200, rel=0.02))
    # 20 full packets are 150 of these
    assert by_case["bytes"] == (150, pytest.approx(6 * 2e6 / 8 / 200, rel=0.03))
    # 200 and 32 bytes take five cells
    assert by_case["cells"] == (20, pytest.approx(6 * 2e6 / 8 / (5 * 53), rel=0.02))
