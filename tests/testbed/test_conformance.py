"""`testbed conformance`: what it refuses, what its page says, and how real and made-up senders are judged."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from analysis.capture.columns import write_columns
from analysis.errors import BadInputError
from analysis.judge.statement import Statement, load
from analysis.run import Run
from analysis.series import NotMeasuredError, Series
from engine.run import execute
from scenarios.load import read
from scenarios.resolve import expand, resolve
from testbed import tables
from testbed.cli import main
from testbed.conformance import judge
from testbed.conformance.command import CASES
from testbed.conformance.judge import FORM, RULES
from testbed.conformance.measures import MEASURES, settled
from testbed.shared.panel import filled
from tests.analysis.synthetic import vouch
from tests.analysis.utp_model import Model

DOCS = Path(__file__).parents[2] / "docs"
AGAIN = "testbed conformance mine"
PAGE, FINDINGS = ((DOCS / room / "conformance.md").read_text() for room in ("howto", "results"))


def test_the_page_lists_cases_and_measures() -> None:
    listed = re.search(r"<!-- cases.*?\|---\|---\|\n(.*?)\n<!-- end of cases", PAGE, re.DOTALL)
    assert listed
    assert re.findall(r"^\| `([a-z-]+)`", listed[1], re.MULTILINE) == list(read(CASES).data["cases"])
    rows = ["| measure | meaning |", "|---|---|"]
    for name, measure in MEASURES.items():
        arguments = ", ".join(list(inspect.signature(measure).parameters)[1:])
        rows.append(f"| `{name}({arguments})` | {inspect.getdoc(measure)} |")
    assert "compares -->\n" + "\n".join(rows) + "\n<!-- end of measures" in PAGE


def requirements() -> list[Statement]:
    return load(RULES, FORM)[1]


def test_the_page_has_a_row_for_each_requirement() -> None:
    for requirement in requirements():
        assert f"| {requirement.level} | {requirement.section} | {requirement.says} |" in FINDINGS


def test_each_requirement_has_a_case_or_a_reason() -> None:
    cases = read(CASES).data["cases"]
    named = [requirement.cells for requirement in requirements() if not requirement.untestable]
    assert {case for cells in named for case in cells["case"]} == set(cases)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"document": "rfc6818"}, "statements[0].document: found 'rfc6818'; allowed: bep29, ledbatpp, rfc6817"),
        ({"measure": "grwth(40)"}, "statements[0].measure: unknown word 'grwth' (did you mean growth?)"),
        ({"at_most": "packet_msec"}, "statements[0].at_most: unknown word 'packet_msec'"),
        ({"harms": "CUBIC"}, "statements[0].harms: unknown field"),
        ({"level": "MAY"}, "statements[0].level: found 'MAY'"),
        (
            {"untestable": "no reason"},
            "statements[0]: found measure and untestable",
        ),
    ],
)
def test_what_is_wrong_with_requirements(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    data = yaml.safe_load(RULES.read_text())
    data["statements"] = [data["statements"][0] | changes]
    file = tmp_path / "statements.yaml"
    file.write_text(yaml.safe_dump(data))
    with pytest.raises(BadInputError) as error:
        load(file, FORM)
    assert str(error.value).startswith(f"{file}:")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("libutpp", "unknown implementation 'libutpp'; allowed: "),
        ("udp-cbr", "udp-cbr is over UDP; allowed: implementations over TCP or uTP, whose packets tell"),
    ],
)
def test_a_wrong_order_is_one_message(name: str, message: str, tmp_path: Path, capsys: Any) -> None:
    assert main(["conformance", name, "--into", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def judged(folder: Path, client: str, *cases: str) -> dict[str, str]:
    """What becomes of each requirement, by real runs of these cases."""
    scenario = folder / "conformance" / CASES.name
    scenario.parent.mkdir(parents=True)
    scenario.write_text(filled(CASES, [client], 1))
    for cell in expand(scenario, "complete"):
        if cell.settings["cell_values"]["case"] in cases:
            execute(resolve(cell, 1), folder / "runs")
    for run in (folder / "runs").glob("*/*/*/seed-1"):
        write_columns(run)
    judge.write(folder, AGAIN)
    return {row["id"]: row["verdict"] for row in json.loads((folder / "conformance.json").read_text())["rows"]}


def test_results_are_counted_by_document(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    judge.write(tmp_path, AGAIN)
    page = (tmp_path / "index.html").read_text()
    counted = re.findall(r'<p class="counts"><a href="#[^"]*">(.*?)</a>(.*)</p>', page)
    rows = Counter(row["document"] for row in json.loads((tmp_path / "conformance.json").read_text())["rows"])
    numbers = [re.findall(r"(\d+) (?:open|cannot be tested)", verdicts) for _, verdicts in counted]
    assert [sum(map(int, of_document)) for of_document in numbers] == list(rows.values())
    assert [name for name, _ in counted] == ["RFC 6817", "draft-irtf-iccrg-ledbat-plus-plus", "RFC 9840", "BEP 29"]


def test_how_the_module_is_judged(tmp_path: Path) -> None:
    folder = tmp_path / "tcp-ledbatpp"
    outcomes = judged(folder, "tcp-ledbatpp", "alone", "outage")
    assert {name for name, result in outcomes.items() if result == "does not hold"} == set()
    assert {name for name, result in outcomes.items() if result == "holds"} >= {
        "target",
        "pp-slowdowns",
        "timeout-doubles",
    }
    document = json.loads((folder / "conformance.json").read_text())
    evidence = {row["id"]: row["why"] for row in document["rows"]}
    assert evidence["first-window"] == "first_flight() = 2 packets, allowed 2 packets"
    assert evidence["version"] == "the client speaks tcp"
    assert evidence["r-window"] == "the receiver's window limited the sender for 0% of the time"
    assert evidence["yields"] == "there is no run of case beside-tcp"
    assert all((folder / row["run"]).is_dir() for row in document["rows"])
    text = (folder / "index.html").read_text()
    assert "first_flight() = 2 packets" in text
    assert re.search(r"<h1>tcp-ledbatpp meets \d+ requirements, all that its packets show</h1>", text)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{tables.START}\nold\n{tables.END}\nafter\n")
    tables.main(["conformance", str(page), str(folder)])
    made = r"Recorded on [\d-]{10}: \d+ runs of commit `\w{12}`.*; Linux [\w.-]+\."
    assert re.match(rf"before\n{tables.START}\n\n{made}\n\n## RFC 6817", page.read_text())
    assert "\nold\n" not in page.read_text()


def test_how_a_receiver_is_judged(tmp_path: Path) -> None:
    outcomes = judged(tmp_path / "tcp-rledbat", "tcp-rledbat", "alone", "beside-tcp")
    shown = {"r-window", "r-never-back", "r-target", "r-alone", "r-yields"}
    assert {outcomes[name] for name in shown} == {"holds"}


def test_a_run_that_failed_is_told(tmp_path: Path) -> None:
    failed = tmp_path / "mine/runs/conformance/conformance/case=alone,client=mine/failed-seed-1"
    failed.mkdir(parents=True)
    (failed / "summary.json").write_text(json.dumps({"status": "failed", "error": "what boots has not been built"}))
    vouch(failed)
    judge.write(tmp_path / "mine", AGAIN)
    whys = {row["id"]: row["why"] for row in json.loads((tmp_path / "mine/conformance.json").read_text())["rows"]}
    assert whys["target"] == "the run of case alone failed: what boots has not been built"
    document = json.loads((tmp_path / "mine/conformance.json").read_text())
    assert {row["verdict"] for row in document["rows"]} == {"open", "cannot be tested"}


def test_a_control_that_heeds_no_delay_fails(tmp_path: Path) -> None:
    outcomes = judged(tmp_path / "tcp-cubic", "tcp-cubic", "alone")
    failed = {name for name, result in outcomes.items() if result == "does not hold"}
    assert failed >= {"target", "first-window-most", "first-window", "pp-slow-start", "pp-target"}
    assert outcomes["uses-capacity"] == "holds"


@pytest.fixture
def play(tmp_path: Path) -> Any:
    """Play a made-up uTP sender; gives the run."""

    def make(**changes: Any) -> Run:
        folder = Model(**changes).run(tmp_path, flows=("client",))
        write_columns(folder)
        return Run(folder)

    return make


def test_measures_of_a_made_up_utp_sender(play: Any) -> None:
    run = play(lost=(300, 900, 1500, 2100, 2700), duration=40.0)
    assert MEASURES["first_flight"](run) == 2
    assert MEASURES["utp_version_1"](run) == 1
    assert MEASURES["utp_number_gaps"](run) == 0
    assert MEASURES["utp_stamp_error_ms"](run) < 0.01
    # it grows meanwhile, by two packets a round-trip time
    assert 0.5 <= MEASURES["kept_after_loss"](run, 0) < 0.59
    assert MEASURES["fast_share"](run, 0) == 1
    assert MEASURES["beyond_receive_window_bytes"](run) <= 0
    assert MEASURES["slowdowns"](run) == 0
    with pytest.raises(NotMeasuredError, match="the receiver opened the connection"):
        MEASURES["utp_first_number"](run)
    with pytest.raises(NotMeasuredError, match="there are 0 slowdowns"):
        MEASURES["slowdown_pause"](run)


def test_a_window_that_still_falls_is_not_the_smallest() -> None:
    seconds = np.arange(0.0, 30.0)
    with pytest.raises(NotMeasuredError, match="the window was still falling at the end"):
        settled(Series(seconds, 30 - seconds, end=30.0), 10)
    assert settled(Series(seconds, np.maximum(10 - seconds, 2), end=30.0), 10) == 2


def test_a_queue_at_the_target_may_swing_by_a_packet_to_either_side() -> None:
    # a window that alternates between two sizes
    bounds = {requirement.id: requirement.bounds for requirement in requirements()}
    for name in ("target", "pp-target", "utp-target"):
        assert bounds[name][-1].is_most
        assert bounds[name][-1].text.endswith(" + 2 * packet_ms")


def test_a_sender_that_gives_up_in_an_outage(play: Any) -> None:
    run = play(silent_from=20.0, timeouts=(20.6, 21.6), duration=40.0)
    assert MEASURES["first_timeout_ms"](run, 20) == pytest.approx(500, abs=50)
    with pytest.raises(NotMeasuredError, match="only 2 packets were sent again"):
        MEASURES["timeout_growth"](run, 20)
    with pytest.raises(NotMeasuredError, match="nothing was acknowledged again"):
        MEASURES["sent_after_timeout"](run, 20)
