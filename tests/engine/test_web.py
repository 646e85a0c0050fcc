"""web in a real run: its load, its sizes, and the time that each object takes."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from analysis.run import Run
from tests.trial import carried_out

SCENARIO = """\
experiment: web
title: Readers of web pages, later beside a bulk transfer
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 200p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: pages, implementation: web, from: s1, to: d1, params: {load: 2mbit, size: 30kB}}
  - {name: bulk, implementation: tcp-cubic, from: s2, to: d2, start: 60s}
duration: 120s
captures: [sender]
"""


def test_web_objects_have_their_load_sizes_and_times(program: Callable[[str], None], tmp_path: Path) -> None:
    program("web")
    folder, summary = carried_out(tmp_path, SCENARIO)
    run = Run(folder)
    # 2 Mbit/s in objects of 30 kB: 8.3 a second. The mean of 1,000 heavy-tailed sizes is uncertain
    assert run.objects("pages", 0, 110) == pytest.approx(110 * 2e6 / 8 / 30e3, rel=0.15)
    assert summary["flows"]["pages"]["received_bytes"] == pytest.approx(120 * 2e6 / 8, rel=0.4)
    # alone, the smallest object takes two round-trip times: one to connect, one for the object and its answer
    assert 0.1 < run.object_s("pages", 1, 0, 55) < 0.11
    assert run.object_s("pages", 50, 0, 55) < 0.4
    # beside a queue of up to 240 ms
    assert run.object_s("pages", 50, 65, 110) > 1.5 * run.object_s("pages", 50, 0, 55)
    packets = pl.read_parquet(folder / "columns" / "packets.parquet")
    sent = packets.filter((pl.col("flow") == "pages") & pl.col("forward"))
    sizes = sent.group_by("sport").agg(pl.col("payload_bytes").cast(pl.Int64).sum())["payload_bytes"]
    # the median of the bounded Pareto distribution, 1.78 times the smallest, and a tail of large ones
    assert sizes.median() == pytest.approx(30e3 / 4.49 * 2 ** (1 / 1.2), rel=0.15)
    assert sizes.to_numpy().max() > 10 * 30e3
