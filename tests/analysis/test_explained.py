"""The page that explains LEDBAT, of two real runs: its curves, what it says of them, and its packets."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.report.explained import explained
from analysis.report.packets import packets, watched
from analysis.runs import Runs
from tests.analysis.browser import PHONE, chromium, invalid, opened, serious

ROOT = Path(__file__).parents[2]
STUDY = ROOT / "workflows/studies/explained"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("explained")
    command = [str(Path(sys.executable).with_name("testbed")), "run", str(STUDY / "ten-minutes.yaml")]
    cells = [f"--cell=case={case},target=60ms,buffer=30p" for case in ("tcp", "late-comer")]
    subprocess.run([*command, *cells, "--into", str(results / "runs")], check=True, cwd=ROOT)
    options = ["--runs", str(results / "runs"), "--out", str(results / "experiments")]
    assert main(["columns", *map(str, (results / "runs").glob("*/*/*/*"))]) == 0
    assert main(["measure", str(STUDY / "ten-minutes.claims.yaml"), *options]) == 0
    assert main(["figure", "explained-ten-minutes", *options]) == 0
    assert main(["report", "--results", str(results), "--out", str(results / "report")]) == 0
    return results / "report"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


def test_the_numbers_are_those_of_the_runs(report: Path) -> None:
    data = explained(report.parent / "runs")
    assert data is not None
    run = data["runs"]["late-comer/60/30"]
    assert 50 < run["alone"]["queue_ms"] < 70  # the target
    assert run["beside"]["queue_ms"] == pytest.approx(2 * run["alone"]["queue_ms"], rel=0.1)
    first, late = run["flows"]
    # the path, without a queue; turning to stamps, the module may err by a packet (6 ms) until TCP stops
    bases = [base for base in first["base_ms"] if base is not None]
    path_ms = data["rtt_ms"] / 2
    assert bases[:40] == pytest.approx([path_ms] * 40, abs=1)
    assert bases == pytest.approx([path_ms] * len(bases), abs=6 + 1)
    assert max(base for base in late["base_ms"] if base is not None) > 60


def test_the_packets_are_those_of_the_run(report: Path) -> None:
    [(kind, data), (late, _)] = watched(report.parent / "runs")
    assert (kind.name, late.name) == ("tcp", "late-comer")
    assert len(data["gap"]) == len(data["wait"]) == len(data["owner"])
    came = np.cumsum(data["gap"]) / 1e4
    owner, is_dropped = np.array(list(data["owner"])), np.array(data["wait"]) < 0
    [run] = [
        run
        for run in Runs(report.parent / "runs").by_cell_and_seed(kind.experiment).values()
        if "tcp" in run.settings.cell
    ]
    assert came[owner == "1"][0] == pytest.approx(run.start("tcp"), abs=0.05)
    assert came[is_dropped] == pytest.approx(run.drops().times, abs=1e-4)
    # one that comes now waits behind all that came before and have not left
    now = 15.0
    waiting = np.sum((came <= now) & (came + np.array(data["wait"]) / 1e4 > now))
    assert waiting == pytest.approx(run.queue_pkts.at(now), abs=1)
    assert [flow["label"] for flow in data["flows"]] == ["LEDBAT", "TCP"]


def test_packets_of_a_part_begin_with_those_that_wait_already(report: Path) -> None:
    run = next(iter(Runs(report.parent / "runs").by_cell_and_seed("explained-ten-minutes").values()))
    part = packets(run, 15.0, 16.0)
    came = np.cumsum(part["gap"]) / 1e4
    assert came[0] < 15 < came[0] + part["wait"][0] / 1e4
    assert came[-1] < 16 and part["until_s"] < 16


def test_a_kind_of_run_is_a_small_file(report: Path) -> None:
    sizes = [file.stat().st_size for file in report.glob("packets-*.js")]
    assert len(sizes) == 2
    assert max(sizes) < 300_000


def test_the_page_shows_them(report: Path, browser: Any) -> None:
    page = opened(browser, report / "explained.html")
    assert re.match(r"Alone, LEDBAT keeps a queue of 6\d ms .* packets are dropped", page.locator("#said").inner_text())
    page.locator("[value=late-comer]").first.check()
    assert "Beside the late-comer" in page.locator("#said").inner_text()
    assert page.url.endswith("?case=late-comer&target=60&buffer=30")
    again = opened(browser, report / "explained.html", "?case=late-comer&run=late-comer")
    assert "Beside the late-comer" in again.locator("#said").inner_text()
    assert again.locator("#watched").input_value() == "late-comer"
    assert page.locator("#curves path.line").count() == 5
    assert serious(page) == []
    assert page.said == []
    assert invalid(report, "explained.html") == ""


def test_the_scrubber_shows_whose_packets_wait(report: Path, browser: Any) -> None:
    page = opened(browser, report / "explained.html", viewport=PHONE)
    # the pipeline's runs of each kind have longer titles than these two
    page.locator("#watched option").first.evaluate("one => { one.textContent = 'a long title '.repeat(9); }")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    def colours() -> set[str]:
        return set(page.locator("#queue rect.place").evaluate_all("all => all.map(one => one.getAttribute('fill'))"))

    page.locator("#time").fill("10000")
    assert len(colours() - {"none"}) == 1
    page.locator("#time").fill("20400")
    assert len(colours() - {"none"}) == 2
    page.locator("#time").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#time-said").inner_text() == "20.41 s"
    page.get_by_role("button", name="Play").press("Enter")
    page.wait_for_function("document.querySelector('#time-said').textContent !== '20.41 s'")
    page.get_by_role("button", name="Pause").press("Enter")
    page.locator("#watched").select_option("late-comer")
    page.wait_for_function("document.querySelector('#queue svg')?.textContent.includes('LEDBAT, late')")
    assert page.locator("#time-said").inner_text() == "24.00 s"
    assert page.said == []


def test_printed_curves_are_whole(report: Path, browser: Any) -> None:
    page = opened(browser, report / "explained.html")
    page.emulate_media(media="print")
    page.evaluate("document.body.style.width = '680px'")  # A4 between margins; a printer asks for no other drawing
    for curves in ("#curves svg", "#queue svg"):
        assert page.locator(curves).bounding_box()["width"] <= 680


def test_who_wants_less_motion_sees_a_still_picture_each_second(report: Path, browser: Any) -> None:
    page = opened(browser, report / "explained.html", reduced_motion="reduce")
    page.clock.install()
    page.reload()
    page.evaluate("""() => {
        window.pictures = 0;
        new MutationObserver(() => { pictures += 1; }).observe(document.querySelector("#queue"), { childList: true });
    }""")
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(2500)
    assert page.evaluate("pictures") == 2
