"""What the report says of the full run's builds: on the first page, on a page of all, and with each experiment."""

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.reference import as_table, kept_of
from analysis.report.beside import reference_set
from analysis.report.builds import ANOTHER, NOT_HERE, NOT_THERE, PARTLY, SAME, origin
from analysis.report.results import collect
from tests.analysis import kept_results
from tests.analysis.browser import READERS, chromium, opened, serious
from tests.analysis.synthetic import vouch

OTHER = [{"digest": "0" * 64}]
OURS = "icccn-fig2b-ledbat-vs-ledbat"  # of these, the flows use tcp_ledbat_research alone
THEIRS = "icccn-fig3-top-dt2-b40"


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    """Results of two experiments, and a reference set that has the same."""
    kept_results.write(tmp_path / "here", "icccn")
    reference = tmp_path / "reference"
    reference.mkdir()
    for name in (OURS, THEIRS):
        shutil.copy(kept_results.REFERENCE / f"{name}.json", reference)
    return tmp_path / "here", reference


def change(file: Path, **made_from: Any) -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(file.read_text())
    kept["made_from"] |= made_from
    file.write_text(json.dumps(kept))
    return kept


def report(here: Path, reference: Path) -> Path:
    out = here.parent / "out"
    assert main(["report", "--results", str(here), "--reference", str(reference), "--out", str(out)]) == 0
    return out


def text(page: Path, between: str) -> str:
    """The text of the first part of a page that a pattern finds."""
    found = re.search(between, page.read_text(), re.S)
    assert found
    return " ".join(unescape(re.sub("<[^>]+>", " ", found[0])).split())


def test_the_same_builds_are_said_to_be_the_same(made: tuple[Path, Path]) -> None:
    out = report(*made)
    first = text(out / "index.html", "May I trust it.*?</dd>")
    assert "2 of its 2 experiments were recorded with the builds of these runs" in first
    told = "2 of 2 experiments have the kernel, root file system, tools, modules and programs of these runs"
    assert told in text(out / "builds.html", "<h1>.*?</h1>")
    assert "All builds that these runs use are the same." in text(out / f"{OURS}.html", 'id="made-from">.*?</p>')


def test_other_builds_and_other_numbers_stand_first(made: tuple[Path, Path]) -> None:
    here, reference = made
    change(reference / f"{OURS}.json", rootfs=OTHER, **{"module:tcp_nice": OTHER})
    kept = change(reference / f"{THEIRS}.json", rootfs=OTHER, kernel=OTHER)
    seeds = kept["claims"][f"{THEIRS}/e02"]["by_seed"]
    seeds |= {"1": seeds["1"] + 1}
    (reference / f"{THEIRS}.json").write_text(json.dumps(kept))
    out = report(here, reference)
    told = text(out / "index.html", "May I trust it.*?</dd>")
    assert "None of its 2 experiments was recorded with the builds of these runs" in told
    assert "of these runs, 1 more with all but one ( which )." in told
    assert re.search(r"Where more differs, (\d+) of (\d+) claims that can be compared have the same numbers\.", told)
    head = text(out / "builds.html", "<h1>.*?</h1>")
    assert "none of 2 experiments has the kernel, root file system, tools, modules and programs" in head
    assert head.endswith(", and 1 more all but the root file system")
    rows = re.findall("<tr><td>.*?</tr>", (out / "builds.html").read_text())
    assert [re.findall(r'href="(.*?)\.html', row)[0] for row in rows] == [THEIRS, OURS]
    assert ">kernel, root file system<" in rows[0] and re.search(r"<b>\d+ of \d+</b>", rows[0])
    assert ">root file system<" in rows[1] and "<b>" not in rows[1]
    part = 'id="made-from">.*?</p>'
    assert "Not from the builds of these runs: kernel, root file system." in text(out / f"{THEIRS}.html", part)
    kernel = text(out / f"{THEIRS}.html", '<th scope="row">kernel.*?</tr>')
    assert kernel.startswith("kernel") and "0" * 12 in kernel and kernel.endswith(ANOTHER)
    assert "no flow here uses it" in text(out / f"{OURS}.html", '<th scope="row">module tcp_nice.*?</tr>')


def test_a_part_is_compared_with_all_builds_that_the_full_run_has_of_it(made: tuple[Path, Path]) -> None:
    here, reference = made
    kept = json.loads((reference / f"{OURS}.json").read_text())["made_from"]
    change(reference / f"{OURS}.json", kernel=[*kept["kernel"], *OTHER], tools=OTHER, **{"program:libutp": OTHER})
    (file := reference / f"{OURS}.json").write_text(file.read_text().replace("module:tcp_ledbat_research", "gone"))
    compared = origin(collect(here), reference_set(reference))
    assert compared
    one = next(one for one in compared.experiments if one.experiment.id == OURS)
    assert {part.name: part.standing for part in one.parts if part.is_used} == {
        "kernel": PARTLY,
        "root file system": SAME,
        "guest tools": ANOTHER,
        "module tcp_ledbat_research": NOT_THERE,
        "program libutp": NOT_HERE,
    }
    assert one.differing == ["kernel", "guest tools", "module tcp_ledbat_research"]
    assert one.parts[0].there.digests == [build["digest"][:12] for build in (*kept["kernel"], *OTHER)]


def test_a_new_recording_keeps_versions_and_commits_and_pages_show_them(made: tuple[Path, Path]) -> None:
    here, reference = made
    folder = here / "experiments" / OURS
    data = json.loads((folder / "verdicts.json").read_text())
    data["versions"] = {"tcp-ledbat-draft00": ["0.6.0"]}
    (folder / "verdicts.json").write_text(json.dumps(data))
    vouch(folder)
    kept = kept_of(next(experiment for experiment in collect(here) if experiment.id == OURS))
    (reference / f"{OURS}.json").write_text(as_table(kept))
    assert (kept["commit"], kept["versions"]) == (["0" * 40], data["versions"])
    out = report(here, reference)
    assert f"of commit {'0' * 12} ." in text(out / f"{OURS}.html", 'id="made-from">.*?</p>')
    module = text(out / f"{OURS}.html", '<th scope="row">module tcp_ledbat_research.*?</tr>')
    assert module.count(" 0.6.0") == 2
    assert json.loads((out / "evidence" / OURS / "full-run.json").read_text())["versions"] == data["versions"]


def test_the_pages_of_builds_keep_no_readers_out(made: tuple[Path, Path]) -> None:
    here, reference = made
    change(reference / f"{OURS}.json", kernel=OTHER)
    out = report(here, reference)
    for browser in chromium():
        for options in READERS:
            for name in ("builds", OURS):
                page = opened(browser, out / f"{name}.html", **options)
                assert serious(page) == []
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_a_full_run_nothing_is_said_of_its_builds(made: tuple[Path, Path]) -> None:
    here, _ = made
    assert main(["report", "--results", str(here), "--out", str(here.parent / "out")]) == 0
    assert not (here.parent / "out/builds.html").exists()
    assert "builds.html" not in (here.parent / "out/index.html").read_text()
