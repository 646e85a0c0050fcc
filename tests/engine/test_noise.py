"""Hosts that wake up late: packets leave as late as the distribution says, and other seeds draw other numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from engine.run import execute
from scenarios import late
from scenarios.resolve import expand, resolve
from tests.trial import carried_out, trial

SCENARIO = """\
experiment: noise
title: A game whose host wakes up late
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 50p}
delay: {forward: 5ms, backward: 5ms}
noise: [{host: s1, late: busy}]
flows:
  - {name: game, implementation: udp-cbr, from: s1, to: d1, params: {rate: 76800bit}}
duration: 40s
captures: [sender]
"""
NS = 1_000_000_000


def test_packets_leave_late(tmp_path: Path, program: Callable[[str], None]) -> None:
    program("udp-cbr")
    noisy, _ = carried_out(tmp_path / "noisy", SCENARIO)
    plain, _ = carried_out(tmp_path / "plain", SCENARIO.replace("noise: [{host: s1, late: busy}]\n", ""))
    late_ns = np.sort((_leaves(noisy) - _leaves(plain)).to_numpy())
    assert len(late_ns) == 40 * 60
    steps = {str(share_ppm): ns for share_ppm, ns in late.distribution("busy")}
    assert late_ns[0] >= steps["0"]
    assert np.median(late_ns) == pytest.approx(steps["500000"], rel=0.05)
    assert steps["900000"] < np.quantile(late_ns, 0.94) < steps["980000"]


def _leaves(folder: Path) -> pl.Series:
    packets = pl.read_parquet(folder / "columns" / "packets.parquet")
    return packets.filter(pl.col("tap").cast(pl.String) == "sender", "forward")["time_ns"]


def test_a_seed_repeats_and_another_does_not(tmp_path: Path) -> None:
    text = SCENARIO.replace("game, implementation: udp-cbr", "it, implementation: tcp-bbr")
    text = text.replace(", params: {rate: 76800bit}", "").replace("40s", "3s")
    both = "[{host: s1, late: busy}, {host: d1, late: busy}]"
    (cell,) = expand(trial(tmp_path, text.replace("[{host: s1, late: busy}]", both)), "complete")
    digests = [execute(resolve(cell, seed), tmp_path / str(turn))["digests"] for turn, seed in enumerate((1, 1, 2))]
    assert digests[0] == digests[1] != digests[2]
