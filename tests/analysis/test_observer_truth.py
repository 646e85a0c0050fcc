"""The observer against what the senders themselves log, and against the queue, on runs of real guests."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.capture.columns import write_columns
from analysis.observer.flight import RetransmitCause
from analysis.observer.standalone import report
from analysis.run import Run
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: observed
title: Flows that log what the observer has to find
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 4mbit, buffer: 60p}
delay: {forward: 25ms, backward: 25ms}
tcp: {ack: every-packet}
flows: []
duration: 15s
captures: [sender, receiver, bottleneck-in, bottleneck-out]
keep_captures: true
cases:
  utp: {flows: [{name: f, implementation: libutp, from: s1, to: d1, params: {target: 60ms}}]}
  losses: {flows: [{name: f, implementation: libutp, from: s1, to: d1}], bottleneck: {buffer: 14p}}
  window: {flows: [{name: f, implementation: libutp, from: s1, to: d1, params: {receive_buffer: 13820B}}]}
  tcp: {flows: [{name: f, implementation: tcp-ledbat-draft00, from: s1, to: d1}]}
"""


@pytest.fixture(scope="module")
def runs(program: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    program("libutp")
    folder = tmp_path_factory.mktemp("observed")
    estimates = {}
    for cell in expand(trial(folder, SCENARIO), "complete"):
        name = cell.name.removeprefix("case=")
        for seed in (1, 3) if name == "losses" else (1,):
            execute(resolve(cell, seed), folder)
            assert write_columns(run_folder(folder, cell, seed)) == []
            estimates[f"{name}-{seed}"] = Run(run_folder(folder, cell, seed))
    return estimates


def logged(run: Run) -> pl.DataFrame:
    """What the sender says of itself, from a second after its first packet on."""
    first_s = run.flight("f").times[0] + 1
    trace = pl.read_parquet(run.folder / "columns" / "cwnd.parquet")
    return trace.filter(pl.col("time_ns").is_between(round(first_s * 1e9), round(run.duration * 1e9)))


@pytest.mark.parametrize("case", ["utp-1", "window-1", "tcp-1"])
def test_what_is_in_flight_is_what_the_sender_says(runs: dict[str, Run], case: str) -> None:
    trace = logged(runs[case])
    flight = runs[case].flight("f")
    seen = flight.bytes.sampled(trace["time_ns"].to_numpy() / 1e9) / flight.full_bytes
    assert len(seen) > 1000
    assert (np.abs(seen - trace["unacked_pkts"].to_numpy()) < 0.01).mean() > 0.99


@pytest.mark.parametrize("case", ["utp-1", "tcp-1"])
def test_the_delay_seen_is_the_senders_and_the_queues(runs: dict[str, Run], case: str) -> None:
    run = runs[case]
    seen = run.seen_delay_ms("f")
    # what an answer reports left the queue a round-trip time without a queue ago
    assert seen.values == pytest.approx(run.waited_ms("f").sampled(seen.times - 0.05 + 1e-6), abs=0.15)
    trace = logged(run)
    at = seen.sampled(trace["time_ns"].to_numpy() / 1e9)
    # a packet takes 3 ms to leave; libutp takes the smallest of three samples
    assert np.median(np.abs(at - trace["queuing_delay_us"].to_numpy() / 1e3)) <= 0.1
    assert run.queue_ms.mean(8) == pytest.approx(seen.mean(8), abs=3)


@pytest.mark.parametrize(("case", "target_ms", "gain"), [("utp-1", 60, 3000 / 1382), ("tcp-1", 25, 1)])
def test_target_and_gain_are_found(runs: dict[str, Run], case: str, target_ms: float, gain: float) -> None:
    estimates = runs[case].control("f")
    assert estimates.target_ms is not None
    assert estimates.gain_pkts_per_rtt is not None
    # libutp rounds each step of its window down to whole bytes, so it stops a little below its target
    assert estimates.target_ms.value == pytest.approx(target_ms, rel=0.05)
    assert estimates.gain_pkts_per_rtt.value == pytest.approx(gain, rel=0.15)


@pytest.mark.parametrize("seed", [1, 3])
def test_losses_are_counted_as_the_sender_counts_them(runs: dict[str, Run], seed: int) -> None:
    run = runs[f"losses-{seed}"]
    flight = run.flight("f")
    again = flight.retransmissions
    # each loss is repaired once; those of the last two seconds may not be yet
    assert 0 < run.drops("f").count(0, 13) <= len(again.times) <= run.drops("f").count()
    # libutp counts what answers told it was lost, and not what its timer sent again
    assert again.count(RetransmitCause.FAST) == logged(run)["retransmitted_pkts"].max()
    # it starts from a random number, but takes 1 for the first that it may send again at once: beyond half of the
    # numbers' circle nothing is, until they begin again
    only = RetransmitCause.FAST if flight.conversation.sent.first[0] < 2**15 else RetransmitCause.TIMEOUT
    assert again.count(only) == len(again.times)


def test_a_small_receive_window_is_what_limits(runs: dict[str, Run]) -> None:
    run = runs["window-1"]
    assert run.receive_window_bytes("f").max() == 13820
    assert run.in_flight("f").max() == 10
    assert run.limited_by("f", "receive-window", 1, 15) > 0.95
    assert run.throughput("f", 1, 14) == pytest.approx(10 * 1430 * 8 / 0.05, rel=0.01)


@pytest.mark.parametrize("case", ["utp-1", "tcp-1", "losses-1"])
def test_a_receivers_capture_alone_tells_the_senders_view(runs: dict[str, Run], case: str, tmp_path: Path) -> None:
    captures = [runs[case].folder / "pcap" / f"{tap}.pcap" for tap in ("receiver", "sender")]
    report.observe(captures, tmp_path)
    (flow,) = json.loads((tmp_path / "observation.json").read_text())["flows"]
    true, worked_out = flow["seen_in"]
    assert [flow["tap"]["place"] for flow in (true, worked_out)] == ["sender", "receiver"]
    for name in ("min", "median", "max"):
        assert worked_out["rtt_ms"][name] == pytest.approx(true["rtt_ms"][name], abs=1)  # a tick of TCP's timestamps
    # packets that were lost before the tap are not known to be in flight until they are sent again
    lost = runs[case].drops("f").count()
    missing = 1 - worked_out["in_flight_pkts"]["mean"] / true["in_flight_pkts"]["mean"]
    assert abs(missing) < 0.01 if not lost else 0 < missing < 0.1
    assert sum(worked_out["retransmitted_pkts"].values()) == sum(true["retransmitted_pkts"].values())
    (pair,) = flow["between_captures"]
    assert pair["base_round_trip_between_ms"] == pytest.approx(50, abs=0.1)
    assert abs(pair["clock_skew_ppm"]) < 0.1
    assert pair["lost_pkts"] == lost
