"""Hosts with clocks of their own: what packets show of them, and what delay-based senders make of that.

Of two runs that differ in clocks alone, the network is the same to the byte: both have the relays.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis.capture.columns import write_columns
from engine.errors import EngineError
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.trial import trial

TWO_FLOWS = """\
experiment: wire
title: Four clocks
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 25ms, backward: 25ms}
clocks:
  - {host: s1, offset: 3s, skew: 500ppm}
  - {host: d1, offset: -2s, skew: -500ppm}
  - {host: s2, skew: -1000ppm}
  - {host: d2, offset: 90min}
flows:
  - {name: utp, implementation: libutp, from: s1, to: d1}
  - {name: tcp, implementation: tcp-cubic, from: s2, to: d2}
duration: 5s
captures: [bottleneck-in, backward-in, sender]
keep_captures: true
"""
# host: offset, us, and skew, ppm
CLOCKS = {"s1": (3_000_000, 500), "d1": (-2_000_000, -500), "s2": (0, -1000), "d2": (0, 0)}
ADDRESSES = {4: "10.{}.{}.1", 6: "fd00:{}:{}::1"}
TARGET_MS, SKEW_PPM = 30, 1000
ONE_FLOW = f"""\
experiment: drift
title: One flow
topology: {{name: dumbbell, pairs: 1}}
bottleneck: {{rate: 10mbit, buffer: 200p}}
delay: {{forward: 25ms, backward: 25ms}}
flows: [{{name: flow, implementation: NAME, from: s1, to: d1, params: {{target: {TARGET_MS}ms}}}}]
duration: DURATION
captures: [bottleneck-out]
"""
SENDERS = ("libutp", "tcp-ledbat")


@pytest.fixture
def carry_out(program: Callable[[str], None], tmp_path: Path) -> Callable[[str, str], tuple[Path, Any]]:
    """Runs a scenario into a separate folder; returns the run's folder and the summary."""

    def run(text: str, into: str) -> tuple[Path, Any]:
        program("libutp")
        (cell,) = expand(trial(tmp_path / into, text), "complete")
        summary = execute(resolve(cell, 1), tmp_path / into)
        return run_folder(tmp_path / into, cell, 1), summary

    return run


def one_flow(name: str, clocks: str, duration: str = "20s") -> str:
    return ONE_FLOW.replace("NAME", name).replace("DURATION", duration) + clocks


def queue_ms(folder: Path, start_s: float, end_s: float) -> float:
    """Mean time that the bottleneck's queue would take to drain."""
    write_columns(folder)
    queue = pl.read_parquet(folder / "columns" / "queue.parquet").filter(
        pl.col("time_ns").is_between(int(start_s * 1e9), int(end_s * 1e9))
    )
    return float(8e3 * queue["backlog_bytes"].cast(pl.Float64).mean() / 10e6)  # type: ignore[arg-type, operator]


@pytest.mark.parametrize("version", ADDRESSES)
def test_timestamps_on_the_wire_are_those_of_the_clocks(
    carry_out: Callable[[str, str], tuple[Path, Any]], version: int
) -> None:
    folder, summary = carry_out(f"{TWO_FLOWS}ip: {version}\n", "run")
    assert summary["flows"]["utp"]["received_bytes"] > 0 < summary["flows"]["tcp"]["received_bytes"]
    assert write_columns(folder) == []
    run_ns = 1_000_000_030_000_000_000  # zero of the scenario, CLOCK_REALTIME
    seen = pl.read_parquet(folder / "columns" / "packets.parquet").filter(pl.col("time_ns") > 0)
    utp = pl.read_parquet(folder / "columns" / "utp.parquet")
    assert len(utp) > 500
    at_bottleneck = seen.filter(pl.col("tap").cast(pl.String).is_in(["bottleneck-in", "backward-in"]))
    for host, (offset_us, skew_ppm) in CLOCKS.items():
        address = ADDRESSES[version].format("sd".index(host[0]), host[1])
        packets = at_bottleneck.filter(pl.col("src").cast(pl.String) == address, pl.col("tsval") > 0)
        assert len(packets) > 300
        behind_us = [
            (stamp - (run_ns + at_ns) // 1000 - skew_ppm * at_ns // 10**9 - offset_us) % 2**32
            for at_ns, stamp in packets.select("time_ns", "tsval").iter_rows()
        ]
        # uTP has the clock itself, TCP's begins at random; a packet is here some microseconds after it was stamped
        zero_us = 0 if host in ("s1", "d1") else behind_us[0]
        off_us = [(value - zero_us + 2**31) % 2**32 - 2**31 for value in behind_us]
        assert max(map(abs, off_us)) <= 30
    tcp = at_bottleneck.filter(pl.col("flow").cast(pl.String) == "tcp")
    for there in (True, False):  # each echo is a timestamp as it came; the first packet has none
        assert set(tcp.filter(pl.col("forward") == there)["tsecr"]) - {0} <= set(
            tcp.filter(pl.col("forward") != there)["tsval"]
        )
    # what a host sends is captured as others see it
    assert set(seen.filter(pl.col("tap").cast(pl.String) == "sender", pl.col("forward"))["tsval"]) == set(
        at_bottleneck.filter(pl.col("forward"))["tsval"]
    )


@pytest.mark.parametrize("name", SENDERS)
def test_an_offset_changes_nothing(carry_out: Callable[[str, str], tuple[Path, Any]], name: str) -> None:
    """RFC 6817, appendix A.1: an offset cancels in the difference of two one-way delays."""
    seen = []
    for offset in ("0s", "3s", "-90min"):
        clocks = f"clocks: [{{host: d1, offset: {offset}}}]\n"
        folder, summary = carry_out(one_flow(name, clocks, duration="10s"), offset)
        assert write_columns(folder) == []
        seen.append(pl.read_parquet(folder / "columns" / "packets.parquet"))
    for packets in seen[1:]:
        assert packets["ip_length"].equals(seen[0]["ip_length"])
        # a system call takes 256 ns, and with the digits of the offset the sender's log becomes longer
        assert (packets["time_ns"] - seen[0]["time_ns"]).abs().max() < 5_000  # type: ignore[operator]
    # without relays a packet takes 1 us less at each of two ends: all in all less than one packet's time, 1.2 ms
    plain, at_once = carry_out(one_flow(name, "", duration="10s"), "plain")
    assert queue_ms(plain, 8, 10) == pytest.approx(queue_ms(folder, 8, 10), abs=1.2)
    received = [outcome["flows"]["flow"]["received_bytes"] for outcome in (summary, at_once)]
    assert received[0] == pytest.approx(received[1], rel=0.005)


@pytest.mark.parametrize("name", SENDERS)
def test_a_skew_moves_the_queue_unless_it_is_corrected(
    carry_out: Callable[[str, str], tuple[Path, Any]], name: str
) -> None:
    """RFC 6817, appendix A.2: a skew is an error that grows in time, as long as the base delay stays the same one.

    A receiver's clock that is faster by s makes the queue seem longer by s * t, so it is kept shorter. libutp raises
    its base delay by what that of the reverse path falls, and the module's `ledbat` believes in no more queuing delay
    than the round-trip time has grown by: both correct a faster receiver, not a slower one.
    """
    grown_ms = {}
    for ppm in (0, SKEW_PPM, -SKEW_PPM):
        clocks = f"clocks: [{{host: s1, skew: {-ppm // 2}ppm}}, {{host: d1, offset: 3s, skew: {ppm // 2}ppm}}]\n"
        folder, _ = carry_out(one_flow(name, clocks), str(ppm))
        grown_ms[ppm] = queue_ms(folder, 17.5, 20) - queue_ms(folder, 12.5, 15)
    drift_ms = SKEW_PPM * 5 / 1000
    # a packet's time, 1.2 ms, is the step of the window that keeps the queue
    assert grown_ms[0] == pytest.approx(0, abs=1.2)
    assert grown_ms[-SKEW_PPM] == pytest.approx(drift_ms, abs=1.2)
    assert grown_ms[SKEW_PPM] == pytest.approx(0 if name in ("libutp", "tcp-ledbat") else -drift_ms, abs=1.2)


@pytest.mark.parametrize(
    ("name", "step_ms", "longer_ms"), [("libutp", 15, -15), ("libutp", -15, 15), ("tcp-ledbat", -15, 15)]
)
def test_a_clock_that_is_set_moves_the_queue_at_once(
    carry_out: Callable[[str, str], tuple[Path, Any]], name: str, step_ms: int, longer_ms: int
) -> None:
    clocks = f"clocks: [{{host: d1, steps: [{{at: 10s, by: {step_ms}ms}}]}}]\n"
    folder, _ = carry_out(one_flow(name, clocks), "run")
    assert queue_ms(folder, 15, 20) - queue_ms(folder, 5, 10) == pytest.approx(longer_ms, abs=3)


def test_same_seed_same_bytes(carry_out: Callable[[str, str], tuple[Path, Any]]) -> None:
    first, again = (carry_out(TWO_FLOWS, into)[1]["digests"] for into in ("first", "again"))
    assert first == again
    assert "pcap/sender.s1-relay-eth1.pcap" in first


def test_a_relay_that_ends_too_early_is_named(
    carry_out: Callable[[str, str], tuple[Path, Any]], sabotage: Callable[[str, str, str], None]
) -> None:
    # its end: some seconds after the start of the scenario
    sabotage("engine/guest/network.py", "command = [tool", 'command = ["timeout", "32", tool')
    with pytest.raises(EngineError, match="the relay of s1 ended with 124"):
        # without captures: theirs is the first check
        carry_out(one_flow("tcp-ledbat", "clocks: [{host: s1, offset: 3s}]\n").replace("[bottleneck-out]", "[]"), "run")
