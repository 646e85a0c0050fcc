"""udp-cbr in a real run: its packets leave evenly spaced, are not mistaken for uTP, and losses are counted."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from analysis.run import Run
from analysis.run.call import opinion, rating
from tests.trial import carried_out

SCENARIO = """\
experiment: cbr
title: Two calls
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 100kbit, buffer: 5p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: call, implementation: udp-cbr, from: s1, to: d1, params: {rate: 64kbit}}
  - {name: more, implementation: udp-cbr, from: s2, to: d2, start: 5s, params: {rate: 64kbit}}
duration: 10s
captures: [bottleneck-in, bottleneck-out, sender, receiver]
"""


def test_the_rating_of_a_call_has_the_values_of_the_e_model() -> None:
    # ITU-T G.107: the default rating 93.2 and its opinion 4.41; delays below 100 ms cost nothing
    assert (rating(100, 0), round(opinion(93.2), 2)) == (93.2, 4.41)
    assert rating(400, 0) == pytest.approx(69.1, abs=0.1)
    # as many percent lost as Bpl has: half of what losses can cost
    assert rating(50, 25.1) == pytest.approx(93.2 - 95 / 2)
    assert (opinion(-5), opinion(120)) == (1, 4.5)


def test_a_call_has_its_rate_whatever_is_lost(program: Callable[[str], None], tmp_path: Path) -> None:
    program("udp-cbr")
    folder, summary = carried_out(tmp_path, SCENARIO)
    packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(
        (pl.col("tap") == "bottleneck-in") & (pl.col("flow") == "call")
    )
    # to a system call, 256 ns: whoever wakes at the same instant takes its turn
    assert (packets["time_ns"].diff().drop_nulls() - 20_000_000).abs().to_numpy().max() <= 256
    assert packets["ip_length"].unique().to_list() == [200]
    assert pl.read_parquet(folder / "columns" / "utp.parquet").is_empty()

    run = Run(folder)
    # 80 of 100 kbit/s with headers: alone nothing waits; together 60 of 160 kbit/s are lost
    assert run.drops("call").count(0, 5) == 0
    assert run.waited_ms("call").max(0, 5) < 1
    lost, lost_of_more = (run.drops(name).count(5, 10) for name in ("call", "more"))
    assert abs(lost + lost_of_more - (2 * 250 - 5 * 100_000 / (8 * 200))) < 10
    # 25 ms of way, 20 of a packet: as good as can be; then losses and a full queue
    assert run.call_mos("call", 0, 5) == pytest.approx(opinion(93.2), abs=0.001)
    rated = rating(25 + 20 + 5 * 16, 100 * lost / 250)
    assert run.call_mos("call", 5, 9.8) == pytest.approx(opinion(rated), abs=0.15)
    received = summary["flows"]["call"]["received_bytes"] / 160
    assert abs(received - (500 - lost)) <= 10  # what was under way at the end
