"""Short MTUs, black holes and policers are on packets what a scenario says of them."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from analysis.capture.columns import write_columns
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: filters
title: Links that do not carry everything, from 4 s on
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
backward_bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: it, implementation: tcp-cubic, from: s1, to: d1}
duration: 12s
captures: [sender, receiver]
cases:
  reported: {events: [{at: 4s, on: path, mtu: {forward: 1400B}}]}
  reported-backward:
    events: [{at: 4s, on: path, mtu: {backward: 1300B}}]
    flows: [{name: it, implementation: tcp-cubic, from: d1, to: s1}]
  reported-utp:
    flows: [{name: it, implementation: libutp, from: s1, to: d1}]
    events: [{at: 0s, on: path, mtu: {forward: 1400B}}]
  black-hole: {events: [{at: 4s, on: path, black_hole: {forward: 1400B}}]}
  probing: {events: [{at: 4s, on: path, black_hole: {forward: 1400B}}], tcp: {mtu_probing: black-hole}}
  over:
    events:
      - {at: 4s, on: path, black_hole: {forward: 1400B}}
      - {at: 4500ms, on: path, black_hole: {forward: 1500B}}
  policed:
    flows: [{name: it, implementation: udp-cbr, from: s1, to: d1, params: {rate: 3200kbit}}]
    events: [{at: 4s, on: path, policed: {forward: 2140kbit}, policed_burst: {forward: 21400B}}]
"""

D1 = "10.1.1.1"
Runs = dict[str, tuple[dict[str, Any], pl.DataFrame]]


@pytest.fixture(scope="module")
def runs(program: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """By case: the summary, and all packets."""
    program("udp-cbr")
    program("libutp")
    folder = tmp_path_factory.mktemp("filters")
    runs = {}
    for cell in expand(trial(folder, SCENARIO), "complete"):
        summary = execute(resolve(cell, 1), folder)
        run = run_folder(folder, cell, 1)
        write_columns(run)
        runs[cell.name.removeprefix("case=")] = (summary, pl.read_parquet(run / "columns" / "packets.parquet"))
    return runs


def _data(runs: Runs, case: str, tap: str, after_s: float) -> pl.DataFrame:
    _, packets = runs[case]
    ours = (pl.col("flow") == "it") & pl.col("forward")
    return packets.filter(ours & (pl.col("tap") == tap) & (pl.col("time_ns") > after_s * 1e9))


@pytest.mark.parametrize(
    ("case", "tap", "longest_bytes"), [("reported", "sender", 1400), ("reported-backward", "receiver", 1300)]
)
def test_who_is_told_sends_packets_that_fit(runs: Runs, case: str, tap: str, longest_bytes: int) -> None:
    _, packets = runs[case]
    reported = packets.filter((pl.col("proto") == 1) & (pl.col("tap") == tap))
    assert len(reported) >= 1
    assert reported["time_ns"].min() == pytest.approx(4e9, rel=0.02)
    later = _data(runs, case, tap, 5)
    assert later["ip_length"].max() == longest_bytes
    assert len(later) > 0.9 * 7 * 10e6 / 8 / longest_bytes


def test_libutp_cuts_packets_until_it_has_found_the_length_that_passes(runs: Runs) -> None:
    _, packets = runs["reported-utp"]
    assert packets.filter(pl.col("proto") == 1)["time_ns"].to_numpy().min() < 1e9
    arrived = packets.filter((pl.col("tap") == "receiver") & (pl.col("dst") == D1))
    assert 1396 in arrived["ip_length"]  # the first part of a longer one: its payload is whole words of 8 bytes
    late = arrived.filter(pl.col("time_ns") > 6e9)
    assert 1300 < late["ip_length"].to_numpy().max() <= 1400
    assert late["ip_length"].sum() > 0.9 * 6 * 10e6 / 8


def test_nobody_is_told_of_a_black_hole(runs: Runs) -> None:
    summary, packets = runs["black-hole"]
    assert packets.filter(pl.col("proto") == 1).is_empty()
    arrived, sent = (_data(runs, "black-hole", tap, 4.2) for tap in ("receiver", "sender"))
    assert arrived["payload_bytes"].sum() == 0
    assert sent["ip_length"].max() == 1500
    assert summary["counters"]["refused"]["r2-d1"] > len(sent)


def test_tcp_that_probes_finds_the_length_that_passes(runs: Runs) -> None:
    arrived = _data(runs, "probing", "receiver", 9)
    assert 1000 < arrived["ip_length"].to_numpy().max() <= 1400
    assert len(arrived) > 1000


def test_what_an_event_begins_another_one_ends(runs: Runs) -> None:
    assert _data(runs, "over", "receiver", 6)["ip_length"].max() == 1500


def test_a_policer_passes_its_rate_and_its_burst_and_holds_nothing(runs: Runs) -> None:
    summary, _ = runs["policed"]
    # frames of 214 bytes at 2500 a second; half of them and 100 at once
    passed = 4 * 2500 + 8 * 1250 + 100
    assert summary["flows"]["it"]["received_bytes"] / 160 == pytest.approx(passed, abs=10)
    assert summary["counters"]["refused"]["r2-d1"] == pytest.approx(12 * 2500 - passed, abs=10)
    arrived, sent = (_data(runs, "policed", tap, 4) for tap in ("receiver", "sender"))
    both = arrived.join(sent, on="ip_id")
    assert (both["time_ns"] - both["time_ns_right"]).to_numpy().max() < 10_100_000


def test_the_summary_has_no_refusals_where_nothing_is_refused(runs: Runs) -> None:
    assert "refused" not in json.loads(json.dumps(runs["reported"][0]["counters"]))
