"""The module on hosts as they are: segmentation offload, clocks that are coarse, differ or say nothing."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from engine import images
from images import index
from tests.tcp_ledbat.conftest import Run
from tests.tcp_ledbat.test_behaviour import PACKET_BITS, RATE_BPS, between, rates

# What a sender and a receiver stamp their packets in.
CLOCKS = (("1us", "1us"), ("1ms", "1ms"), ("1us", "1ms"), ("1ms", "1us"), ("1us", "none"), ("1ms", "none"))


def acked_bps(trace: pl.DataFrame, start_s: float, end_s: float) -> float:
    part = between(trace, start_s, end_s)
    return float(8e9 * (part["bytes_acked"][-1] - part["bytes_acked"][0]) / (part["time_ns"][-1] - part["time_ns"][0]))


@pytest.mark.parametrize("control", ["tcp-ledbat", "tcp-ledbat-ld", "tcp-ledbatpp"])
def test_offload_does_not_hold_the_window_back(run: Run, control: str) -> None:
    # before, `ledbat` stopped at 29 Mbit/s: a segment that waits to be filled passed for a window that is not used
    path = {"rate": "50mbit", "buffer": "1000p", "duration": "60s", "more": "offload: true"}
    alone = acked_bps(run(control, **path)("cwnd-f1"), 40, 60)
    slowdowns = 0.9 if control == "tcp-ledbatpp" else 1  # LEDBAT++ spends up to a tenth of its time on them
    assert alone > 0.95 * slowdowns * 50e6 * 1448 / 1500


def test_slow_start_leaves_the_queue_below_the_target(run: Run) -> None:
    # before, a window that was twice as large as the delay had told left 150 ms of queue for minutes
    path = {"rate": "100mbit", "buffer": "1700p", "forward": "1ms", "duration": "8s", "more": "offload: true"}
    done = run("tcp-ledbat, params: {slow_start: once}", tcp="after_idle: restart, ", **path)
    queue_ms = between(done("queue"), 4, 8)["backlog_pkts"].to_numpy() * 0.12
    assert queue_ms.max() < 100
    assert acked_bps(done("cwnd-f1"), 4, 8) > 0.95 * 100e6 * 1448 / 1500


@pytest.mark.parametrize("control", ["tcp-ledbat", "tcp-ledbat-ld"])
def test_it_yields_whatever_clocks_the_hosts_have(run: Run, control: str) -> None:
    shares = {}
    for sender, receiver in CLOCKS:
        tcp = f"timestamps: {sender}, receiver_timestamps: {receiver}, "
        done = run(control, "tcp-cubic, start: 30s", duration="60s", buffer="200p", tcp=tcp)
        low, cubic = rates(done, 2, 45, 60)
        shares[sender, receiver] = low / (low + cubic)
    # a window of two packets in a full queue is a twelfth of the link here
    assert max(shares.values()) < 1.5 * shares["1us", "1us"] + 0.02, shares


def test_two_targets_on_one_host(in_guest: Callable[[images.Images, Path], Path]) -> None:
    results = in_guest(images.load(index.BOOT), Path(__file__).with_name("two_targets.py"))
    document = json.loads((results / "logs" / "two_targets.json").read_text())
    # one by its route, one by its socket
    assert document["controls"] == ["mirror", "backup"]
    for name, target_ms in (("mirror", 20), ("backup", 60)):
        assert np.mean(document["queues"][name]) == pytest.approx(target_ms / 1000 * RATE_BPS / PACKET_BITS, abs=1)
