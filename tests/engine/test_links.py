"""Jitter and losses of a link are on packets what a scenario says of them.

A stream of 2500 packets a second crosses an otherwise empty path; each packet is seen before and behind its delay.
"""

from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from analysis.capture.columns import write_columns
from engine.run import execute, run_folder
from images import programs
from images.cache import Store, default_root
from scenarios.resolve import expand
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
"""

Delays = NDArray[np.float64]
"""Of each packet in the order of sending, ms; not a number: it was lost."""


@pytest.fixture(scope="module")
def delays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Delays]:
    """Delays by case."""
    programs.build(Store(default_root()), print, "udp-cbr")
    folder = tmp_path_factory.mktemp("links")
    found = {}
    for cell in expand(trial(folder, SCENARIO), "full"):
        execute(cell, 1, folder)
        found[cell.name.removeprefix("case=")] = _read(run_folder(folder, cell, 1))
    return found


def _read(folder: Path) -> Delays:
    write_columns(folder)
    packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(pl.col("flow") == "call")
    sent, arrived = (
        packets.filter(pl.col("tap") == tap).select("ip_id", "time_ns") for tap in ("bottleneck-out", "receiver")
    )
    both = sent.sort("time_ns").join(arrived, on="ip_id", how="left", maintain_order="left")
    return ((both["time_ns_right"] - both["time_ns"]) / 1e6).cast(pl.Float64).fill_null(np.nan).to_numpy()


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
