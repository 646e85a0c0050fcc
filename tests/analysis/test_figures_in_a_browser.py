"""Interactive figures as a reader has them: on a phone, on a dark ground, with a finger or a pointer on a plot."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.__main__ import main
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, chromium, opened, serious
from tests.analysis.synthetic import plain, write

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)

# what a page tells of itself, to the page that it is in: a frame has any width, a window of the browser has not
TELL = """<script>
setTimeout(() => {
  const plots = [...document.querySelectorAll("#figure .mark-rect path")];
  const [place] = plots.filter((one) => one.getAttribute("aria-label")).slice(3);
  const {x, y, width, height} = place.getBoundingClientRect();
  const at = {bubbles: true, clientX: x + width / 2, clientY: y + height / 2, view: window};
  for (const kind of ["pointerover", "pointermove"]) place.dispatchEvent(new PointerEvent(kind, at));
  setTimeout(() => parent.postMessage({
    across: document.documentElement.scrollWidth,
    room: innerWidth,
    tooltip: document.querySelector("#vg-tooltip-element")?.innerText ?? "",
    back: document.querySelector("a").getAttribute("href"),
    names: [...document.querySelectorAll("#figure text")].map((one) => one.textContent),
    ink: getComputedStyle(document.querySelector("#figure .role-title-text text")).fill,
    ground: getComputedStyle(document.body).backgroundColor,
    board: getComputedStyle(document.querySelector("#figure svg")).backgroundColor,
  }, "*"), 300);
}, 1500);
</script></body>"""
FRAME = """<!doctype html><title>told</title><pre></pre>
<iframe src="figure.html" width="{width}" height="3000"></iframe>
<script>onmessage = (told) => {{ document.querySelector("pre").textContent = JSON.stringify(told.data); }};</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figure")
    made = plain()
    made.cwnd = {name: [(t / 10, 1 + t % 20) for t in range(100)] for name in made.flows}
    assert main(["columns", str(write(folder / "runs", made))]) == 0
    claim = {"id": "e01", "title": "A share.", "source": "sec. 1", "unit": "1", "metric": "share", "paper": "0.2"}
    figure = {"kind": "time-series", "panels": ["window", "queue"]}
    entry = {"experiment": "made-by-hand", "artefact": "Fig. 1", "title": "made", "finding": "f", "figure": figure}
    claims = [{**claim, "measure": "share('ledbat', 1, 5)"}]
    (folder / "made.claims.yaml").write_text(yaml.safe_dump({**entry, "claims": claims}))
    paper = {"title": "T", "authors": [], "venue": "V"}
    (folder / "study.yaml").write_text(yaml.safe_dump({"paper": paper, "findings": {"f": "F."}}))
    options = ["--runs", str(folder / "runs"), "--out", str(folder / "out")]
    assert main(["measure", str(folder / "made.claims.yaml"), *options]) == 0
    assert main(["figure", "made-by-hand", *options]) == 0
    file = folder / "out/made-by-hand/figure.html"
    file.write_text(file.read_text().replace("</body>", TELL))
    return file


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


def told(page: Path, profile: Path, width: int, *flags: str) -> dict[str, Any]:
    frame = page.with_name(f"frame-{width}.html")
    frame.write_text(FRAME.format(width=width))
    command = [
        *(str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
        *("--no-first-run", f"--user-data-dir={profile}", "--window-size=1400,3200", *flags),
        *("--virtual-time-budget=6000", "--dump-dom", frame.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    page_text = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert page_text
    result: dict[str, Any] = json.loads(unescape(page_text[1]))
    return result


@pytest.mark.parametrize(
    ("width", "flags", "colours"),
    [
        (390, (), ("rgb(28, 30, 33)", "rgb(255, 255, 255)")),
        (1300, ("--blink-settings=preferredColorScheme=0",), ("rgb(230, 232, 235)", "rgb(20, 23, 27)")),
    ],
    ids=["phone", "dark"],
)
def test_a_figure_fits_keeps_its_names_and_tells_numbers_in_words(
    page: Path, tmp_path: Path, width: int, flags: tuple[str, ...], colours: tuple[str, str]
) -> None:
    labels = told(page, tmp_path, width, *flags)
    assert labels["across"] <= labels["room"] == width
    assert {"TCP", "LEDBAT", "sum", "buffer 40", "Window [packets]", "time [s]"} <= {*labels["names"]}
    assert re.search(r"from\s+[\d.]+ s", labels["tooltip"])
    assert re.search(r"LEDBAT\s+[\d.]+ packets", labels["tooltip"])
    assert labels["back"] == "../../made-by-hand.html"
    assert (labels["ink"], labels["ground"]) == colours
    assert labels["board"] == labels["ground"]


def test_a_printed_figure_is_whole(page: Path, browser: Any) -> None:
    view = opened(browser, page)
    view.get_by_label("Save the figure").wait_for()
    view.emulate_media(media="print")
    view.evaluate("onresize = null")  # a printer asks for no other layout
    view.set_viewport_size({"width": 680, "height": 900})  # A4 between margins
    assert view.evaluate("document.documentElement.scrollWidth") <= 680


def test_nothing_keeps_readers_out(page: Path, browser: Any) -> None:
    view = opened(browser, page)
    view.get_by_label("Save the figure").wait_for()
    assert serious(view) == []
    assert view.said == []


@pytest.mark.parametrize("width", [390, 560, 700, 800, 1100, 1230, 1280])
def test_a_figure_uses_the_width_that_there_is(page: Path, browser: Any, width: int) -> None:
    view = opened(browser, page, viewport={"width": 1000, "height": 900})
    view.get_by_label("Save the figure").wait_for()
    view.set_viewport_size({"width": width, "height": 900})
    drawn = "document.querySelector('#figure svg').getBoundingClientRect().width"
    view.wait_for_function(f"{drawn} <= {width} && {drawn} >= 0.7 * {width}")
    assert view.evaluate("document.documentElement.scrollWidth") <= width
    assert view.locator("#zoom").is_visible() == (width == 1280)
