"""Boxes that do what no network should: what becomes of acknowledgements and of marks, on packets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from analysis.run import Run
from tests.trial import carried_out

SCENARIO = """\
experiment: box
title: A flow behind a box
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 5mbit, buffer: 20p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: flow, implementation: tcp-reno, from: s1, to: d1}
duration: 5s
captures: [bottleneck-out, backward-in]
"""
MARKING = SCENARIO.replace("20p}", "200p, queue: codel, params: {ecn: true}}\ntcp: {ecn: on}")
Behind = Callable[..., tuple[pl.DataFrame, Any]]


FULL_BYTES = {4: 1448, 6: 1428}
"""Data in a full packet, by the version of IP."""


@pytest.fixture(params=[4, 6])
def version(request: pytest.FixtureRequest) -> int:
    """The version of IP of all hosts."""
    return int(request.param)


@pytest.fixture
def behind(tmp_path: Path, version: int) -> Behind:
    """Runs the flow with a line more; returns its acknowledgements after the start, and the queue's counters."""

    def run(box: str, text: str = SCENARIO) -> tuple[pl.DataFrame, Any]:
        into = tmp_path / str(len(list(tmp_path.iterdir())))
        folder, summary = carried_out(into, f"{text}{box}ip: {version}\n")
        counters = summary["counters"]["queues"]["bottleneck"]
        packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(
            pl.col("tap").cast(pl.String) == "backward-in", pl.col("time_ns").is_between(2 * 10**8, 5 * 10**9)
        )
        return packets.with_columns(pl.col("ack").cast(pl.Int64).diff().alias("bytes")), counters

    return run


def test_each_acknowledgement_becomes_eight(behind: Behind, version: int) -> None:
    whole, _ = behind("")
    parts, _ = behind("middleboxes: [{host: d1, acks: split}]\n")
    assert len(parts) > 6 * len(whole)  # duplicates stay one
    assert whole["bytes"].median() == 2 * FULL_BYTES[version]
    assert parts["bytes"].median() == 2 * FULL_BYTES[version] / 8


def test_an_acknowledgement_stands_for_those_of_20_ms(behind: Behind, version: int) -> None:
    acks, _ = behind("middleboxes: [{host: d1, acks: stretched}]\n")
    waited = acks.with_columns(pl.col("time_ns").diff().alias("gap_ns")).filter(
        pl.col("bytes") > 2 * FULL_BYTES[version]
    )
    assert len(waited) > 100
    # a duplicate one goes on at once, and what waits goes before it
    assert waited.filter(pl.col("gap_ns") >= 20_000_000).height > 0.9 * len(waited)
    assert np.median(waited["bytes"].drop_nulls()) >= 7 * FULL_BYTES[version]


def test_what_was_lost_is_acknowledged(behind: Behind) -> None:
    acks, counters = behind("middleboxes: [{host: d1, acks: optimistic}]\n")
    assert counters["dropped_pkts"] > 1000  # its sender never hears of one
    assert acks["bytes"].drop_nulls().to_numpy().min() >= 0
    assert acks.filter(pl.col("bytes") == 0).height < 0.01 * len(acks)


def test_marks_are_lost_behind_the_queue_and_not_made_before_it(behind: Behind) -> None:
    marked = {host: behind(box, MARKING)[1] for host, box in BLEACHED.items()}
    assert marked["none"]["marked_pkts"] > 0 == marked["none"]["dropped_pkts"]
    assert marked["s1"]["marked_pkts"] == 0 < marked["s1"]["dropped_pkts"]
    # never told, the sender fills the queue until it overflows
    assert marked["d1"]["marked_pkts"] > 20 * marked["none"]["marked_pkts"]
    assert marked["d1"]["overflowed_pkts"] > 0


def test_a_host_gets_other_ports_and_the_old_ones_are_forgotten(
    tmp_path: Path, program: Callable[[str], None], version: int
) -> None:
    """A sender that nobody answers notices nothing. libutp's receiver takes the packets for a stranger's."""
    for name in ("udp-cbr", "libutp"):
        program(name)
    text = SCENARIO.replace("{name: flow, implementation: tcp-reno, from: s1, to: d1}", FLOWS).replace(
        "pairs: 1", "pairs: 2"
    )
    box = "middleboxes: [{host: s1, rebound: 2s}, {host: s2, rebound: 2s}]\n"
    folder, summary = carried_out(tmp_path, f"{text}{box}ip: {version}\n")
    flows = summary["flows"]
    packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(pl.col("tap") == "bottleneck-out")
    for name in ("call", "utp"):
        own = packets.filter(pl.col("flow") == name, "forward")
        before, after = (
            set(own.filter(pl.col("time_ns").is_between(*part))["sport"]) for part in ((0, 2 * NS), (2.1 * NS, 5 * NS))
        )
        assert after == {port ^ 1 << 13 for port in before}, name
    run = Run(folder)
    assert run.reconnections("call").times == pytest.approx([2.025], abs=0.025)
    assert flows["call"]["received_bytes"] == pytest.approx(5 * 64_000 / 8, rel=0.02)
    assert flows["utp"]["received_bytes"] < run.bytes_of("utp", 0, 2.2)
    assert run.bytes_of("utp", 2.2) < run.bytes_of("utp", 0, 2.2) / 10  # sent again in vain


NS = 1_000_000_000
FLOWS = """{name: utp, implementation: libutp, from: s1, to: d1, may_fail: true}
  - {name: call, implementation: udp-cbr, from: s2, to: d2, params: {rate: 64kbit}}"""
BLEACHED = {"none": ""} | {host: f"middleboxes: [{{host: {host}, ecn: bleached}}]\n" for host in ("s1", "d1")}
