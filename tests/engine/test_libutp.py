"""libutp in real runs: its controller keeps its target, its windows are those asked for, its bytes repeat."""

import csv
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.run import execute, run_folder
from scenarios.resolve import Cell, expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: utp
title: One uTP flow
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: utp, implementation: IMPLEMENTATION, from: s1, to: d1}]
duration: 6s
captures: [bottleneck-out]
keep_captures: true
"""
PACKET_BYTES = 1382  # payload of a full one
HEADER_BYTES = 48  # IP, UDP, uTP


def _cell(folder: Path, implementation: str, more: str = "") -> Cell:
    (cell,) = expand(trial(folder, SCENARIO.replace("IMPLEMENTATION", implementation + more)), "complete")
    return cell


def _window(folder: Path) -> list[dict[str, str]]:
    with (folder / "traces" / "cwnd-utp.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_queuing_delay_is_the_target(program: Callable[[str], None], tmp_path: Path) -> None:
    program("libutp")
    cell = _cell(tmp_path, "libutp", ", params: {target: 25ms}")
    summary = execute(resolve(cell, 1), tmp_path)
    rows = [row for row in _window(run_folder(tmp_path, cell, 1)) if int(row["time_ns"]) >= 4_000_000_000]
    delays_us = [int(row["queuing_delay_us"]) for row in rows]
    assert 22_000 < sum(delays_us) / len(delays_us) < 27_000
    # the trace's own arithmetic: what is acknowledged and what the receiver says differ by what is under way
    assert 0 <= summary["flows"]["utp"]["received_bytes"] - int(rows[-1]["bytes_acked"]) < 200_000


@pytest.mark.parametrize(("surrogate", "window_pkts"), [("libutp-beta1", 30), ("libutp-alpha2", 20)])
def test_a_surrogate_is_bound_by_its_receive_window(
    program: Callable[[str], None], tmp_path: Path, surrogate: str, window_pkts: int
) -> None:
    program(surrogate)
    cell = _cell(tmp_path, surrogate)
    execute(resolve(cell, 1), tmp_path)
    rows = _window(run_folder(tmp_path, cell, 1))
    assert max(float(row["unacked_pkts"]) for row in rows) == window_pkts
    acked = {int(row["time_ns"]): int(row["bytes_acked"]) for row in rows}
    rate_Bps = (acked[6_000_000_000 - 10_000_000] - acked[3_990_000_000]) / 2  # noqa: N806
    rtt_s = 0.050 + 8 * (PACKET_BYTES + HEADER_BYTES) / 10e6
    assert abs(rate_Bps / (window_pkts * PACKET_BYTES / rtt_s) - 1) < 0.03


def test_a_transfer_with_an_end_arrives_whole(program: Callable[[str], None], tmp_path: Path) -> None:
    program("libutp")
    cell = _cell(tmp_path, "libutp", ", bytes: 1000001B")
    flow = execute(resolve(cell, 1), tmp_path)["flows"]["utp"]
    assert flow["received_bytes"] == 1_000_001
    assert flow["completed_ns"] < 4_000_000_000
    assert (flow["sender_exit"], flow["receiver_exit"]) == (0, 0)


def test_same_seed_same_bytes(program: Callable[[str], None], tmp_path: Path) -> None:
    program("libutp")
    cell = _cell(tmp_path, "libutp")
    digests = []
    for into, seed in (("first", 1), ("again", 1), ("other", 2)):
        execute(resolve(cell, seed), tmp_path / into)
        capture = run_folder(tmp_path / into, cell, seed) / "pcap" / "bottleneck-out.pcap"
        digests.append(hashlib.sha256(capture.read_bytes()).hexdigest())
    assert digests[0] == digests[1] != digests[2]
