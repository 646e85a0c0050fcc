"""From runs to the report by the command lines, and the report in a real browser."""

import csv
import gzip
import html.parser
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from analysis import host
from analysis.__main__ import main
from analysis.figures import draw
from analysis.report.results import collect
from common import sums
from tests.analysis import golden
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, chromium, opened, speechless
from tests.analysis.synthetic import plain, vouch, write

ROOT = Path(__file__).parents[2]
CASES = {"made-by-hand/e06": "passed", "made-by-hand/e07": "failed", "made-by-hand/e08": "skipped"}
HOSTILE = '<script>alert("x")</script> & <b>bold</b>'


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    for seed in (1, 2, 3):
        made = plain()
        made.seed = seed
        made.queue = [(0.0, 0), (2.0, 10 * seed)]
        made.cwnd = {name: [(t / 10, 1 + t % (20 + seed)) for t in range(100)] for name in made.flows}
        made.changes = {"provenance": {"commit": "1234", "kernel": {"release": HOSTILE}}}
        made.changes |= {"backward_bottleneck": {"rate_bps": 2_000_000, "buffer_pkts": 100}}
        folder = write(root / "runs", made)
        shutil.copy(folder / "traces/queue.csv", folder / "traces/queue-backward.csv")
        vouch(folder)
    claim = {"title": "It is so.", "source": "sec. 1", "unit": "1"}
    claims = [
        {"id": "e01", **claim, "metric": "share", "paper": "0.20", "measure": "share('ledbat', 1, 5)"},
        {"id": "e02", **claim, "metric": HOSTILE, "title": HOSTILE}
        | {"predicate": "a < b", "holds": "queue_pkts.max() < 15", "reading": HOSTILE}
        | {"cause": {"text": HOSTILE, "evidence": "untested"}},
        {"id": "e03", **claim, "metric": "late", "paper": "1.0", "measure": "jain(0, 99)"},
        {"id": "e04", **claim, "metric": "never", "paper": "1.0", "measure": "queue_pkts.first_time_above(99)"},
        {"id": "e05", **claim, "metric": "m", "not_testable": {"reason": "impossible here", "why": "so"}},
    ]
    claims += [{"id": f"e{number:02}", **claim, "metric": "rule", "kunit": True} for number in (6, 7, 8, 9)]
    claims += [
        {"id": "e10", **claim, "metric": "length", "role": "echo", "paper": "10", "measure": "duration"},
        {"id": "e11", "same_as": "waiting/e01"},
    ]
    (root / "kunit.json").write_text(json.dumps({"cases": CASES}))
    sums.write(root, {"kunit.json": sums.digest(root / "kunit.json")})
    experiment = {
        "experiment": "made-by-hand",
        "artefact": "Fig. 1",
        "title": HOSTILE,
        "finding": "made",
        "asserts": [{"text": "The run lasts 10 s.", "source": "sec. 2", "holds": "duration == 10"}],
        "figure": {
            "kind": "time-series",
            "panels": ["window", "queue", "rate"],
            "interval": [0, 8],
            "marks": [{"at": 2, "text": HOSTILE}],
        },
        "also_measured": [{"metric": "drops", "unit": "packets", "measure": "drops().count()"}],
        "claims": claims,
        "ambiguities": [HOSTILE],
    }
    waiting = {
        "experiment": "waiting",
        "artefact": "Table 9",
        "title": "not run",
        "runs_of": "made-by-hand",
        "finding": "made",
        "figure": {"kind": "table", "columns": [], "rows": []},
        "claims": [{"id": "e01", **claim, "metric": "twice", "paper": "20", "measure": "2 * duration"}],
    }
    paper = {"title": HOSTILE, "authors": ["A & B"], "venue": "V"}
    study = {"paper": paper, "findings": {"made": "Something."}, "conclusions": {"open": [HOSTILE]}}
    folder = root / "made"
    folder.mkdir()
    for name, written in (("study", study), ("hand.claims", experiment), ("waiting.claims", waiting)):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(written))
    runs = ["--runs", str(root / "runs"), "--out", str(root / "experiments")]
    assert main(["columns", *map(str, (root / "runs").glob("*/*/*/*"))]) == 0
    assert main(["measure", str(root / "made/hand.claims.yaml"), *runs, "--kunit", str(root / "kunit.json")]) == 0
    assert main(["figure", "made-by-hand", *runs]) == 0
    assert main(["report", "--results", str(root), "--out", str(root / "report")]) == 0
    return root


def test_the_tidy_table(results: Path) -> None:
    with (results / "experiments/made-by-hand/metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["experiment", "cell", "seed", "claim", "metric", "value", "unit"]
    shares = [row for row in rows if row["metric"] == "share"]
    assert [row["seed"] for row in shares] == ["1", "2", "3"]
    assert float(shares[0]["value"]) == pytest.approx(0.2)
    assert [row["value"] for row in rows if row["claim"].endswith("e04")] == ["never"] * 3


def test_the_verdicts(results: Path) -> None:
    data: dict[str, Any] = json.loads((results / "experiments/made-by-hand/verdicts.json").read_text())
    assert [claim["verdict"] for claim in data["claims"]] == [
        "holds",
        "open",
        "cannot be tested",
        "open",
        "cannot be tested",
        "holds",
        "does not hold",
        "cannot be tested",
        "cannot be tested",
        "holds",
        "holds",
    ]
    assert [claim["why"] for claim in data["claims"][5:9]] == [
        "the KUnit case made-by-hand/e06 passed",
        "the KUnit case made-by-hand/e07 failed",
        "the KUnit case made-by-hand/e08 was skipped",
        "there is no KUnit case made-by-hand/e09",
    ]
    assert [claim["seeds_wanted"] for claim in data["claims"]] == [0, 50, 0, 5] + [0] * 7
    assert data["claims"][1]["held"] == {"1": True, "2": False, "3": False}
    assert data["claims"][2]["why"] == "asked for 99 s, but the run ends at 10 s"
    assert data["provenance"] == {"commit": ["1234"], "kernel": [{"release": HOSTILE}]}
    assert [experiment["id"] for experiment in data["experiments"]] == ["made-by-hand", "waiting"]


def test_without_module_tests_their_claims_are_not_testable(results: Path, tmp_path: Path) -> None:
    options = [str(results / "made/hand.claims.yaml"), "--runs", str(results / "runs"), "--out", str(tmp_path)]
    assert main(["measure", *options, "--kunit", str(tmp_path / "kunit.json")]) == 0
    data = json.loads((tmp_path / "made-by-hand/verdicts.json").read_text())
    assert [claim["verdict"] for claim in data["claims"][5:9]] == ["cannot be tested"] * 4
    assert data["claims"][5]["why"].startswith("the KUnit case made-by-hand/e06 has not been run: ")


def test_one_seed_has_no_number_over_the_seeds(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "made", tmp_path / "made")
    of_one = "runs/made/made-by-hand/single/seed-1"
    [run] = (results / "runs").glob("*/made-by-hand/*/seed-1")
    shutil.copytree(run, tmp_path / of_one)
    file = tmp_path / "made/hand.claims.yaml"
    spread = {"metric": "spread", "unit": "packets", "measure": "mean_over_seeds('queue_pkts.at(5) * 0')"}
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | {"also_measured": [spread]}))
    for runs, known in ((results / "runs", True), (tmp_path / "runs", False)):
        assert main(["measure", str(file), "--runs", str(runs), "--out", str(tmp_path / "out")]) == 0
        [number] = json.loads((tmp_path / "out/made-by-hand/verdicts.json").read_text())["also_measured"]
        assert (number["measured"] is not None) is known


class Page(html.parser.HTMLParser):
    """Collects the elements and what they point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]


@pytest.mark.parametrize("name", ["index.html", "made-by-hand.html"])
def test_pages_escape_what_they_show_and_link_only_to_what_is_there(results: Path, name: str) -> None:
    text = (results / "report" / name).read_text()
    page = Page(text)
    scripts = ["report.js", *(["claims.js"] if name == "index.html" else [])]
    assert [link for link in page.links if link.endswith(".js")] == scripts
    assert page.tags.count("script") == len(scripts)
    assert "<b>bold" not in text
    assert "&lt;script&gt;" in text
    for link in page.links:
        assert link == "data:," or link.startswith("#") or (results / "report" / link.partition("#")[0]).exists(), link


@pytest.mark.parametrize("name", ["index", "made-by-hand", "runs-made-by-hand"])
def test_a_page_has_its_golden_text(results: Path, name: str, pytestconfig: pytest.Config) -> None:
    page = (results / "report" / f"{name}.html").read_text().replace(str(results), "RESULTS")
    page = page.replace(host.describe(), "HOST")
    golden.check(name, re.sub(r"\d{4}-\d\d-\d\d", "DATE", page), pytestconfig.getoption("update"))


@pytest.mark.parametrize("name", ["index.html", "made-by-hand.html"])
def test_each_picture_says_what_it_shows(results: Path, name: str) -> None:
    assert speechless(results / "report" / name) == []


def test_the_page_says_how_to_run_it_again(results: Path) -> None:
    text = (results / "report/made-by-hand.html").read_text()
    assert 'href="runs-made-by-hand.html"' in text
    listed = (results / "report/runs-made-by-hand.html").read_text()
    assert f"testbed run {results}/made/hand.yaml --seed 1 --into runs" in listed
    assert all(f">seed {seed}</a>" in listed for seed in (1, 2))


def test_the_interactive_figure_cannot_be_broken_out_of(results: Path) -> None:
    text = (results / "report/figures/made-by-hand/figure.html").read_text()
    assert text.count("</script>") == 2  # the viewer's and the specification's
    assert len(text) < 2_000_000


def test_what_is_not_run_is_named(results: Path) -> None:
    assert "Table 9 (waiting)" in (results / "report/index.html").read_text()


def test_what_another_target_still_draws_is_left_to_its_report(results: Path, tmp_path: Path) -> None:
    shutil.copytree(results / "experiments", tmp_path / "experiments")
    folder = tmp_path / "experiments/made-by-hand"
    (folder / "figure.txt").unlink()
    vouch(folder)
    assert main(["report", "--results", str(tmp_path), "--out", str(tmp_path / "report")]) == 0
    assert "Fig. 1 (made-by-hand)" in (tmp_path / "report/index.html").read_text()
    assert not (tmp_path / "report/made-by-hand.html").exists()


def test_the_cross_check_is_shown_where_there_is_one(results: Path, tmp_path: Path) -> None:
    assert "crosscheck" not in (results / "report/index.html").read_text()
    shutil.copytree(results / "experiments", tmp_path / "experiments")
    shutil.copytree(results / "runs", tmp_path / "runs")
    (tmp_path / "crosscheck").mkdir()
    values = {"throughput_bps": 9.951e6, "base_rtt_ms": 50.002, "queuing_delay_ms": 25.786}
    entry = {"case": HOSTILE, "virtual": values, "qemu": values | {"base_rtt_ms": 50.2}, "agree": False}
    (tmp_path / "crosscheck" / "crosscheck.json").write_text(json.dumps([entry]))
    vouch(tmp_path / "crosscheck")
    assert main(["report", "--results", str(tmp_path), "--out", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report/index.html").read_text()
    assert "50.002 / 50.200" in page and "do not agree" in page and HOSTILE not in page


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_the_packets_around_an_instant_can_be_read(results: Path, tmp_path: Path) -> None:
    claim = {"id": "e01", "title": "It fills at 2 s.", "source": "sec. 1", "unit": "s", "metric": "time_of_it"}
    claim |= {"paper": "2.0", "measure": "queue_pkts.first_time_above(5)"}
    experiment: dict[str, Any] = {"experiment": "made-by-hand", "artefact": "Fig. 1", "title": "made", "finding": "f"}
    experiment |= {"figure": {"kind": "time-series", "panels": ["queue"]}, "claims": [claim]}
    study = {"paper": {"title": "T", "authors": [], "venue": "V"}, "findings": {"f": "F."}}
    for name, written in (("study", study), ("made.claims", experiment)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(written))
    shutil.copytree(results / "runs", tmp_path / "runs")
    runs = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "experiments")]
    assert main(["measure", str(tmp_path / "made.claims.yaml"), *runs]) == 0
    assert main(["figure", "made-by-hand", *runs]) == 0
    assert main(["report", "--results", str(tmp_path), "--out", str(tmp_path / "report")]) == 0
    for page in map(opened, chromium(), [tmp_path / "report/made-by-hand.html"]):
        page.get_by_text("The packets around 2.000 s").click()
        rows = page.locator("table.packets tbody tr").all_inner_texts()
        assert 1 < len(rows) <= 16
        times = [float(row.split()[0]) for row in rows]
        assert times == sorted(times) and times[0] < 2 <= times[-1]
        assert {row.split()[1] for row in rows} <= {"ledbat", "tcp", "other"}
        page.locator(".claim").screenshot(path=tmp_path / "packets.png")


def test_an_evidence_row_is_that_of_the_runs_that_its_claim_reads(results: Path, tmp_path: Path) -> None:
    for cell in ("case=a", "case=b", "case=n"):
        made = plain()
        made.cell, made.keep_captures, made.changes = cell, False, {"size": "quick"}
        if cell == "case=n":
            made.changes["captures"] = []
        folder = write(tmp_path / "runs", made)
        for file in list((folder / "pcap").iterdir()):
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()
        vouch(folder)
    claim = {"source": "sec. 1", "unit": "1", "metric": "m", "paper": "0.20"}
    of_a = 'cell("case=a").share("ledbat", 1, 5)'
    claims = [
        {"id": "e01", **claim, "title": "By a cell.", "cell": "case=b", "measure": "share('ledbat', 1, 5)"},
        {"id": "e02", **claim, "title": "In an expression.", "measure": of_a},
        {"id": "e03", **claim, "title": "By a word.", "measure": "of_a"},
        {"id": "e04", **claim, "title": "Of means.", "measure": f"mean_over_seeds('{of_a}') / of_a"},
        {"id": "e05", **claim, "title": "Of both.", "measure": 'of_a - cell("case=b").share("ledbat", 1, 5)'},
        {"id": "e06", **claim, "title": "Not run.", "cell": "case=c", "measure": "share('ledbat', 1, 5)"},
        {"id": "e08", **claim, "title": "Nothing captured.", "cell": "case=n", "measure": "cwnd('tcp').max()"},
        {"id": "e07", **claim, "title": "Partly run.", "measure": 'of_a + cell("case=d").share("ledbat", 1, 5)'},
    ]
    experiment: dict[str, Any] = {"experiment": "made-by-hand", "artefact": "Fig. 1", "title": "made", "finding": "f"}
    experiment |= {
        "words": {"of_a": of_a},
        "figure": {"kind": "time-series", "panels": ["queue"], "cells": [{"cell": "case=a", "title": "a"}]},
        "claims": claims,
    }
    study = {"paper": {"title": "T", "authors": [], "venue": "V"}, "findings": {"f": "F."}}
    (tmp_path / "made").mkdir()
    for name, written in (("study", study), ("made.claims", experiment)):
        (tmp_path / f"made/{name}.yaml").write_text(yaml.safe_dump(written))
    runs = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "experiments")]
    assert main(["columns", *map(str, (tmp_path / "runs").glob("*/*/*/*"))]) == 0
    assert main(["measure", str(tmp_path / "made/made.claims.yaml"), *runs]) == 0
    assert main(["figure", "made-by-hand", *runs]) == 0
    assert main(["report", "--results", str(tmp_path), "--out", str(tmp_path / "report")]) == 0
    page = (tmp_path / "report/made-by-hand.html").read_text()
    rows = dict(
        re.findall(r'<article class="claim[^"]*" id="(e0\d)".*?(<div class="evidence.*?)</article>', page, re.S)
    )
    lists = {name: set(re.findall(r'href="(runs-[^"]*)"', row)) for name, row in rows.items()}
    assert lists["e01"] == {"runs-made-by-hand.html#case%3Db"} and lists["e05"] == {"runs-made-by-hand.html#case%3Da"}
    listed = (tmp_path / "report/runs-made-by-hand.html").read_text()
    for cell in ("case=a", "case=b"):
        of_cell = listed.partition(f'id="{cell}"')[2].partition("</section>")[0]
        assert f"--cell {cell} --size quick --into runs" in of_cell
        assert f"<code>runs/made/made-by-hand/{cell}/seed-1/pcap</code>" in of_cell
        for link in (links := re.findall(r'<a href="([^"]*)"', of_cell)):
            assert (tmp_path / "report" / unquote(link)).exists()
        assert [Path(unquote(link)).name for link in links][:2] == ["seed-1", "columns"]
    for name, cells in (("e01", "b"), ("e02", "a"), ("e03", "a"), ("e04", "a"), ("e05", "ab")):
        linked = set(re.findall(r'href="[^"]*/runs/made/made-by-hand/case%3D(.)/seed-1/"', rows[name]))
        assert linked == set(re.findall("--cell case=(.)", rows[name])) == set(cells), name
    taps = {"bottleneck-in.r1-s1", "bottleneck-in.r1-s2", "bottleneck-out"}
    for name, cells in (("e01", "b"), ("e05", "ab"), ("e08", "n")):
        linked = {Path(unquote(link)) for link in re.findall(r'href="([^"]*pcap[^"]*)"', rows[name])}
        assert all((tmp_path / "report" / file).is_file() for file in linked), name
        kept = {f"../runs/made/made-by-hand/case={cell}/seed-1/pcap/{tap}.pcap.gz" for cell in cells for tap in taps}
        assert linked == set(map(Path, kept)), name
        assert ("Wireshark: " in rows[name]) == (cells != ""), name
        assert ("case=a, seed 1: <a" in rows[name]) == (cells == "ab"), name
    assert "<code>--capture sender</code>" in rows["e01"]
    assert "no run here" in rows["e06"] and "--seed 1 --cell case=c" in rows["e06"] and "/seed-1/" not in rows["e06"]
    assert "no run here" in rows["e07"] and "snakemake --cores all made-by-hand" in rows["e07"]


def test_the_summary_counts_findings_here_and_in_the_reference_set(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "set.json").write_text('{"commit": "c", "date": "2026-11-28"}')
    verdicts = json.loads((results / "experiments/made-by-hand/verdicts.json").read_text())
    there = {
        claim["id"]: {"verdict": "holds", "by_seed": None, "held": None, "check": "KUnit case"}
        for claim in verdicts["claims"]
    }
    (tmp_path / "made-by-hand.json").write_text(json.dumps({"commit": "c", "claims": there}))
    steps = ["--next", "Next: look"]
    assert main(["summary", "--results", str(results), "--reference", str(tmp_path), *steps]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["findings", "hold", "do", "not"],
        ["Made:", "1", "here", "1"],
        ["reference", "1"],
    ]
    assert max(map(len, lines[:3])) <= 80 and lines[-1] == "Next: look"
    assert "report/index.html" in lines[-2]


def test_findings_are_the_headline(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "r"
    shutil.copytree(results, root)
    verdicts = root / "experiments/made-by-hand/verdicts.json"
    data = json.loads(verdicts.read_text())
    for claim in data["claims"]:
        claim["finding"] = "first" if claim["id"] < "made-by-hand/e06" else "second"
    verdicts.write_text(json.dumps(data))
    vouch(verdicts.parent)
    assert main(["summary", "--results", str(root)]) == 0
    assert re.search(r"^Made: 2 +here +1 +1$", capsys.readouterr().out, re.M)
    assert main(["report", "--results", str(root), "--out", str(root / "report")]) == 0
    index = (root / "report/index.html").read_text()
    assert "Of 2 findings, none holds, 1 does not, 1 is open." in index


def test_figures_are_drawn_when_outdated_in_any_process_with_the_same_bytes(results: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").symlink_to(results / "runs")
    first, other = (tmp_path / "experiments" / name for name in ("made-by-hand", "again"))
    measured = json.loads((results / "experiments/made-by-hand/verdicts.json").read_text())
    measured["experiment"]["runs_of"] = "made-by-hand"
    for folder in (first, other):
        folder.mkdir(parents=True)
        (folder / "verdicts.json").write_text(json.dumps(measured))
        vouch(folder)
    command = [sys.executable, "-m", "analysis", "report", "--results", str(tmp_path), "--out", str(tmp_path / "made")]
    command += ["--draw", "made-by-hand", "again", "--processes", "2"]

    def drawn_after_a_report() -> list[int]:
        subprocess.run(command, check=True, cwd=ROOT)
        for file in ("figure.svg", "figure-narrow.svg", "figure.html", "figure.txt"):
            expected = (results / "experiments/made-by-hand" / file).read_bytes()
            assert [(folder / file).read_bytes() == expected for folder in (first, other)] == [True, True], file
        return [(folder / "figure.svg").stat().st_mtime_ns for folder in (first, other)]

    drawn_ns = drawn_after_a_report()
    assert drawn_after_a_report() == drawn_ns
    (other / "verdicts.json").touch()
    kept, renewed = drawn_after_a_report()
    assert kept == drawn_ns[0] and renewed > drawn_ns[1]
    # what stands pale behind a figure comes from the reference set
    reference = tmp_path / "reference"
    reference.mkdir()
    for name in ("set", "another"):
        (reference / f"{name}.json").write_text("{}")
    assert not draw.outdated([first.name], first.parent, reference=reference)
    (reference / f"{first.name}.json").write_text("{}")
    assert draw.outdated([first.name], first.parent, reference=reference) == [first.name]


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
@pytest.mark.parametrize("name", ["index.html", "made-by-hand.html", "figures/made-by-hand/figure.html"])
def test_in_a_browser(results: Path, tmp_path: Path, name: str) -> None:
    """No message on the console, no attempt to reach the network, the figure really drawn; missing files: see above."""
    log = tmp_path / "netlog.json"
    command = [
        *(str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
        *("--disable-component-update", "--disable-sync", "--no-first-run", f"--user-data-dir={tmp_path / 'profile'}"),
        *("--enable-logging=stderr", "--v=0", f"--log-net-log={log}", "--net-log-capture-mode=Everything"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=4000", "--dump-dom"),
        (results / "report" / name).as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert [line for line in said if "source: chrome://" not in line] == []  # the browser's own pages
    if name.endswith("figure.html"):
        assert "<canvas" in done.stdout or "<svg" in done.stdout
    asked = [
        event["params"]["url"] for event in json.loads(log.read_text())["events"] if "url" in event.get("params", {})
    ]
    page_asked = [url for url in asked if url.startswith(("http:", "https:", "ws:", "wss:"))]
    assert [url for url in page_asked if not _own_business(url)] == []


def _own_business(url: str) -> bool:
    """Tell whether the browser itself, not the page, made a request, for its updates or accounts."""
    return any(host in url for host in ("google.com", "googleapis.com", "gstatic.com", "gvt1.com"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["columns", "/nowhere"], "/nowhere/SHA256SUMS: missing, so nothing can be checked there"),
        (["measure", "/nowhere/x.claims.yaml", "--runs", "/", "--out", "/"], "/nowhere/x.claims.yaml: No such file"),
        (
            ["report", "--results", "/nowhere", "--out", "/tmp/r"],
            "/nowhere: found no such folder; allowed: a folder of results",
        ),
        (["summary", "--results", "/proc/self/fdinfo"], "nothing has been measured there yet"),
        (["figure", "x", "--runs", "/", "--out", "/nowhere"], "/nowhere/x/verdicts.json: missing; make it first with"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_setting_that_the_runs_lack_is_told(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(results / "made", tmp_path / "made")
    claims = tmp_path / "made/hand.claims.yaml"
    claims.write_text(claims.read_text().replace("duration == 10", "duration == 11"))
    assert main(["measure", str(claims), "--runs", str(results / "runs"), "--out", str(tmp_path)]) == 2
    said = "hand.claims.yaml: asserts: The run lasts 10 s. `duration == 11` is false in seed 1, 2, 3\n"
    assert capsys.readouterr().err.endswith(said)
    assert not (tmp_path / "made-by-hand").exists()


def test_what_follows_from_the_settings_does_not_count(results: Path) -> None:
    data: dict[str, Any] = json.loads((results / "experiments/made-by-hand/verdicts.json").read_text())
    echo, repeated = data["claims"][9:]
    assert (echo["verdict"], repeated["verdict"], repeated["same_as"]) == ("holds", "holds", "waiting/e01")
    (counted,) = [result for result in collect(results) if result.id == "made-by-hand"]
    assert sum(counted.counts.values()) == 9


def test_what_the_papers_simulator_gives_stands_beside_the_measurement(results: Path, tmp_path: Path) -> None:
    case = {"seeds": {"as written": 2}, "claims": {"jain": "e01"}}
    tables = {"made-by-hand": {"common": {}, "cases": {"only": case}}}
    said = {"readings": {"as written": {"about": "The text."}}, "tables": tables}
    (tmp_path / "cells.yaml").write_text(yaml.safe_dump(said))
    gave = {"made-by-hand/only/as written": {"jain": [0.2, 0.3]}}
    (tmp_path / "results.json").write_text(json.dumps({"cells": gave}))
    made = ["report", "--results", str(results), "--out", str(tmp_path / "report"), "--simulator", str(tmp_path)]
    assert main(made) == 0
    page = (tmp_path / "report/made-by-hand.html").read_text()
    assert page.count("<dt>ns-2</dt>") == 1
    assert re.search(r"<dt>ns-2</dt><dd>0\.2[^<]*<span class=\"soft\">as written, mean of 2 runs", page)


def test_where_the_time_went(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", "--results", str(results), "--since", "1", "--cores", "2"]) == 0
    assert "3 runs, 0.0 h of virtual time" in capsys.readouterr().out
