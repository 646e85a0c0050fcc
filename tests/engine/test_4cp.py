"""4CP does what RFC 6297 says: Reno in good phases of congestion, a fixed minimum in bad ones, never less."""

from pathlib import Path

from analysis.run import Run
from tests.trial import carried_out

# the path holds 58 packets; alone, Reno has 43 of them on average
SCENARIO = """\
experiment: fourcp
title: A control alone, then beside CUBIC, then alone
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 50p}
delay: {forward: 5ms, backward: 5ms}
flows:
  - {name: low, implementation: CONTROL, from: s1, to: d1}
  - {name: cubic, implementation: tcp-cubic, from: s2, to: d2, start: 20s, stop: 60s}
duration: 80s
captures: [bottleneck-out]
"""


def _run(folder: Path, control: str) -> Run:
    return Run(carried_out(folder, SCENARIO.replace("CONTROL", control))[0])


def test_4cp_leaves_cubic_the_target_window_and_keeps_its_minimum(tmp_path: Path) -> None:
    run = _run(tmp_path, "tcp-4cp, params: {target_window: 35p, min_window: 4p}")
    assert run.throughput("low", 5, 20) > 9.8e6
    assert run.cwnd("cubic").mean(30, 60) > 35
    assert run.cwnd("low").percentile(50, 30, 60) == 4
    # a full queue makes the round-trip time 70 ms; a loss takes a few of them
    assert 0.8 * 4 * 12000 / 0.07 < run.throughput("low", 30, 60) < 2e6
    # the virtual window is below the minimum for no more than 816 packets, the target's loss interval
    assert run.throughput("low", 75, 80) > 9.8e6


def test_4cp_is_reno_in_a_good_phase(tmp_path: Path) -> None:
    # a loss event for every two packets would be within the target
    run = _run(tmp_path / "4cp", "tcp-4cp, params: {target_window: 2p}")
    reno = _run(tmp_path / "reno", "tcp-reno")
    assert run.cwnd("low").values.tolist() == reno.cwnd("low").values.tolist()
    assert run.cwnd("cubic").values.tolist() == reno.cwnd("cubic").values.tolist()
