"""The report on all experiments, as a reader sees it: sizes, valid HTML, and in a real browser."""

import dataclasses
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from analysis.__main__ import main
from analysis.claims import registry
from analysis.errors import BadInputError
from analysis.experiment_files import NOT_RUN, NOT_TESTED
from analysis.figures.style import MINUS, text_width
from analysis.judge.rules import WITHIN_THE_LARGER
from analysis.judge.verdict import Verdict
from analysis.report import causes, changes, formats, overview
from analysis.report.beside import Beside, reference_set, results_of
from analysis.report.cards import cards, how_known, name_of, page_of, rule
from analysis.report.evidence import Source
from analysis.report.first_page import SHOWN, machine, of_result, programs, unit_tests, yielding
from analysis.report.overview import _headline, studies
from analysis.report.results import ExperimentResult, collect, state_of, titled
from analysis.report.strip import WIDTH, held_strip, strip
from tests.analysis import kept_results
from tests.analysis.browser import PHONE, chromium, invalid, opened, serious
from tests.analysis.synthetic import vouch

TABLE = "icccn-table1-tcp-vs-ledbat.html"
CARDS = "icccn-fig2a-ledbat-vs-tcp.html"
WIDEST = "pam-table1-tcpl.html"
PAPER = {"width": 680, "height": 1000}  # A4 between margins of 15 mm
PAGES = ("index.html", TABLE, CARDS)
ROOT = Path(__file__).parents[2]
INDEX_BYTES = 330_000  # 321 kB, with another machine beside each row
PAGE_BYTES = 500_000
REFERENCE = reference_set(kept_results.REFERENCE)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reference set with another verdict for one claim, and an evaluator who has one verdict less."""
    root = tmp_path_factory.mktemp("report")
    kept_results.write(root / "here")
    _fail_first_claim(root / "here/experiments/icccn-fig2b-ledbat-vs-ledbat")
    shutil.copytree(root / "here", root / "there")
    _fail_first_claim(root / "there/experiments/icccn-fig2a-ledbat-vs-tcp")
    options = ["--reference", str(kept_results.REFERENCE), "--beside", f"evaluator={root / 'there'}"]
    assert main(["report", "--results", str(root / "here"), "--out", str(root / "out"), *options]) == 0
    return root / "out"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick look: seed 1 of the reference set."""
    root = tmp_path_factory.mktemp("quick")
    kept_results.write(root / "here", size="quick")
    reference = ["--reference", str(kept_results.REFERENCE)]
    assert main(["report", "--results", str(root / "here"), "--out", str(root / "out"), *reference]) == 0
    return root / "out"


def test_a_quick_look_is_never_stronger_than_the_reference_set(quick: Path) -> None:
    claims = [claim for result in collect(quick.parent / "here") for claim in result.claims if not claim.get("kunit")]
    there = REFERENCE.claims
    assert len(claims) > 500
    decided = {*map(str, Verdict)} - {"cannot be tested"}
    assert {state_of(claim) for claim in claims} & decided == set()
    looked_at = {claim.get("finding") for claim in claims if claim["is_look"] and state_of(claim) != "cannot be tested"}
    findings = [finding for view in studies(collect(quick.parent / "here"), None) for finding in view.findings]
    assert {finding.state for finding in findings if finding.name in looked_at} & decided == set()
    assert {there[claim["id"]]["verdict"] for claim in claims if claim["is_look"]} >= decided - {"nearly"}


def test_one_seed_of_a_reference_set_is_a_look_too(report: Path, browser: Any) -> None:
    claims = {claim["id"]: claim for result in collect(report.parent / "here") for claim in result.claims}
    entry = REFERENCE.entry(claims["eunice-sec51-owd-grid/e01"])
    assert entry and (entry["verdict"], entry["text"]) == ("agrees in one seed", "it holds in the one seed")
    card = opened(browser, report / "eunice-sec51-owd-grid.html").locator("#e01")
    kept = json.loads((report / "evidence/eunice-sec51-owd-grid/reference.json").read_text())["claims"]
    assert kept["eunice-sec51-owd-grid/e01"]["verdict"] == "agrees in one seed"
    verdicts = set(card.locator(".verdict").all_inner_texts())
    assert verdicts == {"agrees in one seed"} and "With more seeds, it holds if" in card.inner_text()
    findings = {
        finding.name: finding for view in studies(collect(report.parent / "here"), None) for finding in view.findings
    }
    assert findings["mdvar-fair"].state == "agrees in one seed"


def test_a_quick_look_has_the_findings_of_the_reference_set(quick: Path, tmp_path: Path) -> None:
    kept_results.write(tmp_path)
    reference = REFERENCE
    here = {finding.name: finding.state for view in studies(collect(tmp_path), None) for finding in view.findings}
    looks = [finding for view in studies(collect(quick.parent / "here"), reference) for finding in view.findings]
    assert {finding.name: finding.there for finding in looks} == here


def test_the_terminals_table_counts_the_same_findings_here_and_there(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", "--results", str(quick.parent / "here"), "--reference", str(kept_results.REFERENCE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    of_papers = [at for at, line in enumerate(lines) if re.match(r"(ICCCN|PAM|AINA|EUNICE) 20", line)]
    assert len(of_papers) == 4
    for at in of_papers:
        assert lines[at + 1].split()[0] == "reference"
        all_here = int(re.findall(r": (\d+)", lines[at])[0])
        there = [*map(int, re.findall(r"\d+", lines[at + 1]))]
        assert sum(there) == all_here, lines[at]
        if lines[at].startswith("EUNICE"):  # what has one seed there, too, is open
            assert f"| of 21: {there[0]} hold," in (ROOT / "README.md").read_text()


def test_the_terminals_table_of_all_seeds_is_the_readmes(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = ["--reference", str(kept_results.REFERENCE)]
    assert main(["summary", "--results", str(report.parent / "here"), *reference]) == 0
    lines = capsys.readouterr().out.splitlines()
    readme = (ROOT / "README.md").read_text()
    for paper in ("PAM 2010", "AINA 2011", "EUNICE 2011"):  # the report has another verdict for a claim of ICCCN's
        [row] = [line for line in readme.splitlines() if line.startswith(f"| [{paper}]")]
        at = next(at for at, line in enumerate(lines) if line.startswith(paper))
        counted = [re.findall(r"\d+", lines[at].partition("here")[2]), re.findall(r"\d+", lines[at + 1])]
        assert counted == [re.findall(r"\d+", row.split("|")[3])[1:]] * 2, paper


def test_a_mean_over_seeds_is_no_number_of_one_seed(quick: Path) -> None:
    experiments = [each for each in collect(quick.parent / "here") if each.id == "aina-fig5-normalized-throughput"]
    [claim] = [claim for claim in experiments[0].claims if claim["id"].endswith("/e19")]
    claim["measured"] = (claim["measured"] or {}) | {"by_seed": {"1": 0.7}}
    counted = machine(experiments, REFERENCE)
    assert counted.same_numbers == counted.with_numbers < counted.compared
    assert claim["id"] not in [change.claim["id"] for change in changes.changes(experiments, REFERENCE)]


def test_a_finding_links_the_claim_that_decided_it_in_the_reference_set(quick: Path) -> None:
    experiments = collect(quick.parent / "here")
    claims = {page_of(claim["id"]): claim for experiment in experiments for claim in experiment.claims}
    for finding in (finding for view in studies(experiments, REFERENCE) for finding in view.findings if finding.there):
        there = overview._as_there([claims[finding.link_there]], REFERENCE) or [claims[finding.link_there]]
        assert overview.numbers_of(there[0]) == finding.numbers_there, finding.name
    page = (quick / "index.html").read_text()
    examples = page.partition('id="picked"')[2].partition("</section>")[0]
    shown = re.findall(r'<a class="small" href="([^"]*)">([^<]*)</a>', examples)
    assert len(shown) == 3 * SHOWN
    texts_there = {
        (finding.link_there, formats.sentence(finding.numbers_there).replace("\N{NO-BREAK SPACE}", " "))
        for view in studies(experiments, REFERENCE)
        for finding in view.findings
    }
    assert {(link, unescape(text).replace("\N{NO-BREAK SPACE}", " ")) for link, text in shown} <= texts_there


def _not_judged(folder: Path, reason: str, names: set[str] | None = None) -> None:
    """Take what is judged from claims of an experiment: from those with KUnit cases, unless they are named."""
    data = json.loads((folder / "verdicts.json").read_text())
    for claim in data["claims"]:
        if claim.get("kunit") if names is None else name_of(claim) in names:
            claim |= {
                "verdict": "cannot be tested",
                "not_testable": {"reason": reason, "why": "not here"},
                "why": "not here",
                "measured": None,
                "held": None,
            }
    (folder / "verdicts.json").write_text(json.dumps(data))
    vouch(folder)


def test_the_reference_set_says_of_a_unit_test_that_it_passed_where_it_was_not_run_here(tmp_path: Path) -> None:
    kept_results.write(tmp_path, only="icccn", size="quick")
    assert unit_tests(collect(tmp_path)) == "run"
    _not_judged(tmp_path / "experiments/icccn-fig1-controller-conformance", NOT_TESTED)
    experiments = collect(tmp_path)
    assert unit_tests(experiments) == "not run" and unit_tests([]) == ""
    (view,) = studies(experiments, REFERENCE)
    finding = next(one for one in view.findings if one.name == "base-delay")
    passed = "the module's unit test passed"
    assert (finding.state, finding.there) == ("not judged here", "holds")
    assert finding.numbers_there == passed
    cells = [cell for tile in view.tiles for cell in tile.cells if cell.finding == finding.name]
    assert cells and all(cell.there and cell.there.numbers == passed for cell in cells)
    claims = {claim["id"]: claim for experiment in experiments for claim in experiment.claims}
    entry = REFERENCE.entry(claims["icccn-fig1-controller-conformance/e05"])
    assert entry and entry["text"] == passed


def test_a_finding_compares_one_claim_with_itself_or_names_the_other(quick: Path, tmp_path: Path) -> None:
    kept_results.write(tmp_path, only="eunice", size="quick")
    _not_judged(tmp_path / "experiments/eunice-fig4-md-nf2", NOT_RUN, {"e01"})
    (view,) = studies(collect(tmp_path), REFERENCE)
    for name, page in (("sharing-takes-long", "eunice-fig2-md-nf2"), ("nf2-unsynchronised", "eunice-fig4-md-nf2")):
        (finding,) = (finding for finding in view.findings if finding.name == name)
        assert finding.link == finding.link_there and finding.link.startswith(page)
    views = studies(collect(quick.parent / "here"), REFERENCE)
    findings = [finding for view in views for finding in view.findings if finding.link != finding.link_there]
    claims = {page_of(name): claim for name, claim in REFERENCE.claims.items()}
    titles = {page_of(claim["id"]): claim["title"] for each in collect(quick.parent / "here") for claim in each.claims}
    assert findings and not any(
        finding.title_there or finding.same_there
        for view in views
        for finding in view.findings
        if finding not in findings
    )
    for finding in findings:
        assert finding.title_there == titles[finding.link_there]
        assert finding.same_there.startswith(f"{claims[finding.link]['verdict']}, ")
    assert "Another decides there: " in (quick / "index.html").read_text()


def test_what_is_not_judged_here_links_the_claim_of_the_reference_set_whose_number_it_shows(tmp_path: Path) -> None:
    kept_results.write(tmp_path, only="icccn", size="quick")
    folder = tmp_path / "experiments/icccn-table1-tcp-vs-ledbat"
    data = json.loads((folder / "verdicts.json").read_text())
    shorter = {
        "verdict": "cannot be tested",
        "not_testable": {"reason": NOT_RUN, "why": "shorter runs"},
        "why": "",
        "held": None,
    }
    data["claims"] = [claim | shorter for claim in data["claims"]]
    (folder / "verdicts.json").write_text(json.dumps(data))
    vouch(folder)
    experiments = collect(tmp_path)
    cards = {f"{each.id}.html#{name_of(claim)}": claim for each in experiments for claim in each.claims}
    (view,) = studies(experiments, REFERENCE)
    cells = [cell for tile in view.tiles for cell in tile.cells if cell.state == "not judged here" and cell.there]
    assert len(cells) == 6
    for cell in cells:
        (there,) = overview._as_there([{**cards[cell.link], "same_as": None}], REFERENCE)
        assert cell.there and overview.numbers_of(there) == cell.there.numbers


def test_a_number_of_one_claim_never_stands_beside_a_verdict_that_another_gave(quick: Path) -> None:
    experiments, of_another = collect(quick.parent / "here"), 0
    cards = {page_of(claim["id"]): claim for each in experiments for claim in each.claims}
    for cell in (cell for view in studies(experiments, REFERENCE) for tile in view.tiles for cell in tile.cells):
        here = {**cards[cell.link], "same_as": None}
        states = [(cell.state, here, cell.numbers)]
        if there := cell.there:
            decided = cards[f"{cell.link.partition('#')[0]}#{there.claim or cell.claim}"]
            (known,) = overview._as_there([{**decided, "same_as": None}], REFERENCE)
            states.append((there.state, known, there.numbers or there.same))
            of_another += bool(there.claim)
            assert not there.claim or there.same, cell.link
        for state, claim, told in states:
            own = overview._state_for_findings(claim)
            assert own == state or own in told or state == "not judged here", cell.link
    assert of_another >= 2
    page = _read((quick / CARDS).read_text())
    assert re.search(r"e03: Paper 20\.8 packets, measured 22 packets\. Reference set: nearly by e11: it holds", page)
    assert "; e03 itself: holds." in page


def test_what_was_chosen_late_is_told_beside_the_verdicts_of_the_reference_set() -> None:
    verdict = f"({'|'.join(Verdict)})"
    told = 0
    for file in (file for study in kept_results.STUDIES.iterdir() for file in registry.claims_files(study)):
        for claim in registry.load(file).claims:
            text = claim.data.get("chosen_after", "")
            if not text or claim.id not in REFERENCE.claims:
                continue
            kept = REFERENCE.kept[claim.id.partition("/")[0]]["claims"][claim.id]
            for other, too in re.findall(rf'the verdict would be "{verdict}"(, too)?', text):
                assert (other == kept["verdict"]) == bool(too), claim.id
                told += 1
            assert set(re.findall(rf"instead of {verdict}", text)) <= {kept["verdict"]}, claim.id
            assert set(re.findall(rf'the verdict is "{verdict}"', text)) <= set(kept.get("by_reading", {}).values()), (
                claim.id
            )
    assert told >= 5


def test_the_first_page_counts_what_is_not_judged_by_reason_and_lists_what_was_chosen_late(quick: Path) -> None:
    page = (quick / "index.html").read_text()
    counts = {
        state: sum(map(int, re.findall(r"(?:^| )(\d+) [a-z]", reasons)))
        for state, reasons in re.findall(r"Claims that (?:are )?((?:canno|no)t [a-z ]+), by reason:([^<]*)\.<", page)
    }
    claims = [claim for experiment in collect(quick.parent / "here") for claim in experiment.counted]
    states = Counter(map(state_of, claims))
    assert counts == {state: states[state] for state in ("cannot be tested", "not judged here") if states[state]}
    late = [claim["id"] for claim in claims if "chosen_after" in claim]
    assert f"Something of {len(late)} of the claims was chosen after a measurement" in page
    trust = page.partition('id="trust"')[2].partition("</ul>")[0]
    assert [page_of(claim) for claim in late] == re.findall(r'href="([^"]*#e\d+)"', trust)


def test_a_list_of_conclusions_that_is_not_whole_says_of_how_many_findings_it_names_some(quick: Path) -> None:
    text = unescape((quick / "index.html").read_text())
    for view in studies(collect(quick.parent / "here"), REFERENCE):
        section = text.partition(f'aria-labelledby="{view.name}-head"')[2].partition("</section>")[0]
        failing = {finding.name for finding in view.findings if finding.there == Verdict.FAILS}
        if view.conclusions.get("wrong"):
            is_whole = failing <= {*view.concluded["wrong"]}
            head = "Does not hold here" + f": {len(failing)} findings, among them" * (not is_whole)
            assert f"<h3>{head}</h3>" in section, view.name


def test_the_same_numbers_give_the_same_findings_here_and_in_the_reference_set(report: Path) -> None:
    views = studies(collect(report.parent / "here"), REFERENCE)
    assert [view.name for view in views if "reference set" in view.tail] == ["icccn"]  # whose first claim was changed
    for view in views:
        labels = Counter(tile.label for tile in view.tiles)
        assert labels.most_common(1)[0][1] == 1, f"boxes of {view.name} that nobody can tell apart: {labels}"


def test_what_is_one_is_not_called_many(report: Path, quick: Path) -> None:
    singular = "times|less|has|differs|agrees|lasts|implies|holds|does"
    alone = r"(?<![-\d.,\N{EN DASH}\N{MINUS SIGN}])(?<!and )(?<!\N{PLUS-MINUS SIGN}\s)\b1\s"
    many = re.compile(rf"{alone}(?!{singular})[a-z]+[^s\W]s\b")
    wrong = {
        f"{page.name}: {text}"
        for page in [*report.glob("*.html"), *quick.glob("*.html")]
        for text in many.findall(re.sub(r"<[^>]*>", " ", page.read_text()))
    }
    assert wrong == set()


def test_a_quick_look_says_so_and_shows_the_reference_set(quick: Path, browser: Any) -> None:
    page = opened(browser, quick / "index.html")
    assert "Quick look: one seed" in page.locator(".look").inner_text()
    same = page.locator("#same").inner_text()
    assert re.search(r"Of \d+ claims measured here, \d+ have the reference set's number", same)
    assert re.search(r"\d+ contradict a verdict of the reference set", same)
    changes = (quick / "changes.html").read_text()
    assert re.search(
        r"<h1>Of \d+ claims, \d+ have numbers in both; \d+ contradict the reference set&#39;s verdicts, as one seed",
        changes,
    )
    assert "Against the verdict of the reference set" in changes and "nother verdict" not in changes
    words = page.locator("#words").inner_text()
    assert re.search(r"green holds;\s+amber holds nearly:", words)
    assert all(words.count(f"{word}\n") == 1 for word in ("Finding", "Claim", "Run", "Seed"))
    reference = REFERENCE
    views = studies(collect(quick.parent / "here"), reference)
    findings = [finding for view in views for finding in view.findings]
    told_of_all = [finding.numbers_there for finding in findings]
    texts = [finding.numbers_there for finding in findings if finding.there == "open"]
    assert any(re.search(r"holds in \d+ of \d+ seeds; it takes \d+ to decide", text) for text in texts)
    assert any(text.startswith("throughput over capacity: paper at most 0.7, measured") for text in told_of_all)
    page = opened(browser, quick / CARDS)
    card = page.locator("#e01").inner_text()
    assert "agrees in one seed" in card and "holds" in card and "the same number in this seed" in card
    commands = page.locator("#e01 .evidence code").all_text_contents()
    assert [command.count("--size quick") for command in commands] == [1, 0]
    assert serious(page) == []


def test_the_first_page_is_short_and_counts_the_same_everywhere(quick: Path, browser: Any) -> None:
    page = opened(browser, quick / "index.html")
    assert page.evaluate("document.documentElement.scrollHeight") < 9000
    page.locator("#answer .bars a").first.click()
    assert page.locator("#findings tbody").first.is_visible()  # unfolded
    told = page.locator(".answers").inner_text()
    counts = re.search(
        r"(\d+) hold, (\d+) nearly, (\d+) do not \(by whose bounds\), (\d+) are open, (\d+) cannot be tested", told
    )
    assert counts
    all_findings = sum(map(int, counts.groups()))
    rows = page.locator("#answer .bars").inner_text()
    assert sum(map(int, re.findall(r"(\d+) findings", rows))) == all_findings
    in_rows = sum(int(number) for number in re.findall(r"(\d+) (?:holds?|nearly|do|is|are|cannot)\b", rows))
    assert in_rows == all_findings
    assert f"{all_findings} findings" in told
    assert page.locator("#legend li").first.inner_text() == f"{all_findings} findings:"
    sections = page.locator("#findings").inner_text()
    claims = sum(len(experiment.counted) for experiment in collect(quick.parent / "here"))
    in_sections = re.findall(r"(\d+) (?:agrees?|nearly|differs?|open|holds?|does|do|cannot|not)\b", sections)
    assert sum(map(int, in_sections)) == claims and f"Of {claims} claims" in (quick / "changes.html").read_text()


def test_no_two_quantities_of_the_first_screen_have_one_number(quick: Path, browser: Any) -> None:
    """105 findings held, 105 claims did not hold, and there were 105 claims behind those of PAM."""
    page = opened(browser, quick / "index.html")
    words = " ".join(" ".join(page.locator(part).inner_text() for part in (".answers", "#words", "#trust")).split())
    counted: dict[str, set[str]] = {}
    for number, what in re.findall(r"(?<![\w.-])(\d[\d,]*) (hold|nearly|do not|are open|cannot|[a-z]+s\b)", words):
        counted.setdefault(number, set()).add(what)
    assert {
        number: what for number, what in counted.items() if len(what) > 1 and int(number.replace(",", "")) > 20
    } == {}


def test_settings_of_a_program_count_once() -> None:
    """The first page called 37 names implementations, of which four are libutp."""
    names = ["libutp", "libutp-beta1", "tcp-reno", "tcp-w-10220", "tcp-l", "tcp-lp", "quic-go", "removed-since"]
    flows = [{"implementation": name} for name in names]
    result = ExperimentResult("id", "title", "Fig. 1", "study", {}, {}, {}, {}, None, {"settings": [{"flows": flows}]})
    assert programs([result]) == {
        "libutp": ["libutp-beta1"],
        "quic-go": [],
        "removed-since": [],
        "tcp-lp": [],
        "tcp-reno": ["tcp-l", "tcp-w-10220"],
    }


def test_a_statement_that_is_not_judged_here_says_neither_yes_nor_no(quick: Path) -> None:
    results = collect(quick.parent / "here")
    short = {"reason": NOT_RUN, "why": "the runs last 60 s (full: 300 s)"}
    result = next(result for result in results if result.id == "today-foreground")
    claim = next(claim for claim in result.claims if claim["id"].endswith("/e02"))
    unjudged = {**claim, "verdict": "cannot be tested", "not_testable": short, "why": short["why"]}
    told = overview.measured_of(unjudged)
    assert told.startswith("largest share: ") and "hold" not in told and "must" not in told
    source = Source(result, results, quick.parent / "here", quick, quick)
    (card,) = cards([unjudged], [REFERENCE], source)
    assert (card.measured, card.why_not) == ("", "The runs last 60 s (full: 300 s).")
    assert "hold" not in card.how_many and card.strip == "" and "✗" in card.strip_there


def test_marks_of_one_seed_are_hollow_and_named_as_they_are(quick: Path, browser: Any) -> None:
    page = opened(browser, quick / "index.html")
    words = page.locator("#matrix p").first.inner_text()
    for state, said in (("agrees-in-one-seed", "agrees"), ("differs-in-one-seed", "differs in one seed")):
        mark = page.locator(f"#matrix .cell.{state}").first
        sign = mark.evaluate("cell => getComputedStyle(cell, '::before').content").strip('"')
        assert sign in "◇⊗" and f"{sign} {said}" in words
        ground = mark.evaluate("cell => getComputedStyle(cell).backgroundColor")
        assert ground == page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_a_table_of_a_quick_look_shows_the_reference_set(quick: Path) -> None:
    page = (quick / "aina-table2-throughput.html").read_text()
    assert "and that of the reference set, of 20 seeds: a mean ± half its 95 % interval; it links" in page
    for whose in ("paper 1", "one seed", "reference"):
        assert f'<span class="soft small">{whose}' in page
    assert page.count('data-name="every 1 s [kbit/s]"') == 3  # on a phone a row has no head above it
    assert page.count('<span class="verdict there ') == 18  # a field for each number of the paper
    assert '<span class="verdict there holds">1,130 ± 30</span>' in page


def test_numbers_without_verdicts_of_a_quick_look_stand_beside_the_reference_set(quick: Path, tmp_path: Path) -> None:
    shutil.copytree(quick.parent / "here", tmp_path / "here")
    folder = tmp_path / "here/experiments/icccn-causes"
    data = json.loads((folder / "verdicts.json").read_text())
    first, second = data["also_measured"][:2]
    first["measured"] = {"seeds": 1, "never": 0, "mean": 84.2, "minimum": 84.2, "maximum": 84.2, "std": None}
    first["measured"] |= {"ci95": None, "by_seed": {"1": 84.2}}
    second["measured"] = None
    (folder / "verdicts.json").write_text(json.dumps(data))
    vouch(folder)
    shutil.copytree(kept_results.REFERENCE, tmp_path / "reference")
    file = tmp_path / "reference/icccn-causes.json"
    numbers = {first["metric"]: {"1": 84.2, "2": 84.4, "3": 90}, second["metric"]: {"1": 5, "2": 5}}
    file.write_text(json.dumps(json.loads(file.read_text()) | {"also_measured": numbers}))
    options = ["--results", str(tmp_path / "here"), "--reference", str(tmp_path / "reference")]
    assert main(["report", *options, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out/icccn-causes.html").read_text()
    rows = [
        re.findall(r"<t[dh].*?>(.*?)</t[dh]>", re.sub("</?span.*?>", "", row).replace("\N{NO-BREAK SPACE}", " "))
        for row in page.split("<tr>")
        if row.startswith(('<th scope="col">number', *(f"<td>{metric}" for metric in numbers)))
    ]
    assert rows == [
        ["number", "one seed", "reference set: median", "range over its seeds (how many)"],
        [first["metric"], "84.2 %", "84.4 %", "84.2 to 90 (3)"],
        [second["metric"], "\N{EN DASH}", "5 %", "5 (2)"],
    ]
    assert "The reference set stands beside each number." in page


def test_what_changed_is_of_the_claims_that_were_compared() -> None:
    assert (
        changes.summary([], 616, 192)
        == "All 192 claims that have numbers in both have the same verdict and the same numbers."
    )
    assert changes.summary([], 2, 2) == "All 2 claims have the same verdict and the same numbers."


def test_a_quick_look_without_the_reference_set_does_not_promise_it(tmp_path: Path) -> None:
    kept_results.write(tmp_path / "here", "icccn", size="quick")
    assert main(["report", "--results", str(tmp_path / "here"), "--out", str(tmp_path / "out")]) == 0
    for name in ("icccn-causes", "icccn-fig2a-ledbat-vs-tcp"):
        page = (tmp_path / "out" / f"{name}.html").read_text()
        assert "Quick look, one seed" in page
        assert "The reference set stands beside" not in page
    first = (tmp_path / "out/index.html").read_text()
    assert "the reference set" not in first.lower()
    assert "none holds, 33 are open" in first
    assert "LEDBAT yields to TCP, and a late-comer" not in first  # what the reference set gave
    assert "What one paper says of LEDBAT: " in first


def test_a_report_of_some_experiments_says_that_others_may_decide(tmp_path: Path, report: Path) -> None:
    """Figure 2(a) has a gain by LEDBAT, however small; that it is not the paper's, another experiment shows."""
    kept_results.write(tmp_path / "here", "icccn")
    for folder in (tmp_path / "here/experiments").glob("icccn-*"):
        if folder.name != "icccn-fig2a-ledbat-vs-tcp":
            shutil.rmtree(folder)
    assert main(["report", "--results", str(tmp_path / "here"), "--out", str(tmp_path / "out")]) == 0
    first = (tmp_path / "out/index.html").read_text()
    assert "5 findings, as far as 1 of 17 experiments has them" in first
    assert "as far as the experiments here decide them" in first
    assert "1 program or congestion control</b>" not in first and "2 programs and congestion controls</b>" in first
    assert "as far as" not in (report / "index.html").read_text()


def test_a_report_of_all_that_decides_is_whole(tmp_path: Path) -> None:
    kept_results.write(tmp_path / "here", "aina")
    for name in ("aina-base-history", "aina-fig2-choices"):
        shutil.rmtree(tmp_path / "here/experiments" / name)
    assert main(["report", "--results", str(tmp_path / "here"), "--out", str(tmp_path / "out")]) == 0
    assert "as far as" not in (tmp_path / "out/index.html").read_text()


def test_a_failed_run_counts_once_and_among_all(report: Path) -> None:
    experiment = next(result for result in collect(report.parent / "here") if result.folder)
    failed = {"failed": [{"cell": "single", "seed": 99, "why": "it hung"}]}
    another = dataclasses.replace(experiment, id="another", data=experiment.data | failed)  # of the same runs
    made = overview.banner([dataclasses.replace(another, id="one"), another])
    assert (made["runs"], made["failed"]) == (len(experiment.data["runs"]), 1)
    kept_results.write(report.parent / "failed", "icccn")
    file = report.parent / "failed/experiments/icccn-fig2b-ledbat-vs-ledbat/verdicts.json"
    data = json.loads(file.read_text())
    file.write_text(json.dumps(data | failed))
    vouch(file.parent)
    assert main(["report", "--results", str(report.parent / "failed"), "--out", str(report.parent / "of-failed")]) == 0
    told = (report.parent / "of-failed/index.html").read_text()
    runs = overview.banner(collect(report.parent / "failed"))["runs"]
    assert f"of {runs + 1} here, 1 failed" in told


def test_what_the_reference_set_lacks_is_not_called_open(tmp_path: Path) -> None:
    """An experiment of one's own, or one that is newer than the reference set."""
    kept_results.write(tmp_path / "here", "icccn", size="quick")
    (tmp_path / "there").mkdir()
    for name in ("set", "pam-fig4b-adsl-interference"):
        shutil.copy(kept_results.REFERENCE / f"{name}.json", tmp_path / "there")
    options = ["--results", str(tmp_path / "here"), "--reference", str(tmp_path / "there")]
    assert main(["report", *options, "--out", str(tmp_path / "out")]) == 0
    first = (tmp_path / "out/index.html").read_text()
    assert "none holds, 33 not in the reference set" in first and "are open" not in first
    assert not re.search(r"\b0 claims", first) and "contradicts a verdict" not in first


def test_what_an_experiment_has_of_a_finding_stands_in_its_own_words(report: Path) -> None:
    view = next(study for study in studies(collect(report.parent / "here"), None) if study.name == "icccn")
    tile = next(tile for tile in view.tiles if tile.experiment.id == "icccn-fig2a-ledbat-vs-tcp")
    whole = {finding.sentence: finding.state for finding in view.findings}
    gain = "TCP and LEDBAT together use the link 16 % better than TCP alone, estimated by the sum of the windows."
    assert whole[gain] == "nearly"
    assert all(whole.get(cell.sentence, cell.state) == cell.state for cell in tile.cells)


def test_below_a_title_of_the_reference_set_stand_the_numbers_of_these_runs() -> None:
    claim = {"id": "x/e01", "metric": "rate", "unit": "kbps", "paper": "166", "is_look": True, "verdict": "nearly"}
    number = {"mean": 239.0, "std": None, "ci95": None, "seeds": 1, "minimum": 239.0, "maximum": 239.0}
    there = {**claim, "measured": number}
    reason = {"not_testable": {"reason": "not run at this size"}, "why": "the runs last 60 s (full: 100 s)"}
    short = {**there, **reason, "verdict": "cannot be tested"}
    missing = {**claim, **reason, "verdict": "cannot be tested"}
    for one, says in ((there, "measured 239"), (short, "measured 239"), (missing, "last 60 s")):
        data = {"experiment": {"result_of": ["e01"]}, "claims": [one]}
        titled_one = ExperimentResult("x", "title", "Fig. 1", "study", {}, {}, {}, {}, None, data, result="a result")
        [(name, text)] = of_result(titled_one)
        assert name == "e01" and says in text.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("by_seed", "what"),
    [({"1": 3.0}, "One seed"), ({"1": 3.0, "2": 4.0}, "Median, and range over the seeds")],
)
def test_one_seed_has_no_median(by_seed: dict[str, float], what: str) -> None:
    figure = {"overview": "yielding", "values": [{"label": "CUBIC: LEDBAT", "by_seed": by_seed}]}
    shown = yielding(
        [ExperimentResult("id", "title", "Fig. 1", "study", {}, {}, {}, {}, None, {"figure": figure})], None
    )
    assert shown and shown.what == what


def test_one_seed_stands_beside_the_range_of_the_reference_set() -> None:
    figure = {"overview": "yielding", "values": [{"label": "BBR: libutp", "by_seed": {"1": 40.0}}]}
    data = {"figure": figure, "claims": [], "experiment": {}}
    kept = {"claims": {}, "figure": {"BBR: libutp": {"1": 0.0, "2": 43.0, "3": 17.0}}}
    there = Beside("reference set", {}, kept={"id": kept})
    shown = yielding([ExperimentResult("id", "title", "Fig. 1", "study", {}, {}, {}, {}, None, data)], there)
    assert shown and shown.what == "One seed. In brackets: the reference set, median and range"
    assert [share and share.there for _, shares in shown.rows for share in shares] == ["17, 0 to 43"]


def test_a_black_corner_is_of_what_the_box_alone_shows(quick: Path, report: Path) -> None:
    for folder, means in ((quick, "contradicts the mark"), (report, "has another verdict")):
        page = unescape(" ".join(re.sub(r"<[^>]*>", "", (folder / "index.html").read_text()).split()))
        assert "a mark a finding, as the box alone shows it; a finding's verdict over all boxes stands below" in page
        assert re.search(rf"A black corner: the reference set( of [-0-9]+)? {means}, for the box alone\.", page)


def test_a_title_of_the_reference_set_has_what_this_seed_says_below_it(quick: Path, report: Path) -> None:
    name = "eunice-fig2-md-nf1.html"
    told = re.findall(r"In these runs, of one seed:(.*?)</p>", (quick / name).read_text(), re.S)
    assert len(told) == 1 and "difference of the durations: " in told[0] and 'href="#e04"' in told[0]
    assert re.search(
        r"<h1><span[^>]*>In the reference set( of [-0-9]+)?:</span> Without a noise", (quick / name).read_text()
    )
    assert "<h1>Without a noise" in (report / name).read_text()
    assert "In these runs, of one seed" not in (report / name).read_text()


def test_a_title_stands_above_what_the_page_has_against_it(report: Path, quick: Path) -> None:
    for folder, where in ((report, ""), (quick, " in the reference set")):
        head = _read((folder / WIDEST).read_text().partition("<figure>")[0])
        assert f"does not hold{where}: TCP flows with Linux's default receive window retransmit" in head
        assert f"open{where}: TCP flows with Linux's default receive window leave beta1 flows at most 5 %" in head
    told = _read((quick / TABLE).read_text())
    assert re.search("e61: Slow start hardly changes how TCP and LEDBAT share the link: it (holds|does not)", told)


def test_no_title_has_a_word_of_the_verdicts_for_a_number() -> None:
    for file in (file for study in kept_results.STUDIES.iterdir() for file in registry.claims_files(study)):
        assert not re.search(r"\bnear(ly)? the paper", registry.load(file).data.get("result", "")), file


def test_a_table_says_which_columns_do_not_count(report: Path) -> None:
    page = _read((report / TABLE).read_text())
    assert page.count("(does not count)") == 2 and "Columns that do not count decide nothing" in page
    assert "does not count)" not in _plain((report / WIDEST).read_text())


def test_a_control_that_no_claim_names_says_so(report: Path) -> None:
    foreground = next(result for result in collect(report.parent / "here") if result.id == "today-foreground")
    named = " ".join(claim["title"] for claim in foreground.claims)
    for value in foreground.data["figure"]["values"]:
        control = value["label"].partition(": ")[2]
        assert control.endswith("(for comparison)") or control.partition(" 2")[0] in named


def _fail_first_claim(folder: Path) -> None:
    file = folder / "verdicts.json"
    data = json.loads(file.read_text())
    data["claims"][0] |= {"verdict": "does not hold"}
    file.write_text(json.dumps(data))
    vouch(folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


def test_sizes(report: Path) -> None:
    assert (report / "index.html").stat().st_size < INDEX_BYTES
    too_large = {page.name: size for page in report.glob("*.html") if (size := page.stat().st_size) > PAGE_BYTES}
    assert too_large == {}
    assert sum((report / name).stat().st_size for name in ("report.js", "report.css")) < 50_000


def test_pages_are_valid_html(report: Path) -> None:
    assert invalid(report, *PAGES, "causes.html", "changes.html", "machines.html") == ""


@pytest.mark.parametrize("name", PAGES)
def test_nothing_keeps_readers_out(report: Path, browser: Any, name: str) -> None:
    page = opened(browser, report / name)
    assert serious(page) == []
    assert page.said == []


@pytest.mark.parametrize("name", PAGES)
def test_a_dark_phone_scrolls_in_one_direction_and_keeps_no_readers_out(report: Path, browser: Any, name: str) -> None:
    page = opened(browser, report / name, viewport=PHONE, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert serious(page) == []
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.said == []


def test_what_is_only_read_aloud_widens_no_page(report: Path, browser: Any) -> None:
    page = opened(browser, report / TABLE, viewport=PHONE)
    cells = page.locator(".scroll td:last-child")
    cells.first.evaluate("cell => cell.insertAdjacentHTML('beforeend', '<span class=hidden>better</span>')")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


@pytest.mark.parametrize(
    ("name", "is_decided"), [("eunice-fig5-mean-rate-linear", False), ("aina-fig5-normalized-throughput", True)]
)
def test_a_title_states_a_result_only_where_its_claims_are_decided(report: Path, name: str, is_decided: bool) -> None:
    entry = json.loads((report.parent / "here/experiments" / name / "verdicts.json").read_text())["experiment"]
    head = re.search("<h1>(.*?)( <|</h1>)", (report / f"{name}.html").read_text())
    assert head and (head[1] == entry["result"].strip()) == is_decided
    assert (entry["title"] in head[1]) != is_decided


def test_a_card_promises_nothing_of_more_seeds_than_the_rules_allow() -> None:
    near = {"verdict": "nearly", "unit": "s", "measured_interval": [8.5, 9.5], "why": WITHIN_THE_LARGER.format(40)}
    text = rule(near | {"zones": {"is_ratio": False, "holds": [9.0, 11.0], "nearly": [8.0, 12.0]}})
    assert text.endswith("s. As many seeds as the rules allow would not show more.")


def _in_the_reference_set(name: str) -> dict[str, Any]:
    """Give a claim as a report of the reference set has it."""
    files = (file for study in kept_results.STUDIES.iterdir() for file in registry.claims_files(study))
    claims = (claim for file in files for claim in registry.load(file).claims)
    return {**next(claim.data for claim in claims if claim.id == name), **REFERENCE.claims[name]}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "aina-fig4-delay-increase/e03",
            "open: read as 720 s: nearly, read as 840 s: does not hold",
        ),
        (
            "icccn-table1-tcp-vs-ledbat/e35",
            "open: read as 1.3 x 10⁻⁶: holds, read as 1.3 x 10⁻⁵: does not hold",
        ),
    ],
)
def test_a_claim_whose_readings_disagree_says_what_each_gives(name: str, said: str, quick: Path) -> None:
    claim = _in_the_reference_set(name)
    assert _plain(rule(claim)).endswith(f" {said[0].upper()}{said[1:]}.")
    assert _plain(overview.measured_of(claim)).endswith(f"; {said}")
    page, _, card = name.partition("/")
    assert f"{said[0].upper()}{said[1:]}." in _plain(_cards(quick / f"{page}.html")[card])


def test_what_is_above_nothing_has_no_number_below_it() -> None:
    zones = {"is_ratio": False, "holds": [5e-324, None], "nearly": [5e-324, 2.25]}
    text = rule({"verdict": "open", "unit": "percent", "measured_interval": [-2.4, 6.0], "zones": zones, "why": ""})
    assert "It holds if all of that is above 0, nearly if above 0 and at most 2.25" in text
    assert formats.number(5e-324) == "0"


def test_a_number_has_the_notation_that_the_paper_has() -> None:
    claim = _in_the_reference_set("icccn-table1-tcp-vs-ledbat/e04")
    assert _plain(overview.measured_of(claim)).endswith("paper 6.2 x 10⁻³, measured 1.19 x 10⁻²")
    assert _plain(rule(claim)).count("10⁻") == 6 and not re.search(r"0\.0\d", rule(claim))
    mixed = {"verdict": "holds", "zones": {"is_ratio": True, "holds": [0.000379, 0.0012], "nearly": [0.0003, 0.0013]}}
    assert "from 3.79 x 10⁻⁴ to 1.20 x 10⁻³, nearly if from 3.00 x 10⁻⁴" in _plain(rule(mixed | {"paper": "0.0007"}))


def test_an_index_of_one_has_the_decimals_of_its_neighbours() -> None:
    measured = {"mean": 1.0, "std": None, "ci95": None, "seeds": 1}
    index = {"paper": "0.98", "unit": "1", "measured": measured}
    assert formats.measured_value(index) == "1.000"
    assert formats.measured_value({**index, "measured": {**measured, "mean": 0.99996}}) == "1.000"
    assert formats.measured_value({**index, "paper": "1"}) == "1"
    assert _plain(formats.measured_value({"paper": "20.8", "unit": "packets", "measured": measured})) == "1 packet"


def test_each_reading_of_a_scan_has_its_bounds(quick: Path) -> None:
    said = _plain(rule(_in_the_reference_set("aina-fig4-delay-increase/e04")))
    assert "Read as 840, it holds if all of that is from 804 to 876 s, nearly if from 732 to 948 s." in said
    assert "Read as 720, it holds if from 690 to 750 s, nearly if from 630 to 810 s." in said
    # a run of another reading of the text is judged by each
    results = collect(quick.parent / "here")
    result = next(result for result in results if result.id == "aina-fig4-delay-increase")
    claim = next(claim for claim in result.claims if claim["id"].endswith("/e04"))
    measured = {"mean": 633.7, "std": 0.1, "ci95": 0.05, "seeds": 2, "by_seed": {"1": 633.6, "2": 633.8}, "never": 0}
    other = {"title": "both directions", "verdict": "open", "measured": measured}
    (card,) = cards(
        [{**claim, "is_look": False, "by_reading": [other]}],
        [],
        Source(result, results, quick.parent / "here", quick, quick),
    )
    assert _plain(card.by_reading[0]["text"]) == "634 s (read as 840 s: does not hold, read as 720 s: nearly)"


def test_a_card_says_what_the_scan_has_and_what_was_chosen_in_whole_sentences(report: Path, quick: Path) -> None:
    first = _cards(report / "aina-table2-throughput.html")["e01"]
    paper = _read(first).partition("Measured")[0]
    assert "Paper 1132.07 ± 26.4727 kbit/s, Table II row 1" in paper and "column" not in paper
    assert "(confidence: high). The t column has" in _read(first)
    scanned = _read(_cards(report / TABLE)["e03"])
    assert "6.5 x 10⁻⁴, Table I row 1, left half, scanned as 6510~ *" in scanned
    chosen = _read(_cards(quick / CARDS)["e03"])
    assert chosen.index("the middle of that stretch is taken.") < chosen.index("Chosen after a measurement:")
    assert re.search(r"holds, 21\.6 ± 0\.1 packets, 50 seeds, the same number in this seed", chosen)


def test_a_spread_next_to_zero_has_no_bound_below_it_and_no_cause_where_it_is_reproduced(report: Path) -> None:
    said = _plain(rule(_in_the_reference_set("icccn-table1-tcp-vs-ledbat/e45")))
    assert (
        "it holds if all of that is from 0 to 4.01 x 10⁻⁶, nearly if from 0 to 4.01 x 10⁻⁶. The paper's value" in said
    )
    assert said.endswith("The scan may say 1.0 x 10⁻⁶, too, with the same verdict.")
    of_page = _cards(report / "icccn-table1-tcp-vs-ledbat.html")
    assert 'class="cause"' in of_page["e30"]
    assert 'class="cause"' not in of_page["e45"]


def _cards(page: Path) -> dict[str, str]:
    return dict(re.findall(r'<article[^>]* id="(e\d+)"(.*?)</article>', page.read_text(), re.DOTALL))


def _read(page: str) -> str:
    """Give the words of a page, or of a part of it, in one line."""
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", _plain(page))).split())
    return re.sub(r" (?=[,.;:)])", "", text)


def _plain(text: str) -> str:
    """Give a text with characters that a keyboard has."""
    return text.replace("\N{MULTIPLICATION SIGN}", "x").replace("\N{NO-BREAK SPACE}", " ")


def test_a_title_is_of_no_experiment_that_decides_nothing(report: Path) -> None:
    for experiment in collect(report.parent / "here"):
        states = {state_of(claim) for claim in experiment.counted} - {"cannot be tested"}
        if states and not states & {"holds", "nearly", "does not hold"}:
            assert titled(experiment, None).result == "", experiment.id


def test_the_first_screen_says_what_came_out(report: Path, browser: Any) -> None:
    page = opened(browser, report / "index.html")
    trust = page.locator("#trust").inner_text()
    for said in ("complete", "2026-11-20", "make reproduce", "commit", "host"):
        assert said in trust
    headlines = page.locator("#matrix .headline").all_inner_texts()
    assert len(headlines) == len(page.locator("#matrix .study").all())
    assert all(re.match(r"Of \d+ findings, \d+ hold, ", line) for line in headlines)
    assert page.locator("#picked h2").all_inner_texts() == ["Holds", "Does not hold", "Open"]
    for section in (".answers", "#answer .bars"):
        box = page.locator(section).bounding_box()
        assert box["y"] + box["height"] < page.viewport_size["height"]
    assert re.search(r"Of these findings, \d+ hold, \d+ nearly", page.locator(".answers").inner_text())
    assert "1 has another verdict" in page.locator("#same").inner_text()
    told = page.locator("#legend").text_content()
    undecided = re.search(r"(\d+) claims are open: (\d+) for lack of seeds, (\d+) whatever", told)
    assert undecided
    counts = [int(count) for count in undecided.groups()]
    assert counts[0] == counts[1] + counts[2] and min(counts) > 0


def test_a_headline_counts_nothing_that_the_reference_set_left_undecided() -> None:
    reference = Beside("reference set", {}, {"date": "2026-01-02"})
    said = _headline(Counter({"holds": 1}), Counter({"open": 1}), reference)
    assert said == ("Of 1 finding, 1 holds.", "In the reference set of 2026-01-02, none holds, 1 is open.")
    said = _headline(Counter({"nearly": 1}), Counter({"holds": 1, "nearly": 2}), reference)
    assert said == ("Of 1 finding, none holds, 1 nearly.", "In the reference set of 2026-01-02, 1 holds, 2 nearly.")
    said = _headline(Counter({"agrees in one seed": 2, "differs in one seed": 1}), Counter(), None)
    assert said == ("Of 3 findings, one seed agrees with 2, and decides none.", "1 differs in one seed.")


def test_a_mark_says_the_papers_value_and_the_measured_one(report: Path, browser: Any) -> None:
    page = opened(browser, report / "index.html")
    cell = page.locator('.cell[data-finding="icccn/ledbat-yields"]').first
    label = cell.get_attribute("aria-label")
    assert re.search(r"paper \d.*, measured \d", label)
    tip = expect(page.locator("#tip"))
    cell.hover()
    tip.to_have_text(label)
    page.mouse.move(0, 0)
    tip.to_be_hidden()
    cells = page.locator("#matrix .study").first.locator(".cell")
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    expect(cells.nth(1)).to_be_focused()
    tip.to_have_text(cells.nth(1).get_attribute("aria-label"))
    cells.nth(1).click()
    expect(page.locator(".claim:target")).to_be_visible()


def test_filters(report: Path, browser: Any) -> None:
    page = opened(browser, report / "index.html")
    every = page.locator(".cell:visible").count()
    shown = page.locator(".cell:not(.off):visible")
    page.locator('.legend input[value="holds"]').uncheck()
    assert 0 < shown.count() < every
    assert page.locator(".cell.holds:not(.off)").count() == 0
    assert page.locator('.finding[data-state="holds"]:visible').count() == 0
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function(f"document.querySelectorAll('.cell:not(.off)').length === {every}")
    page.locator("#study").select_option("pam")
    assert page.locator("#matrix .study:visible").count() == 1
    page.locator("#study").select_option("")
    page.locator("#implementation").select_option("tcp-ledbat-draft00")
    assert 0 < page.locator(".tile:not(.off)").count() < page.locator(".tile").count()
    assert page.locator("#shown").inner_text()


def test_what_a_search_does_not_find_is_dim_be_it_judged_here_or_not(quick: Path, browser: Any) -> None:
    page = opened(browser, quick / "index.html")
    page.locator(".cell").first.evaluate("cell => cell.classList.add('ghost')")  # as if this size lacked its runs
    page.locator("#search").fill("no claim says this")
    page.wait_for_function("document.querySelector('.cell.ghost.off')")
    opacities = "cells => [...new Set(cells.map(cell => getComputedStyle(cell).opacity))]"
    assert page.locator(".cell.off").evaluate_all(opacities) == ["0.13"]


def test_the_address_holds_what_is_chosen(report: Path, browser: Any) -> None:
    page = opened(browser, report / "index.html")
    page.locator("#study").select_option("pam")
    page.locator('.legend input[value="holds"]').uncheck()
    assert page.url.endswith("?study=pam&without=holds")
    again = opened(browser, report / "index.html", "?study=pam&without=holds")
    assert again.locator("#matrix .study:visible").count() == 1
    assert again.locator(".cell.holds:not(.off)").count() == 0
    assert page.said == again.said == []


def test_search_finds_claims(report: Path, browser: Any) -> None:
    page = opened(browser, report / "index.html")
    page.locator("#search").fill("jain together 0.65")
    hit = page.locator("#hits a").first
    assert "Jain index of 0.65" in hit.inner_text()
    assert page.locator("#shown").inner_text().startswith("1 claim found")
    hit.click()
    assert page.url.endswith(f"{CARDS}#e01")
    assert page.locator("#e01").is_visible()


def test_search_says_where_a_word_stands_that_a_hit_lacks(quick: Path, browser: Any) -> None:
    page = opened(browser, quick / "index.html")
    page.locator("#search").fill("starved")
    hits = page.locator("#hits li").all_inner_texts()
    assert len(hits) > 1 and all("starved" in hit.lower() for hit in hits)
    assert any("\nFound in: " in hit for hit in hits)
    assert all(re.search(r"; reference set: (holds|nearly|open|does not hold)", hit) for hit in hits)
    assert (
        page.locator("#shown").inner_text().endswith(" marks match; a finding has one in each box that speaks of it.")
    )


def test_a_permalink_leads_to_its_card(report: Path, browser: Any) -> None:
    page = opened(browser, report / CARDS, "#e14")
    box = page.locator("#e14").bounding_box()
    assert 0 <= box["y"] < page.viewport_size["height"]
    assert page.locator("#e14 .permalink").get_attribute("href") == "#e14"


def test_failures_stand_first_and_claims_say_what_others_have(report: Path, browser: Any) -> None:
    page = opened(browser, report / TABLE)
    order = ["does not hold", "open", "nearly", "holds", "cannot be tested"]
    verdicts = page.locator(".beyond > .claim > header .verdict").all_inner_texts()
    assert len(verdicts) > 30 and verdicts == sorted(verdicts, key=order.index)
    uncounted = page.locator("details > .claim").all_text_contents()
    assert len(uncounted) == 24 and all("so it does not count" in text for text in uncounted)
    page.locator("table.claims td:nth-child(4) a").first.click()  # to one of these
    assert page.locator(".claim:target").is_visible()
    assert page.locator(".claim .strip circle").count() > 100
    page = opened(browser, report / CARDS)
    card = page.locator("#e01").inner_text()
    for said in ("Reference set", "Evaluator", "does not hold", "0.65", "sec. IV.A par. 5"):
        assert said in card
    page.locator("#e01 summary").last.click()
    assert "testbed run" in page.locator("#e01 .evidence").inner_text()
    assert "snakemake --cores all icccn-fig2a-ledbat-vs-tcp" in page.locator("main").inner_text()
    assert page.locator("#e01 .copy").is_visible()


def test_an_evidence_row_leads_to_files_that_a_site_has(report: Path, browser: Any) -> None:
    page = opened(browser, report / CARDS)
    row = page.locator("#e01 .evidence")
    for name in ("numbers (CSV)", "scenario", "claims"):
        link = row.get_by_role("link", name=name, exact=True).get_attribute("href")
        assert (report / link).is_file(), name
    assert "no run here" in row.inner_text()  # the reference set has no runs
    kept = json.loads((report / row.get_by_role("link", name="reference set (JSON)").get_attribute("href")).read_text())
    claim = f"{Path(CARDS).stem}/e01"
    assert kept["claims"][claim]["by_seed"] == REFERENCE.claims[claim]["measured"]["by_seed"]
    page = opened(browser, report / "eunice-fig1-linear-two-flows.html")
    assert page.locator(".evidence a[href^='https://doi.org/10.1007/']").count() > 0
    told = page.locator(".evidence").first.inner_text()
    assert "EUNICE 2011, " in told
    page = opened(browser, report / TABLE)
    assert re.search(r"ICCCN 2010, Table I.*: \S.*no DOI known", page.locator(".evidence").first.inner_text())


def test_a_sentence_of_the_paper_stands_with_the_claims_whose_finding_it_states(quick: Path) -> None:
    studied = [registry.load_study(folder) for folder in registry.folders_of_studies(kept_results.STUDIES)]
    first_page = unescape((quick / "index.html").read_text())
    for quote in (quote for study in studied for quote in study.quotes):
        assert (f"<q>{quote['text']}</q>" in first_page) == quote.get("outcome", False), quote
    shown = 0
    for experiment in collect(quick.parent / "here"):
        page = (quick / f"{experiment.id}.html").read_text()
        rows = dict(re.findall(r'<article [^>]*id="(e\d+)".*?(<div class="evidence.*?)</article>', page, re.S))
        for claim in experiment.claims:
            finding = claim.get("finding") if claim.get("role") != "echo" else None
            of_it = [one["text"] for one in experiment.quotes if finding in one.get("findings", [])]
            row = unescape(rows[name_of(claim)])
            assert [one["text"] for one in experiment.quotes if f"<q>{one['text']}</q>" in row] == of_it
            shown += len(of_it)
    assert shown > 20
    assert "no DOI known</span>, ISBN 978-1-61284-313-1" in (quick / "aina-fig3-delay-decrease.html").read_text()


def test_a_statement_has_a_mark_a_seed(report: Path, browser: Any) -> None:
    verdicts = json.loads((report.parent / "here/experiments" / Path(CARDS).stem / "verdicts.json").read_text())
    held = {name_of(claim): claim["held"] for claim in verdicts["claims"] if claim["held"]}
    assert held
    page = opened(browser, report / CARDS)
    for name, seeds in held.items():
        card = page.locator(f"#{name}")
        signs = ["✓" if holds else "✗" for holds in seeds.values()]
        assert card.locator(".seeds i").all_inner_texts() == signs
        assert card.locator(".seeds").inner_text().endswith(f"seeds 1 to {len(seeds)}")
        assert card.locator("svg.strip").count() == 0


@pytest.mark.parametrize(
    ("held", "label", "below"),
    [
        ({"1": True}, "holds in 1 of 1 seed", "seed 1"),
        ({"1": True, "2": False, "4": False}, "holds in 1 of 3 seeds; not in 2, 4", "seeds 1 to 4"),
    ],
)
def test_a_statement_says_in_which_seeds_it_fails(held: dict[str, bool], label: str, below: str) -> None:
    drawn = held_strip({"held": held})
    assert f'aria-label="{label}"' in drawn and f">{below}<" in drawn
    assert (drawn.count("✓"), drawn.count("✗")) == (sum(held.values()), len(held) - sum(held.values()))


@pytest.mark.parametrize(
    ("by_seed", "holds", "labels"),
    [
        ([1e-5, 5.65e-5], [2e-5, 4e-5], ["2 x 10⁻⁵", "4 x 10⁻⁵", "6 x 10⁻⁵"]),
        ([4e-4, 5e-4], [7e-4, 1.8e-3], ["0.5 x 10⁻³", "1.0 x 10⁻³", "1.5 x 10⁻³"]),
        ([-12.0, 21.0], [0.0, 21.0], ["-10", "0", "10", "20"]),
    ],
)
def test_the_numbers_of_an_axis_have_one_notation_and_are_not_cut_off(
    by_seed: list[float], holds: list[float], labels: list[str]
) -> None:
    measured = {"mean": by_seed[0], "ci95": None, "by_seed": dict(enumerate(by_seed))}
    zones = {"holds": holds, "nearly": holds, "is_ratio": False}
    claim = {"measured": measured, "zones": zones, "paper": str(holds[0]), "unit": "1", "metric": "loss_rate"}
    drawn = re.findall(r'<text x="([\d.]+)" y="48">([^<]*)<', strip(claim))
    signs = str.maketrans({"\N{MULTIPLICATION SIGN}": "x", MINUS: "-"})
    assert [label.translate(signs) for _, label in drawn] == labels
    assert "-" not in "".join(label for _, label in drawn)
    for x, label in drawn:
        assert text_width(label) / 2 <= float(x) <= WIDTH - text_width(label) / 2


def test_a_flow_between_two_implementations_names_both(report: Path) -> None:
    assert "<dd>${two} to ${one}</dd>" in (report / "today-swarm-clients.html").read_text()


def test_a_card_says_in_a_sentence_what_the_paper_does_not_give(report: Path) -> None:
    page = (report / "pam-fig2b-capacity-steps.html").read_text()
    assert '<dt>Our choice</dt><dd class="soft">the bound, which the paper does not give</dd>' in page
    assert "not the paper's: " not in page


def test_a_cause_says_in_a_sentence_that_the_runs_that_varied_it_were_not_kept(report: Path) -> None:
    page = (report / "pam-fig4b-adsl-interference.html").read_text()
    assert "Varied in runs that were not kept: " in page and "Varied in not kept" not in page


def test_questions_of_today_say_what_was_expected_and_what_to_do(report: Path, browser: Any) -> None:
    page = opened(browser, report / "today-foreground.html")
    assert page.locator("h1").inner_text().startswith("All but TCP-LP yield to CUBIC")
    assert page.locator("#e01 dt").first.inner_text() == "Expected"
    assert "choose a shorter target" in page.locator("main").inner_text()
    assert re.search(r"[Ss]hare: \d\d\.\d\s% .*it must be below 20\s%", page.locator("#e01").inner_text())


def test_previous_and_next(report: Path, browser: Any) -> None:
    page = opened(browser, report / CARDS)
    page.locator("a[rel=next]").click()
    assert not page.url.endswith(CARDS)
    page.locator("a[rel=prev]").click()
    assert page.url.endswith(CARDS)


def test_a_table_leads_to_claims_and_is_sorted_by_its_heads(report: Path, browser: Any) -> None:
    page = opened(browser, report / TABLE)
    first = page.locator("table.claims tbody tr").first
    before = first.inner_text()
    head = page.locator("table.claims thead th").nth(2)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    values = [
        float(value)
        for value in page.locator("table.claims td:nth-child(3)").evaluate_all("x => x.map(y => y.dataset.value)")
    ]
    assert values == sorted(values)
    assert first.inner_text() != before
    link = first.locator("td a").first
    link.click()
    assert page.locator(".claim:target").is_visible()


def test_the_ground_is_dark_as_the_reader_chooses(report: Path, browser: Any) -> None:
    def ground(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = (opened(browser, report / CARDS, color_scheme=scheme) for scheme in ("light", "dark"))
    assert ground(light) == "rgb(255, 255, 255)" != ground(dark)
    light.locator("#theme").click()
    assert ground(light) == ground(dark)
    light.reload()
    assert ground(light) == ground(dark)


def test_print_shows_what_is_folded(report: Path, browser: Any) -> None:
    page = opened(browser, report / CARDS, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#e01 details p").first.bounding_box()["height"] > 0
    assert page.locator(".bar").is_hidden()


@pytest.mark.parametrize("name", ["index.html", CARDS, WIDEST])
def test_a_summary_is_two_sheets_and_a_print_begins_with_it(report: Path, quick: Path, browser: Any, name: str) -> None:
    for folder in (report, quick):
        page = opened(browser, folder / name)
        assert page.locator("#summary").is_visible()
        begin = page.locator(".beyond").first
        page.emulate_media(media="print")
        assert begin.evaluate("part => getComputedStyle(part).breakBefore") == "page"
        page.evaluate("print = () => {}; document.querySelector('#summary').click()")
        assert begin.is_hidden()
        assert page.locator("h1").is_visible() and page.locator("main > :visible").count() > 4
        assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) <= 2
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert begin.is_visible()


def test_a_printed_figure_is_the_wide_one(report: Path, browser: Any) -> None:
    # paper is as narrow as a phone in pixels, and has room
    page = opened(browser, report / CARDS, viewport=PAPER)
    page.emulate_media(media="print")
    image = page.locator("picture img").first
    image.scroll_into_view_if_needed()
    assert not image.evaluate("image => image.decode().then(() => image.currentSrc)").endswith("-narrow.svg")


def test_a_printed_table_is_whole(report: Path, browser: Any) -> None:
    page = opened(browser, report / WIDEST, viewport=PAPER)
    page.emulate_media(media="print")
    table = page.locator(".scroll table").first.bounding_box()
    assert table["x"] + table["width"] <= PAPER["width"]
    # a phone's cards of rows would take three times the paper
    page = opened(browser, report / "index.html", viewport=PAPER)
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('table.stacked')).display") == "table"


def test_what_changed_is_a_page_and_a_feed(report: Path, browser: Any) -> None:
    page = opened(browser, report / "changes.html")
    told = page.locator("main").inner_text()
    assert re.search(r"Of \d+ claims, \d+ have numbers in both; \d+ ha(s|ve) another verdict", told)
    assert page.locator("tbody tr").count() > 0
    feed = ElementTree.parse(report / "feed.xml").getroot()  # noqa: S314 (its own)
    atom = "{http://www.w3.org/2005/Atom}"
    for entry in [feed, *feed.findall(f"{atom}entry")]:
        for name in ("id", "title", "updated"):
            assert entry.findtext(f"{atom}{name}")
    link = feed.find(f"{atom}entry/{atom}link")
    assert link is not None
    assert (report / link.attrib["href"]).is_file()


def test_causes_stand_once_with_their_claims_and_what_varied_them(report: Path, quick: Path) -> None:
    failing = {
        claim["id"]: claim["cause"]
        for experiment in collect(report.parent / "here")
        for claim in experiment.counted
        if "cause" in claim and state_of(REFERENCE.claims[claim["id"]]) == "does not hold"
    }
    near = {
        claim["id"]
        for experiment in collect(report.parent / "here")
        for claim in experiment.counted
        if "cause" in claim and state_of(REFERENCE.claims[claim["id"]]) == "nearly"
    }
    assert len(near) > 5  # sorted by the same rule
    known = Counter(map(how_known, failing.values()))
    assert known["unkept"]  # what no run at hand shows is not called shown by a run
    for folder in (report, quick):  # what a quick look measured does not count
        text = (folder / "causes.html").read_text()
        assert f"<h1>Why {len(failing)} claims do not hold" in text
        for kind, amount in known.items():
            part = text.partition(f'<h2 id="{kind}">{amount} claims: ')[2].partition("<h2 ")[0]
            assert len(re.findall(r'href="[^"]*\.html#e\d+"', part)) == amount
            assert part.count(f"<b>{causes.WORDS[kind]}:</b>") == part.count('<ul class="outcome">')
        causes_of_failing, _, of_near = text.partition('<h2 id="near">')
        links = [re.findall(r'href="([^"]*\.html#e\d+)"', part) for part in (causes_of_failing, of_near)]
        assert [sorted(part) for part in links] == [sorted(map(page_of, some)) for some in (failing, near)]
    headed = text.partition("today-crowd-choices.html")[2].partition("</section>")[0]
    assert "today-crowd.html#e01" in headed
    assert headed.count("So the reason is how LEDBAT changes its window") == 1
    in_order = ("today-tunnel.html#e04", "cause not known", "today-crowd.html#e03")
    places = [text.index(said) for said in in_order]
    assert places == sorted(places)
    assert f"Their cause is shown by a run for {known['tested']}, " in text
    printed = sum(REFERENCE.claims[claim]["held"] is None for claim in failing)
    assert f" {printed} miss a number that a paper prints. {len(failing) - printed} are statements" in text


def test_a_claim_without_a_number_here_has_no_other_number(report: Path) -> None:
    results = collect(report.parent / "here")
    claim = next(
        claim for result in results for claim in result.claims if claim["id"] == "icccn-fig2a-ledbat-vs-tcp/e03"
    )
    claim |= {"measured": None, "held": None}
    listed = changes.changes(results, REFERENCE)
    assert listed and claim["id"] not in {change.claim["id"] for change in listed}


def test_the_reference_set_is_drawn_beside_one_seed(quick: Path, browser: Any) -> None:
    card = opened(browser, quick / CARDS).locator(".claim:has(.numbers .there)").first
    drawn = card.locator(".numbers .there i").all()
    assert len(drawn) > 1 and card.locator(".seeds").first.inner_text().endswith("seed 1")
    assert card.locator(".numbers .there").inner_text().endswith(f"seeds 1 to {len(drawn)}")


def test_results_of_other_machines_are_a_column(report: Path, browser: Any) -> None:
    page = opened(browser, report / "machines.html")
    claims = sum(len(experiment.counted) for experiment in collect(report.parent / "here"))
    said = re.match(r"Machines have different verdicts for \d of (\d+) claims", page.locator("h1").inner_text())
    assert said and int(said[1]) == claims
    row = page.locator("tbody tr", has_text="icccn-fig2a-ledbat-vs-tcp/e01").inner_text()
    assert "does not hold" in row and "the same numbers" in row
    agreement = page.locator("table.sortable tbody td:last-child").all_text_contents()
    assert "1 of 2" in agreement[:2] and set(agreement[2:]) == {"2 of 2"}
    counted = page.locator("tbody").first.locator("tr", has_text="evaluator")
    assert counted.locator("td").last.inner_text() == "1"


def test_results_of_others_may_come_in_a_zip(report: Path, tmp_path: Path) -> None:
    crate = shutil.make_archive(str(tmp_path / "crate"), "zip", report.parent / "there")
    assert results_of("evaluator", Path(crate)) == results_of("evaluator", report.parent / "there")
    (tmp_path / "text.zip").write_text("no archive")
    with pytest.raises(BadInputError, match=r"text\.zip: found no end of a zip file; allowed: a whole zip file"):
        results_of("evaluator", tmp_path / "text.zip")
