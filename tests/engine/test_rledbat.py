"""rLEDBAT at the receiver: a download fills an idle link up to its target and yields, whatever its sender does.

The rules are those of RFC 9840 as ns-3's model and its authors quote them.
"""

from pathlib import Path

import pytest

from analysis.run import Run
from tests.trial import carried_out

SCENARIO = """\
experiment: rledbat
title: A download
topology: {{name: dumbbell, pairs: 2}}
bottleneck: {{rate: 10mbit, buffer: {buffer}}}
delay: {{forward: 20ms, backward: 20ms}}
flows:
  - {{name: low, implementation: {{sender: {sender}, receiver: {receiver}}}, from: s1, to: d1}}
{more}
duration: {duration}
captures: [sender, bottleneck-out, receiver]
"""
CUBIC = "  - {name: cubic, implementation: tcp-cubic, from: s2, to: d2, start: 20s, stop: 50s}"
TARGET_MS = 60
PACKET_MS = 1.2


def _run(
    folder: Path,
    sender: str = "tcp-cubic",
    receiver: str = "tcp-rledbat",
    more: str = "",
    duration: str = "20s",
    buffer: str = "200p",
) -> Run:
    text = SCENARIO.format(sender=sender, receiver=receiver, more=more, duration=duration, buffer=buffer)
    return Run(carried_out(folder, text)[0])


@pytest.mark.parametrize("sender", ["tcp-cubic", "tcp-bbr"])
def test_a_download_takes_what_others_leave(tmp_path: Path, sender: str) -> None:
    run = _run(tmp_path, sender, more=CUBIC, duration="80s")
    for start, end in ((5, 20), (65, 80)):
        # slowdowns take a tenth of its time at most
        assert run.throughput("low", start, end) > 9e6
        assert run.queue_ms.max(start, end) < TARGET_MS + 3 * PACKET_MS
    # two packets in a full queue of 240 ms
    assert run.throughput("low", 30, 50) < 0.12e6
    assert run.throughput("cubic", 30, 50) > 9.8e6
    assert run.throughput("low", 55, 60) > 9e6


def test_without_the_receivers_module_it_yields_nothing(tmp_path: Path) -> None:
    run = _run(tmp_path, receiver="tcp-cubic", more=CUBIC, duration="50s")
    assert run.queue_ms.max(5, 20) > 2 * TARGET_MS
    assert run.throughput("low", 30, 50) > 2e6


def test_a_later_download_does_not_take_the_queue_of_an_earlier_one_for_the_path(tmp_path: Path) -> None:
    # without slowdowns the earlier one kept 1 %, and the queue was 106 ms
    later = (
        "  - {name: later, implementation: {sender: tcp-cubic, receiver: tcp-rledbat}, from: s2, to: d2, start: 10s}"
    )
    run = _run(tmp_path, more=later, duration="80s")
    assert run.throughput("low", 60, 80) > 2e6
    assert run.queue_ms.max(20, 80) < TARGET_MS + 12 * PACKET_MS


def test_a_loss_halves_its_window(tmp_path: Path) -> None:
    # BBR does not heed it
    run = _run(tmp_path, "tcp-bbr", more="events: [{at: 10s, on: path, loss: {forward: 1%}}]", duration="30s")
    assert run.throughput("low", 5, 10) > 9e6
    assert run.throughput("low", 15, 30) < 5e6


def test_with_less_room_than_its_target_it_is_another_reno(tmp_path: Path) -> None:
    run = _run(tmp_path, more=CUBIC, duration="50s", buffer="20p")
    assert 0.3 < run.throughput("low", 30, 50) / 10e6 < 0.7


@pytest.mark.parametrize("side", ["timestamps", "receiver_timestamps"])
def test_without_time_stamps_it_leaves_the_window_alone(tmp_path: Path, side: str) -> None:
    run = _run(tmp_path, more=f"tcp: {{{side}: none}}")
    assert run.queue_ms.max(5, 20) > 2 * TARGET_MS
