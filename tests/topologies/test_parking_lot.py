"""Bottlenecks in a row: what each pair of hosts crosses, its base delay and its capacity."""

from pathlib import Path

import pytest

from engine.run import execute, run_folder
from scenarios.errors import ScenarioError
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: lot
title: One flow over both bottlenecks, one over each
topology: {name: parking-lot, pairs: 3}
bottleneck: {rate: 10mbit, buffer: 40p}
more_bottlenecks: [{rate: 8mbit, buffer: 30p}]
spans: [[1, 2], [1, 1], [2, 2]]
delay: {forward: 20ms, backward: 15ms}
flows:
  - {name: long, implementation: tcp-reno, from: s1, to: d1}
  - {name: first, implementation: tcp-reno, from: s2, to: d2}
  - {name: second, implementation: tcp-reno, from: s3, to: d3}
events:
  - {at: 1s, on: bottleneck-2, rate: 4mbit}
duration: 2s
captures: [bottleneck-out, bottleneck-2-out]
keep_captures: true
"""


@pytest.fixture
def lot(tmp_path: Path) -> Path:
    return trial(tmp_path, SCENARIO)


def test_each_pair_has_the_delay_and_the_tightest_capacity_of_what_it_crosses(lot: Path, tmp_path: Path) -> None:
    """The fidelity probe measures both before any flow starts; the audit counts every packet at each queue."""
    (cell,) = expand(lot, "complete")
    summary = execute(resolve(cell, 1), tmp_path)
    capacities = {"s1-d1": 8e6, "s2-d2": 10e6, "s3-d3": 8e6}
    for name, capacity_bps in capacities.items():
        probe = summary["probe"][name]
        assert probe["capacity_bps"] == pytest.approx(capacity_bps, rel=0.001)
        assert probe["forward_ns"] == pytest.approx(20e6, abs=10_000)
        assert probe["backward_ns"] == pytest.approx(15e6, abs=10_000)
    received = {name: flow["received_bytes"] for name, flow in summary["flows"].items()}
    queues = summary["counters"]["queues"]
    # two flows share each bottleneck, which they fill; the second has half its rate in the second half
    assert queues["bottleneck"]["sent_bytes"] == pytest.approx(10e6 / 8 * 2, rel=0.1)
    assert queues["bottleneck-2"]["sent_bytes"] == pytest.approx((8e6 + 4e6) / 8, rel=0.1)
    assert min(received.values()) > 0
    folder = run_folder(tmp_path, cell, 1)
    assert {file.name for file in (folder / "traces").glob("queue*")} == {"queue.csv", "queue-2.csv"}


def test_without_spans_every_pair_crosses_all(lot: Path) -> None:
    lot.write_text(SCENARIO.replace("spans: [[1, 2], [1, 1], [2, 2]]\n", ""))
    network = resolve(expand(lot, "complete")[0], 1)["network"]
    assert [path["forward"]["rate_bps"] for path in network["paths"]] == [8_000_000] * 3
    assert network["queues"]["bottleneck-2"]["arrivals"] == ["r2-r1"]


@pytest.mark.parametrize(
    ("text", "by", "message"),
    [
        ("[2, 2]]", "[2, 3]]", "spans[2]: found [2, 3]; allowed: the numbers of the first and the last bottleneck"),
        (", [2, 2]]", "]", "spans: found 2 for 3 pairs; allowed: one span for each pair"),
        ("to: d2", "to: d3", "flows[1].to: found 'd3', no host across from s2; allowed: d2"),
        ("on: bottleneck-2", "on: bottleneck-3", "on: found 'bottleneck-3'; allowed: bottleneck, bottleneck-2, path"),
        ("bottleneck-2-out", "bottleneck-4-out", "captures[1]: found 'bottleneck-4-out'; allowed: bottleneck-in"),
        ("parking-lot", "dumbbell", "more_bottlenecks: found with topology dumbbell; allowed: topology parking-lot"),
        (
            "30p}]\n",
            "30p}]\nbackward_bottleneck: {rate: 1mbit, buffer: 9p}\n",
            "allowed: topology dumbbell or ",
        ),
        ("8mbit", "1001bit", "more_bottlenecks[0].rate: found '1001bit', which the limiter keeps"),
    ],
)
def test_what_the_topology_does_not_have_is_refused(lot: Path, text: str, by: str, message: str) -> None:
    lot.write_text(SCENARIO.replace(text, by))
    with pytest.raises(ScenarioError) as caught:
        expand(lot, "complete")
    assert message in str(caught.value)
