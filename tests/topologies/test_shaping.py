"""The words given to tc: rate and queue on one interface, delay on another."""

import pytest

from topologies.links.base import Bottleneck
from topologies.links.netem import ImpairedLink, Propagation
from topologies.links.queues import QUEUES, ManagedBottleneck


def test_a_bottleneck_counts_ip_bytes_and_waiting_packets() -> None:
    qdisc, shaper, fifo = Bottleneck(10_000_000, 40).add("r1-r2")
    assert "stab overhead -14" in qdisc
    assert "rate 10000000bit burst 1b cburst 1b" in shaper
    assert fifo.endswith("pfifo limit 40")


def test_a_bottleneck_is_changed_in_place() -> None:
    lines = Bottleneck(5_000_000, 20).change("r1-r2")
    assert [line.split()[1] for line in lines] == ["change", "change"]
    assert "rate 5000000bit" in lines[0]
    assert "limit 20" in lines[1]


def test_propagation_is_a_delay_that_never_drops_by_itself() -> None:
    (line,) = Propagation(25_000_000).add("r2-d1")
    assert "delay 25000000ns" in line
    assert "rate" not in line
    assert "loss" not in line
    assert "limit 1000000" in line


def test_jitter_and_loss_are_said_only_where_there_are_any() -> None:
    (line,) = Propagation(20_000_000, jitter_ns=5_000_000, loss_ppm=10_000).change("r2-d1")
    assert "delay 20000000ns 5000000ns" in line
    assert "loss 1.0000%" in line


def test_bursts_have_the_losses_that_independent_losses_have() -> None:
    bursts = ImpairedLink(20_000_000, loss_ppm=50_000, burst_pkts=8)
    assert "loss gemodel 0.6579% 12.5000%" in bursts.change("r2-d1")[0]
    begins, ends = (bursts.values()[f"burst_{what}_ppm"] for what in ("begins", "ends"))
    assert begins / (begins + ends) == pytest.approx(0.05, rel=0.001)
    assert bursts.values()["loss_ppm"] == 0


def test_buckets_hold_what_the_link_carries_while_the_limiter_is_late() -> None:
    def bucket(rate_bps: int) -> str:
        return Bottleneck(rate_bps, 40).add("r1-r2")[1].split(" burst ")[1].split()[0]

    assert [bucket(10**exponent) for exponent in (3, 6, 7)] == ["1b", "1b", "1b"]
    # 1 us of the rate, below a packet at all rates
    assert [bucket(10**exponent) for exponent in (8, 9, 10)] == ["13b", "125b", "1250b"]


def test_whole_nanoseconds_are_exact_enough() -> None:
    for rate_bps in (1000, 64_000, 10**7, 10**8, 3 * 10**8, 10**9, 2_500_000_000, 5 * 10**9, 10**10):
        assert abs(Bottleneck(rate_bps, 40).rate_error) < 0.0001
    assert Bottleneck(1007, 40).rate_error == pytest.approx(-0.007, rel=0.01)
    assert Bottleneck(7 * 10**9, 40).rate_error == pytest.approx(0.000167, rel=0.01)


def test_every_queue_sits_below_the_same_limiter() -> None:
    limiter = Bottleneck(10_000_000, 40).add("r1-r2")[:2]
    for name, kind in QUEUES.items():
        params = {parameter: spec.default or 5 for parameter, spec in kind.parameters.items()}
        *above, queue = ManagedBottleneck(10_000_000, 40, 0, name, params).add("r1-r2")
        assert above == limiter
        assert f"handle 10: {kind.kernel_name}" in queue


def test_parameters_are_compared_as_the_kernel_rounds_them() -> None:
    params = {"target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": True}
    codel = ManagedBottleneck(10_000_000, 40, 0, "codel", params)
    assert codel.add("r1-r2")[2].endswith("codel limit 40 target 5000us interval 100000us ecn")
    assert codel.values()["target_ns"] == 4999


def test_red_gets_its_packets_as_bytes_of_the_link() -> None:
    params = {"min_pkts": 10, "max_pkts": 30, "probability_ppm": 20_000, "ecn": False}
    red = ManagedBottleneck(10_000_000, 100, 38, "red", params)
    assert "limit 153800 min 15380 max 46140 avpkt 1538 burst 17 probability 0.02" in red.add("r1-r2")[2]
    assert red.values()["max_bytes"] == 46140
