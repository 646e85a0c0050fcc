"""The static site: its parts, its links, and the documentation's search from a disk."""

from __future__ import annotations

import html.parser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from testbed.site.__main__ import main as publish
from tests.analysis import kept_results
from tests.analysis.browser import chromium, opened, serious
from tests.analysis.synthetic import vouch

SOMEWHERE_ELSE = ("http:", "https:", "data:", "mailto:", "javascript:", "#")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    kept_results.write(results, "aina")
    report = ["report", "--results", str(results), "--reference", str(kept_results.REFERENCE)]
    assert main([*report, "--out", str(results / "report")]) == 0
    page = results / "report/aina-fig3-delay-decrease.html"
    page.write_text(page.read_text().replace("no run here", '<a href="../runs/aina/seed-1/">seed 1</a>'))
    vouch(results / "report")
    compared = results / "compare/tcp-cubic-tcp-ledbat"
    (compared / "runs").mkdir(parents=True)
    links = "".join(f'<a href="{where}">{where}</a>' for where in ("index.html", "runs/compare/x/seed%3D1/logs/"))
    sign = '<a class="verdict passed" href="runs/compare/" aria-label="passed: its run"></a>'
    (compared / "index.html").write_text(f'<!doctype html><title>compared</title><main id="content">\n{links}{sign}')
    of_version = results / "versions/libtorrent/libtorrent@2.0.9"
    of_version.mkdir(parents=True)
    (of_version.parent / "index.html").write_text("<!doctype html><title>versions</title>")
    (of_version / "index.html").write_text('<!doctype html><title>one</title><a href="runs/gate/">seed 1</a>')
    (compared / "runs/large.parquet").write_text("")
    (results / "evaluate/tcp-bbr").mkdir(parents=True)
    (results / "evaluate/tcp-bbr/index.html").write_text("<!doctype html><title>one</title>")
    matrix = '<!doctype html><title>all</title><link href="report.css"><a href="tcp-bbr/index.html#aqm">x</a>'
    (results / "evaluate/index.html").write_text(matrix)
    for product in ("gate/libutp", "hunt/libutp", "rewind/alone-single-seed-1"):
        run = results / product / "rewind/alone/past/seed-1"
        run.mkdir(parents=True)
        (run / "summary.json").write_text("{}")
        link = f'<a href="{run.relative_to(results / product)}/summary.json">run</a>'
        (results / product / "index.html").write_text(f"<!doctype html><title>{product}</title>{link}")
    assert publish(["--results", str(results), "--out", str(results / "site")]) == 0
    return results / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


class Links(html.parser.HTMLParser):
    """Collects what a page points to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found |= {value for name, value in attrs if name in ("src", "href") and value}


def test_every_link_leads_to_a_file_of_the_site(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 25
    dead = {
        f"{page.relative_to(site)}: {link}"
        for page in pages
        for link in Links(page.read_text()).found
        if not link.startswith(SOMEWHERE_ELSE) and not (page.parent / link.partition("#")[0]).exists()
    }
    assert dead == set()


def test_captures_stay_at_home(site: Path) -> None:
    assert (site / "compare/tcp-cubic-tcp-ledbat/index.html").exists()
    assert [*site.rglob("*.parquet"), *site.rglob("summary.json")] == []
    card = (site / "report/aina-fig3-delay-decrease.html").read_text()
    assert '<span class="soft">seed 1</span>' in card and "testbed run" in card  # what makes the run is there
    assert (site / "report/evidence/aina-fig3-delay-decrease/metrics.csv").is_file()
    page = (site / "compare/tcp-cubic-tcp-ledbat/index.html").read_text()
    assert '<span class="soft">runs/compare/x/seed%3D1/logs/</span>' in page  # nothing is there to be linked
    assert '<span class="verdict passed"><span class="hidden">passed: its run</span></span>' in page
    says = '<main id="content">\n<p class="look small">Published without runs, captures and logs: '
    assert says in page and "the command under “Where is the evidence?” makes all of them" in page
    assert says in card and "<code>make reproduce</code> makes all of them" in card


def test_the_first_page_leads_to_all_parts(site: Path, browser: Any) -> None:
    page = opened(browser, site / "index.html")
    parts = page.locator(".parts b").all_inner_texts()
    judged = ["Comparison: tcp-cubic-tcp-ledbat", "Evaluation: all", "Evaluation: tcp-bbr", "Gate: libutp"]
    products = [*judged, "Versions: libtorrent", "Hunt: libutp", "Rewind: alone-single-seed-1"]
    assert parts == ["The report", "What changed", *products, "Documentation"]
    assert serious(page) == []
    assert page.said == []


def test_the_documentation_is_searched_without_a_network(site: Path, browser: Any) -> None:
    page = opened(browser, site / "docs/index.html")
    page.locator("input.md-search__input").press_sequentially("tolerances")
    results = page.locator(".md-search-result__link")
    results.first.wait_for()
    assert any("Verdicts" in text for text in results.all_inner_texts())


def test_without_a_report_there_is_no_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(["--results", str(tmp_path), "--out", str(tmp_path / "site")]) == 2
    assert "report/index.html: missing" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
