"""An application that pauses: what it writes leaves at its instants, and nothing in between."""

from pathlib import Path

import pytest

from analysis.run import Run
from tests.trial import carried_out

SCENARIO = """\
experiment: writes
title: An application that pauses
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 5ms, backward: 5ms}
flows:
  - {name: it, implementation: tcp-reno, from: s1, to: d1, start: 500ms, writes: {bytes: 100kB, every: 2s}}
duration: 8s
captures: [bottleneck-out]
"""


def test_it_pauses_between_its_writes(tmp_path: Path) -> None:
    folder, summary = carried_out(tmp_path, SCENARIO)
    run = Run(folder)
    for start_s in (0.5, 2.5, 4.5, 6.5):
        assert run.bytes_of("it", start_s, start_s + 0.3) == pytest.approx(100_000, rel=0.06)
        assert run.bytes_of("it", start_s + 0.3, min(start_s + 2, 8)) == 0
    assert summary["flows"]["it"]["received_bytes"] == 400_000


@pytest.mark.parametrize(("rest", "seconds"), [("bytes: 250kB", 4.5), ("bytes: 80kB", 0.5)])
def test_its_last_write_is_as_long_as_what_is_left(tmp_path: Path, rest: str, seconds: float) -> None:
    folder, summary = carried_out(tmp_path, SCENARIO.replace("writes:", f"{rest}, writes:"))
    assert summary["flows"]["it"]["received_bytes"] == int(rest.removeprefix("bytes: ").removesuffix("kB")) * 1000
    assert Run(folder).completed("it") == pytest.approx(seconds + 0.12, abs=0.1)


def test_what_the_network_did_not_take_goes_first(tmp_path: Path) -> None:
    """Then it does not pause: it has 8 Mbit/s for a link of 1."""
    folder, _ = carried_out(tmp_path, SCENARIO.replace("10mbit", "1mbit").replace("every: 2s", "every: 100ms"))
    assert Run(folder).throughput("it", 2, 8) == pytest.approx(1e6, rel=0.02)
