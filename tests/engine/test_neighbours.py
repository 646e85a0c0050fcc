"""What a home does beside its downloads, in real runs: video, a call, a game and names that are looked up."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.run import Run
from tests.trial import carried_out

SCENARIO = """\
experiment: neighbours
title: A home, first alone, then over a tenth of its rate
topology: {name: dumbbell, pairs: 3}
bottleneck: {rate: 10mbit, buffer: 50p}
backward_bottleneck: {rate: 2mbit, buffer: 50p}
delay: {forward: 20ms, backward: 20ms}
flows:
  - {name: video, implementation: video, from: s1, to: d1}
  - {name: game, implementation: udp-cbr, from: s2, to: d2, params: {rate: 76800bit}}
  - {name: names, implementation: dns, from: d3, to: s3, params: {gap: 100ms}}
events:
  - {at: 40s, on: bottleneck, rate: 1mbit}
  - {at: 40s, on: path, pairs: [3], loss: {forward: 10%}}
duration: 100s
captures: [sender, receiver]
"""

FACE = """\
experiment: face
title: The video of a call, first alone, then over less than it wants, then over nothing for 3 s
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 20ms, backward: 20ms}
flows: [{name: face, implementation: video-call, from: s1, to: d1}]
events:
  - {at: 20s, on: bottleneck, rate: 1200kbit}
  - {at: 60s, on: bottleneck, rate: 10mbit}
  - {at: 80s, on: path, suspension: {forward: 20s}}
duration: 110s
captures: [sender, receiver, bottleneck-out]
"""


@pytest.fixture(scope="module")
def ran(program: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    """The run, and its summary."""
    for name in ("video", "udp-cbr", "dns"):
        program(name)
    folder, summary = carried_out(tmp_path_factory.mktemp("neighbours"), SCENARIO)
    return Run(folder), summary


def test_a_viewer_takes_the_highest_rate_that_the_link_carries(ran: tuple[Run, dict[str, Any]]) -> None:
    run, summary = ran
    # of 10 Mbit/s, 0.8 of what TCP gets; 7.8 would be too much
    assert run.video_bps("video", 5, 30) == pytest.approx(6e6)
    assert run.stalled_s("video", 0, 38) == 0
    assert summary["flows"]["video"]["received_bytes"] > 30 * 6e6 / 8


def test_a_viewer_stalls_when_the_rest_takes_longer_than_what_is_loaded(ran: tuple[Run, dict[str, Any]]) -> None:
    run, _ = ran
    # 3 MB for a segment take over 24 s, and at most 20 s are loaded
    assert 3 < run.stalled_s("video", 40, 80) < 25
    assert run.stalled_s("video", 40, 80) == pytest.approx(
        sum(run.stalled_s("video", start, start + 10) for start in range(40, 80, 10))
    )
    assert run.video_bps("video", 70, 95) < 0.8e6


def test_a_game_has_its_ticks_and_their_delay(ran: tuple[Run, dict[str, Any]]) -> None:
    run, summary = ran
    assert summary["flows"]["game"]["received_bytes"] / 160 == pytest.approx(60 * 100, rel=0.3)
    assert run.lost_share("game", 0, 30) == 0
    # beside video that fills the link at times: 50 packets of 1.2 ms, later of 12 ms
    assert 20 < run.packet_delay_ms("game", 50, 0, 30) < 20 + 62
    assert run.packet_delay_ms("game", 50, 45, 60) > 20 + 300
    assert run.lost_share("game", 45, 60) > 0


def test_names_take_a_round_trip_or_five_seconds_more(ran: tuple[Run, dict[str, Any]]) -> None:
    run, summary = ran
    assert run.objects("names", 0, 40) == pytest.approx(400, rel=0.2)
    assert summary["flows"]["names"]["received_bytes"] / 40 == run.objects("names")
    assert run.object_s("names", 1, 0, 38) == pytest.approx(0.04, abs=0.002)
    assert run.object_s("names", 99, 45, 80) > 5


def test_a_face_has_the_rate_that_losses_and_delay_allow(program: Callable[[str], None], tmp_path: Path) -> None:
    program("video-call")
    run = Run(carried_out(tmp_path, FACE)[0])
    # 2.5 Mbit/s of payload, in packets of 1200 bytes with a header of 24 and 28 of UDP and IP
    assert run.throughput("face", 10, 20) == pytest.approx(2.5e6 * 1228 / 1176, rel=0.05)
    assert run.lost_share("face", 0, 19) == 0
    assert run.packet_delay_ms("face", 100, 0, 19) < 20 + 15  # the 9 packets of a frame wait for each other
    # a rung below the rate, with a step up now and then
    assert 0.5e6 < run.throughput("face", 35, 60) < 1.2e6
    assert run.packet_delay_ms("face", 50, 35, 60) < 20 + 150
    # a path that holds packets for 20 s loses none
    assert run.packet_delay_ms("face", 100, 80, 100) == pytest.approx(20e3, rel=0.01)
    assert run.lost_share("face", 80, 105) == 0
    assert run.throughput("face", 101, 110) > 0.15e6
