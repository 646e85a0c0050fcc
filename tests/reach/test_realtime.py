"""Virtual time beside real time: the page's table, and a run on the host's own kernel."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from scenarios.resolve import expand
from tests.reach.realtime import __main__ as realtime

PAGE = Path(__file__).parents[2] / "docs" / "results" / "real-time.md"


def test_the_page_shows_what_was_recorded() -> None:
    recorded = json.loads(realtime.RECORDED.read_text())
    assert realtime.table(recorded) in PAGE.read_text()
    assert realtime.changed(recorded) in PAGE.read_text()


@pytest.mark.parametrize("kind", realtime.KINDS)
def test_each_case_is_recorded(kind: str) -> None:
    cells = expand(realtime.FOLDER / realtime.KINDS[kind], "complete")
    recorded = json.loads(realtime.RECORDED.read_text())[kind]
    assert list(recorded) == [cell.name.removeprefix("case=") for cell in cells]


@pytest.mark.skipif(not os.access("/dev/net/tun", os.W_OK), reason="needs /dev/net/tun")
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a compiler")
def test_a_flow_fills_the_path_in_both_times(tmp_path: Path) -> None:
    cell = expand(realtime.FOLDER / "scenarios.yaml", "complete")[0]
    short = replace(cell, settings={**cell.settings, "duration_ns": 14 * 10**9})
    for flow in short.settings["flows"]:
        flow["stop_ns"] = 14 * 10**9
    run, virtual = realtime.in_virtual_time(short, 1, tmp_path / "runs")
    real = realtime.in_real_time(run, realtime.build_wire(tmp_path))
    for side in (virtual, real):
        assert side.mbit_s["cubic"] == pytest.approx(10, rel=0.02)
    assert real.late_ms is not None
