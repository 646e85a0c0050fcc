"""Emulated TCPs offer the receive windows of the systems they stand for."""

from pathlib import Path

import polars as pl
import pytest

from analysis.capture import pcap
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: window
title: One TCP flow
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: tcp, implementation: IMPLEMENTATION, from: s1, to: d1}]
duration: 10s
captures: [receiver]
keep_captures: true
"""


@pytest.mark.parametrize(("implementation", "window_bytes"), [("tcp-w", 17_520), ("tcp-w-10220", 10_220)])
def test_windows_xp_offers_its_window(tmp_path: Path, implementation: str, window_bytes: int) -> None:
    (cell,) = expand(trial(tmp_path, SCENARIO.replace("IMPLEMENTATION", implementation)), "complete")
    summary = execute(resolve(cell, 1), tmp_path)
    captures = list((run_folder(tmp_path, cell, 1) / "pcap").glob("receiver*.pcap"))
    packets = pl.concat([pcap.read(path).packets for path in captures])
    offered = packets.filter((pl.col("sport") == 5001) & (pl.col("time_ns") > pl.col("time_ns").min() + 10**9))
    assert (offered["window"] == window_bytes).to_numpy().mean() > 0.99
    # at most a window each round trip; with delayed ACKs, the last of an odd number of segments waits
    rate_bps = 8 * summary["flows"]["tcp"]["received_bytes"] / 10
    assert 0.8 < rate_bps / (8 * window_bytes / 0.0512) <= 1.0
