"""What the variants do to a link, in virtual time."""

import itertools
from collections.abc import Callable

import polars as pl
import pytest

from tests.tcp_ledbat.conftest import Run

PACKET_BITS = 1500 * 8
RATE_BPS = 10e6


def between(trace: pl.DataFrame, start_s: float, end_s: float) -> pl.DataFrame:
    """The samples of an interval."""
    return trace.filter(pl.col("t_s").is_between(start_s, end_s))


def mean_queue_pkts(run: Callable[[str], pl.DataFrame], start_s: float, end_s: float) -> float:
    return float(between(run("queue"), start_s, end_s)["backlog_pkts"].to_numpy().mean())


def rates(run: Callable[[str], pl.DataFrame], count: int, start_s: float, end_s: float) -> list[float]:
    """Each flow's acknowledged bytes in the interval."""
    acked = [between(run(f"cwnd-f{index}"), start_s, end_s)["bytes_acked"] for index in range(1, count + 1)]
    return [float(series[-1] - series[0]) for series in acked]


def jain(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))


@pytest.mark.parametrize(
    ("flow", "target_ms", "seconds"),
    [
        ("tcp-ledbat-draft00", 25, 20),
        ("tcp-ledbat-icccn", 25, 20),
        ("tcp-ledbat-ld", 25, 20),
        ("tcp-ledbat-aina", 25, 20),
        ("tcp-ledbat", 100, 90),
    ],
)
def test_the_queue_settles_at_target_within_a_packet(run: Run, flow: str, target_ms: int, seconds: int) -> None:
    done = run(flow, duration=f"{seconds}s")
    target_pkts = target_ms / 1000 * RATE_BPS / PACKET_BITS
    assert mean_queue_pkts(done, seconds - 5, seconds) == pytest.approx(target_pkts, abs=1)


@pytest.mark.parametrize("flow", ["tcp-ledbat-draft00", "tcp-ledbat-ld"])
def test_slow_start_is_over_once_delay_has_lowered_the_window(run: Run, flow: str) -> None:
    # the buffer is several targets long: half of what overflows it, the threshold from then on, is above target too
    done = run(f"{flow}, params: {{slow_start: once}}", duration="40s", buffer="200p")
    assert mean_queue_pkts(done, 35, 40) == pytest.approx(0.025 * RATE_BPS / PACKET_BITS, abs=1)


@pytest.mark.parametrize(
    "flow",
    [
        "tcp-ledbat-draft00, params: {slow_start: after-overshoot}",
        "tcp-ledbat-draft00, params: {slow_start: after-loss}",
        "tcp-reno-restart",
        "tcp-tahoe",
    ],
)
def test_slow_start_begins_again_from_one_packet_up_to_half_the_window(run: Run, flow: str) -> None:
    trace = run(flow, duration="2s", buffer="40p")("cwnd-f1")
    times, windows = trace["t_s"].to_list(), trace["cwnd_pkts"].to_list()
    overshoot = max(windows)
    lowest = windows.index(min(windows[windows.index(overshoot) :]), windows.index(overshoot))
    half = next(i for i in range(lowest, len(windows)) if windows[i] >= overshoot / 2 - 1)
    assert windows[lowest] <= 4
    # some 7 round trips of 50 to 97 ms; an additive increase would take one for each packet
    assert times[half] - times[lowest] < 0.7


@pytest.mark.parametrize(("recovery", "lowest_pkts"), [("newreno", 35), ("timeout", 1)])
def test_without_fast_retransmit_a_loss_takes_the_window_to_one_packet(
    run: Run, recovery: str, lowest_pkts: int
) -> None:
    done = run("tcp-aimd", duration="8s", buffer="40p", tcp=f"recovery: {recovery}, ")
    windows = done("cwnd-f1")["cwnd_pkts"].to_list()
    assert min(windows[windows.index(max(windows)) :]) == pytest.approx(lowest_pkts, abs=2)


@pytest.mark.parametrize("flow", ["tcp-ledbat", "tcp-ledbat-draft00", "tcp-ledbat-ld", "tcp-fledbat"])
def test_two_that_start_together_share(run: Run, flow: str) -> None:
    done = run(f"{flow}, start: 0s", f"{flow}, start: 0s")
    assert jain(rates(done, 2, 10, 30)) > 0.99


def test_a_late_comer_starves_the_first_with_linear_decrease(run: Run) -> None:
    done = run("tcp-ledbat-ld", "tcp-ledbat-ld, start: 10s", duration="60s")
    first, second = rates(done, 2, 40, 60)
    assert second / (first + second) > 0.95
    # it took the first one's queue for the path's own delay
    assert mean_queue_pkts(done, 55, 60) == pytest.approx(2 * 0.025 * RATE_BPS / PACKET_BITS, abs=2)


@pytest.mark.parametrize("flow", ["tcp-ledbat-md", "tcp-ledbat-mdvar"])
def test_a_late_comer_shares_with_multiplicative_decrease(run: Run, flow: str) -> None:
    done = run(flow, f"{flow}, start: 10s", duration="60s")
    assert jain(rates(done, 2, 40, 60)) > 0.95


@pytest.mark.parametrize(
    "flow", ["tcp-ledbat", "tcp-ledbat-draft00", "tcp-ledbat-mdvar", "tcp-ledbatpp", "tcp-fledbat"]
)
def test_it_yields_to_tcp(run: Run, flow: str) -> None:
    done = run(flow, "tcp-reno, start: 10s", duration="50s", buffer="200p")
    ledbat, tcp = rates(done, 2, 25, 50)
    assert ledbat / (ledbat + tcp) < 0.1


def test_base_delay_follows_a_decrease_at_once_and_an_increase_after_the_history(run: Run) -> None:
    events = ("at: 20s, on: path, delay: {forward: 10ms}", "at: 40s, on: path, delay: {forward: 50ms}")
    flow = "tcp-ledbat-ld, params: {base_history: 1}"
    trace = run(flow, forward="40ms", duration="65s", events=events)("cwnd-f1")

    def base_us(at_s: float) -> int:
        return int(between(trace, at_s, at_s + 0.1)["base_delay_us"][0])

    # what is seen is less the queue of 25 ms that stands at that instant, and a packet of it
    assert base_us(20.2) - base_us(19) <= -30_000 + 25_000 + 1_200
    assert base_us(59) == base_us(39)
    # what was the base may have had a queue of up to TARGET in it
    assert base_us(62) - base_us(59) >= 40_000 - 25_000


def test_two_targets_in_one_run(run: Run) -> None:
    done = run("tcp-ledbat-ld, params: {target: 15ms}", "tcp-ledbat-ld, params: {target: 40ms}")
    assert mean_queue_pkts(done, 20, 30) == pytest.approx(0.040 * RATE_BPS / PACKET_BITS, abs=2)
    first, second = rates(done, 2, 20, 30)
    assert first < 0.1 * second


def test_ledbatpp_slows_down_for_two_rtts_a_tenth_of_the_time(run: Run) -> None:
    trace = run("tcp-ledbatpp", duration="40s", sample="5ms")("cwnd-f1")
    slow = trace.with_columns(slow=(pl.col("cwnd_pkts") <= 2) & (pl.col("t_s") > 1))
    begins = slow.filter(pl.col("slow") & ~pl.col("slow").shift(1, fill_value=False))["t_s"].to_list()
    assert len(begins) >= 3
    for begin, following in itertools.pairwise(begins):
        inside = between(trace, begin, following)
        frozen_s = inside.filter(pl.col("cwnd_pkts") > 2)["t_s"][0] - begin
        assert 0.07 < frozen_s < 0.25
        climb = inside.filter((pl.col("t_s") > begin + 0.05) & (pl.col("ssthresh_pkts") > 2))
        regained = climb.filter(pl.col("cwnd_pkts") >= pl.col("ssthresh_pkts"))
        length_s = regained["t_s"][0] - begin
        # the climb's end is noticed with the next ACK, and the next slowdown begins with a round trip of its own
        assert following - begin == pytest.approx(10 * length_s, rel=0.05)
