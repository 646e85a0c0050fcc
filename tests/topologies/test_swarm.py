"""Peers behind access links of their own: what each can send and receive, and who can send to whom."""

from pathlib import Path

import polars as pl
import pytest

from analysis.run import Run
from scenarios.errors import ScenarioError
from scenarios.resolve import expand, resolve
from tests.trial import carried_out, trial

SCENARIO = """\
experiment: swarm
title: Three peers with links of their own
topology: {name: swarm, peers: 3}
bottleneck: {rate: 2mbit, buffer: 60p}
backward_bottleneck: {rate: 10mbit, buffer: 100p}
peers: [{host: p3, up: {rate: 20mbit, buffer: 50p}}]
delay: {forward: 20ms, backward: 20ms}
flows:
  - {name: up, implementation: tcp-reno, from: p1, to: p2}
  - {name: back, implementation: tcp-reno, from: p2, to: p1}
  - {name: down, implementation: tcp-reno, from: p3, to: p1}
events:
  - {at: 5s, on: bottleneck-2, rate: 1mbit}
  - {at: 5s, on: path, pairs: [2], delay: {forward: 50ms}}
duration: 10s
captures: [sender, receiver, bottleneck-in, bottleneck-out]
"""


def test_each_peer_sends_and_receives_at_its_own_rates(tmp_path: Path) -> None:
    folder, summary = carried_out(tmp_path, SCENARIO)
    both, fast = summary["probe"]["p1-p2"], summary["probe"]["p1-p3"]
    assert both["capacity_bps"] == both["backward_capacity_bps"] == pytest.approx(2e6, rel=0.001)
    # what p3 sends waits for p1's link
    assert fast["backward_capacity_bps"] == pytest.approx(10e6, rel=0.001)
    assert both["forward_ns"] == both["backward_ns"] == pytest.approx(20e6, abs=10_000)
    assert set(summary["probe"]) == {"p1-p2", "p1-p3"}
    run = Run(folder)
    # p1's link down is shared, and drops packets of both
    assert run.throughput("back", 1, 5) == pytest.approx(2e6, rel=0.15)
    assert run.throughput("back", 6, 10) == pytest.approx(1e6, rel=0.15)
    assert 7e6 < run.throughput("down", 6, 10) + run.throughput("back", 6, 10) <= 10e6
    packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(pl.col("flow") == "up")
    hosts = packets.group_by("tap").agg(pl.col("interface").unique())
    captured = {tap: names for tap, names in hosts.iter_rows() if tap in ("sender", "receiver")}
    assert captured == {"sender": ["p1-eth0"], "receiver": ["p2-eth0"]}
    # forward and backward 20 ms each, forward 50 ms later, and the queue of p1
    acked = run.rtt_ms("up")
    assert acked.min(0, 5) < 45 + 6
    assert acked.min(6, 10) > 70


@pytest.mark.parametrize(
    ("text", "by", "message"),
    [
        ("peers: 3", "pairs: 3", "topology.peers: missing; allowed: the number of peers, which topology swarm has"),
        ("name: swarm, peers", "name: dumbbell, peers", "peers: found with topology dumbbell; allowed: topology swarm"),
        ("backward: 20ms", "backward: 30ms", "delay: found different delays forward and backward; allowed: one delay"),
        ("host: p3", "host: p4", "peers[0].host: unknown host 'p4'; allowed: p1 to p3"),
        ("20mbit", "1001bit", "peers[0].up.rate: found '1001bit', which the limiter keeps"),
        ("to: p2", "to: p1", "flows[0].to: found 'p1', no host across from p1; allowed: p2, p3"),
        (
            "{forward: 50ms}",
            "{backward: 50ms}",
            "events[1].delay.backward: no direction of its paths; allowed: forward",
        ),
        (
            "bottleneck-2",
            "bottleneck-4",
            "events[0].on: found 'bottleneck-4'; allowed: bottleneck, backward_bottleneck",
        ),
        ("pairs: [2]", "pairs: [4]", "events[1].pairs: found [4] on path; allowed: numbers from 1 to 3, on path"),
        ("backward_bottleneck: {rate: 10mbit, buffer: 100p}\n", "", "backward_bottleneck: missing; allowed: what each"),
    ],
)
def test_what_the_topology_does_not_have_is_refused(tmp_path: Path, text: str, by: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        expand(trial(tmp_path, SCENARIO.replace(text, by)), "complete")
    assert message in str(caught.value)


def test_only_the_ways_that_flows_take_are_probed(tmp_path: Path) -> None:
    (cell,) = expand(trial(tmp_path, SCENARIO.replace("peers: 3", "peers: 30")), "complete")
    run = resolve(cell, 1)
    assert [path["name"] for path in run["network"]["paths"]] == ["p1-p2", "p1-p3"]
    assert {flow["direction"] for flow in run["flows"]} == {"forward"}
