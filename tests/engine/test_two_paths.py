"""A change of route by an OpenFlow rule: how packets see it, and that it repeats."""

import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from analysis.capture.columns import write_columns
from analysis.run import Run
from engine.errors import EngineError
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

MS = 1_000_000
RULE_MS = 5  # Open vSwitch acts on a new rule within so much

SCENARIO = """\
experiment: detour
title: A longer forward path, then the shorter one again and another reverse path
topology: {name: two-path, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 25ms, backward: 25ms}
delay_b: {forward: 40ms, backward: 10ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
events:
  - {at: 1s, on: route, path: {forward: b}}
  - {at: 2s, on: route, path: {forward: a, backward: b}}
duration: 3s
captures: [bottleneck-out, receiver]
keep_captures: true
"""


@pytest.fixture
def detour(tmp_path: Path) -> Path:
    return trial(tmp_path, SCENARIO)


def _travelled(folder: Path, forward: bool) -> list[tuple[float, float]]:
    """When each packet entered the core and how long it took to the receiver's host, or from there, ms."""
    assert write_columns(folder) == []
    packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(pl.col("forward") == forward)
    taps = [packets.filter(pl.col("tap").cast(pl.String) == tap) for tap in ("bottleneck-out", "receiver")]
    first, second = taps if forward else reversed(taps)
    both = first.join(second, on=["ip_id", "seq", "ack"], suffix="_then").sort("time_ns")
    assert len(both) == len(first) == len(second) > 500
    took_ns = both["time_ns_then"] - both["time_ns"]
    return list(zip((both["time_ns"] / MS).to_list(), (took_ns / MS).to_list(), strict=True))


def _seen(travelled: list[tuple[float, float]], start_ms: float, end_ms: float) -> tuple[float, float]:
    took = [ms for at_ms, ms in travelled if start_ms <= at_ms < end_ms]
    return min(took), max(took)


def test_packets_take_the_path_that_the_rule_names_and_those_under_way_arrive(detour: Path, tmp_path: Path) -> None:
    (cell,) = expand(detour, "complete")
    summary = execute(resolve(cell, 1), tmp_path)
    for name, there_ns, back_ns in (("s1-d1", 25 * MS, 25 * MS), ("s1-d1:b", 40 * MS, 10 * MS)):
        probed = summary["probe"][name]
        assert abs(probed["forward_ns"] - there_ns) < 10_000 and abs(probed["backward_ns"] - back_ns) < 10_000
    folder = run_folder(tmp_path, cell, 1)
    there, back = _travelled(folder, forward=True), _travelled(folder, forward=False)
    for start_ms, end_ms, took_ms in ((0, 1000, 25), (1000 + RULE_MS, 2000, 40), (2000 + RULE_MS, 3000, 25)):
        assert _seen(there, start_ms, end_ms) == pytest.approx((took_ms, took_ms), abs=0.01)
    for start_ms, end_ms, took_ms in ((0, 2000, 25), (2000 + 2 * RULE_MS, 3000, 10)):
        assert _seen(back, start_ms, end_ms) == pytest.approx((took_ms, took_ms), abs=0.01)
    # on to the shorter path: later packets overtake those under way, none is lost
    arrivals = [at_ms + took_ms for at_ms, took_ms in there]
    assert any(later < earlier for earlier, later in itertools.pairwise(arrivals))
    ports = summary["counters"]["interfaces"]
    assert 0 < ports["core1-b"]["sent_pkts"] == ports["core2-b"]["received_pkts"] < ports["r1-r2"]["sent_pkts"]

    execute(resolve(cell, 1), tmp_path / "again")
    first, again = (
        {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for part in ("pcap", "traces")
            for file in (run_folder(into, cell, 1) / part).iterdir()
        }
        for into in (tmp_path, tmp_path / "again")
    )
    assert "receiver.pcap" in first
    assert first == again


def test_a_rule_and_a_new_delay_are_the_same_to_ledbat(detour: Path, tmp_path: Path) -> None:
    """Its estimate of the queue and its window, after both kinds of a rise of 15 ms."""
    text = SCENARIO.replace("tcp-reno", "tcp-ledbat-draft00").replace("[bottleneck-out, receiver]", "[]")
    text = text.replace("  - {at: 2s, on: route, path: {forward: a, backward: b}}\n", "")
    changes = {
        "rule": text,
        "delay": text.replace("two-path", "dumbbell")
        .replace("delay_b: {forward: 40ms, backward: 10ms}\n", "")
        .replace("on: route, path: {forward: b}", "on: path, delay: {forward: 40ms}"),
    }
    runs = []
    for name, written in changes.items():
        detour.write_text(written)
        (cell,) = expand(detour, "complete")
        execute(resolve(cell, 1), tmp_path / name)
        write_columns(run_folder(tmp_path / name, cell, 1))
        runs.append(Run(run_folder(tmp_path / name, cell, 1)))
    rule, delay = runs
    for run in (rule, delay):
        assert run.queuing_delay_ms("tcp").at(0.99) < 0.1
        assert run.queuing_delay_ms("tcp").at(1.2) == pytest.approx(15, abs=0.5)
    for at_s in (0.99, 1.2, 1.5, 2.9):
        assert rule.cwnd("tcp").at(at_s) == pytest.approx(delay.cwnd("tcp").at(at_s), abs=1)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("a", r"\d+ packets came to the switch core1, \d+ left it"),
        ("b", r"\d+ packets left by core1-b, where no route"),
    ],
)
def test_the_audit_notices_packets_that_a_switch_doubles(
    detour: Path, tmp_path: Path, sabotage: Callable[[str, str, str], None], path: str, told: str
) -> None:
    detour.write_text(
        SCENARIO.replace("{forward: a, backward: b}", "{forward: a}").replace("{forward: b}", "{forward: a}")
    )
    both = f"""net["core1"].add_rules(['in_port="core1-r1",actions=output:"core1-a",output:"core1-{path}"']) or []"""
    sabotage("engine/guest/agent.py", 'net.apply(what["changes"])', both)
    (cell,) = expand(detour, "complete")
    with pytest.raises(EngineError, match=f"audit: {told}"):
        execute(resolve(cell, 1), tmp_path)


def test_a_change_of_route_without_effect_fails_the_run(
    detour: Path, tmp_path: Path, sabotage: Callable[[str, str, str], None]
) -> None:
    """Also if the route has been changed back since, so that everything is right at the end."""
    detour.write_text(SCENARIO.replace("{forward: a, backward: b}", "{forward: a}"))
    sabotage("engine/guest/agent.py", 'net.apply(what["changes"])', "[]")
    (cell,) = expand(detour, "complete")
    with pytest.raises(EngineError, match=r"audit: \d+ packets left by core1-a, where no route leads"):
        execute(resolve(cell, 1), tmp_path)


def test_the_probe_measures_the_second_path_too(
    detour: Path, tmp_path: Path, sabotage: Callable[[str, str, str], None]
) -> None:
    as_path_a = 'shaping({"delay_ns": 25_000_000} if end["interface"] == "core1-b" else end["egress"])'
    sabotage("topologies/network.py", 'shaping(end["egress"])', as_path_a)
    (cell,) = expand(detour, "complete")
    with pytest.raises(EngineError, match=r"forward delay from s1 to d1:b is 250\d+ ns, the scenario says 40000000"):
        execute(resolve(cell, 1), tmp_path)
    assert json.loads(next(tmp_path.rglob("summary.json")).read_text())["status"] == "failed"
