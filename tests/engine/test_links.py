"""Jitter, losses and the rest of what a link does are on packets what a scenario says of them.

A stream of 2500 packets a second crosses an otherwise empty path; each packet is seen before and behind its delay.
"""

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from analysis.capture.columns import write_columns
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: links
title: A call over links of several kinds
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 50ms, backward: 10ms}
flows:
  - {name: call, implementation: udp-cbr, from: s1, to: d1, params: {rate: 3200kbit}}
duration: 20s
captures: [bottleneck-out, receiver]
events:
  - {at: 0s, on: path, jitter: {forward: 5ms}}
cases:
  uniform: {}
  ordered: {events: [{at: 0s, on: path, jitter: {forward: 5ms}, keep_order: {forward: true}}]}
  normal: {events: [{at: 0s, on: path, jitter: {forward: 5ms}, distribution: {forward: normal}}]}
  single: {events: [{at: 0s, on: path, loss: {forward: 5%}}]}
  bursts: {events: [{at: 0s, on: path, loss: {forward: 5%}, burst: {forward: 8p}}]}
  early: {events: [{at: 0s, on: path, reorder: {forward: 25%}}]}
  often: {events: [{at: 0s, on: path, reorder: {forward: 25%}, reorder_correlation: {forward: 50%}}]}
  damaged: {events: [{at: 0s, on: path, duplicate: {forward: 5%}, corrupt: {forward: 10%}}], duration: 5s}
  held:
    events:
      - {at: 0s, on: path, aggregation: {forward: 4ms}}
      - {at: 2s, on: path, aggregation: {forward: 0s}}
      - {at: 3s, on: path, suspension: {forward: 200ms}}
    duration: 4s
"""

Delays = NDArray[np.float64]
"""Of each packet in the order of sending, ms; not a number: it was lost."""


@pytest.fixture(scope="module")
def folders(program: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run folders by case, with columns."""
    program("udp-cbr")
    folder = tmp_path_factory.mktemp("links")
    runs = {}
    for cell in expand(trial(folder, SCENARIO), "complete"):
        execute(resolve(cell, 1), folder)
        run = run_folder(folder, cell, 1)
        write_columns(run)
        runs[cell.name.removeprefix("case=")] = run
    return runs


@pytest.fixture(scope="module")
def delays(folders: dict[str, Path]) -> dict[str, Delays]:
    """Delays by case, of those in which each packet arrives once at most."""
    runs = {}
    for case, folder in folders.items():
        if case not in ("damaged", "held"):
            both = _at(folder, "bottleneck-out").join(
                _at(folder, "receiver"), on="ip_id", how="left", maintain_order="left"
            )
            differences = (both["time_ns_right"] - both["time_ns"]) / 1e6
            runs[case] = differences.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return runs


def _at(folder: Path, tap: str) -> pl.DataFrame:
    packets = pl.read_parquet(folder / "columns" / "packets.parquet")
    call = packets.filter((pl.col("flow") == "call") & (pl.col("tap") == tap))
    return call.select("ip_id", "time_ns").sort("time_ns")


def _overtaken(delays: Delays) -> int:
    """How many packets arrive before their predecessor, sent 0.4 ms earlier (10 us for when the sender wakes up)."""
    return int((np.diff(delays) < -0.41).sum())


def test_uniform_jitter_is_even_and_reorders(delays: dict[str, Delays]) -> None:
    uniform = delays["uniform"]
    assert (uniform.min(), uniform.max()) == pytest.approx((45, 55), abs=0.1)
    assert np.quantile(uniform, [0.25, 0.75]) == pytest.approx([47.5, 52.5], abs=0.3)
    assert _overtaken(uniform) > len(uniform) / 10


def test_jitter_can_keep_the_order(delays: dict[str, Delays]) -> None:
    assert _overtaken(delays["ordered"]) == 0
    assert np.std(delays["ordered"]) > 1


def test_normal_jitter_has_its_standard_deviation_and_tails(delays: dict[str, Delays]) -> None:
    normal = delays["normal"]
    assert (np.mean(normal), np.std(normal)) == pytest.approx((50, 5), abs=0.2)
    assert np.quantile(normal, 0.975) == pytest.approx(50 + 1.96 * 5, abs=0.7)


def test_losses_in_bursts_have_the_same_share_and_their_length(delays: dict[str, Delays]) -> None:
    def mean_burst_pkts(lost: NDArray[np.bool_]) -> float:
        return float(np.mean([sum(1 for _ in run) for gone, run in groupby(lost.tolist()) if gone]))

    single, bursts = (np.isnan(delays[case]) for case in ("single", "bursts"))
    assert (single.mean(), bursts.mean()) == pytest.approx(
        (0.05, 0.05), abs=0.012
    )  # three standard deviations of 310 bursts
    assert mean_burst_pkts(single) == pytest.approx(1 / 0.95, abs=0.05)
    assert mean_burst_pkts(bursts) == pytest.approx(8, abs=1.3)


@pytest.mark.parametrize(("case", "again"), [("early", 0.25), ("often", 0.46)])
def test_a_share_of_packets_overtakes(case: str, again: float, delays: dict[str, Delays]) -> None:
    """By netem's own arithmetic, with numbers drawn here, 46 % of those behind one that overtakes do, too."""
    early = delays[case] < 1
    assert delays[case][~early] == pytest.approx(50, abs=0.1)
    assert early.mean() == pytest.approx(0.25, abs=0.01)
    assert early[1:][early[:-1]].mean() == pytest.approx(again, abs=0.02)


def test_packets_arrive_twice_and_corrupt_ones_do_not_reach_the_program(folders: dict[str, Path]) -> None:
    sent, arrived = (len(_at(folders["damaged"], tap)) for tap in ("bottleneck-out", "receiver"))
    # of corrupt packets some are not recognized as those of the call
    assert arrived / sent == pytest.approx(1.05, abs=0.015)
    taken = json.loads((folders["damaged"] / "summary.json").read_text())["flows"]["call"]["received_bytes"] / 160
    # only the sender's MAC address, 6 of 214 bytes, may be wrong
    assert taken / sent == pytest.approx(1.05 * (1 - 0.1 * (1 - 6 / 214)), abs=0.012)


def test_packets_gather_and_go_on_together(folders: dict[str, Path]) -> None:
    arrivals_ms = _at(folders["held"], "receiver")["time_ns"].to_numpy() / 1e6
    gaps_ms, begins_ms = np.diff(arrivals_ms), arrivals_ms[:-1] - arrivals_ms[0]
    waits = gaps_ms > 0.41
    gathered = waits & (begins_ms < 1900)
    assert gathered.sum() == pytest.approx(1900 / 4, abs=2)
    assert gaps_ms[gathered] == pytest.approx(4, abs=0.01)
    # suspended from one packet to the next one after 200 ms, and all that waited at once
    [suspended] = np.flatnonzero(waits & (begins_ms > 2000))
    assert gaps_ms[suspended] == pytest.approx(200, abs=0.5)
    assert (gaps_ms[suspended + 1 : suspended + 400] < 0.01).all()
