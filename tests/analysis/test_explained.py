"""The page that explains LEDBAT, of two real runs: its curves, what it says of them, and its packets."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.report.explained import explained
from tests.analysis.browser import PHONE, chromium, opened, serious

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
    # the path, without a queue
    assert all(one == pytest.approx(data["rtt_ms"] / 2, abs=1) for one in first["base_ms"] if one is not None)
    assert max(one for one in late["base_ms"] if one is not None) > 60
    packets = data["packets"]["tcp"]
    assert len(packets["gap"]) == len(packets["wait"]) == len(packets["owner"])
    dropped = sum(wait == -1 for wait in packets["wait"])
    assert data["runs"]["tcp/60/30"]["beside"]["drops"] <= dropped < 100


def test_the_page_shows_them(report: Path, browser: Any) -> None:
    page = opened(browser, report / "explained.html")
    assert re.match(r"Alone, LEDBAT keeps a queue of 6\d ms .* packets are dropped", page.locator("#said").inner_text())
    page.locator("[value=late-comer]").first.check()
    assert "Beside the late-comer" in page.locator("#said").inner_text()
    assert page.locator("#curves path.line").count() == 5
    assert serious(page) == []
    assert page.said == []


def test_the_scrubber_shows_whose_packets_wait(report: Path, browser: Any) -> None:
    page = opened(browser, report / "explained.html", viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    def colours() -> set[str]:
        return set(page.locator("#queue rect.place").evaluate_all("all => all.map(one => one.getAttribute('fill'))"))

    page.locator("#time").fill("10000")
    assert len(colours() - {"none"}) == 1
    page.locator("#time").fill("20400")
    assert len(colours() - {"none"}) == 2
    before = page.locator("#time-said").inner_text()
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(f"document.querySelector('#time-said').textContent !== '{before}'")
    page.get_by_role("button", name="Pause").click()
