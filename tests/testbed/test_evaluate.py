"""`testbed evaluate`: criteria that are wrong, how cells are judged, and one real evaluation."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from analysis.capture.columns import write_columns
from analysis.errors import BadInputError
from analysis.judge import interval
from analysis.judge.intervals import student_above
from analysis.judge.statement import Bound, Statement
from analysis.judge.verdict import Verdict
from analysis.series import NotMeasuredError
from common import sums
from scenarios.resolve import expand
from testbed import own_study, tables
from testbed.cli import main
from testbed.evaluate import judge, matrix, pages, read_criteria, scenarios
from testbed.evaluate.command import is_there
from testbed.evaluate.judge import Result, RowAtPoint
from testbed.evaluate.read_criteria import FOLDER, Criterion
from testbed.evaluate.tables import tables as markdown
from testbed.shared.panel import filled, point, points_for
from testbed.shared.rulebooks import STATEMENTS
from tests.analysis.browser import invalid
from tests.analysis.synthetic import end, plain, write

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "evaluate.md").read_text()
FLOOR = Statement(
    "floor",
    "throughput()",
    (Bound(">=", "baseline"),),
    {},
    says="it is fast",
    otherwise="is slow",
    because="so",
    scenario="runs",
    unit="Mbit/s",
)
CEILING = replace(
    FLOOR, id="ceiling", measure="queue_ms", bounds=(Bound("<=", "baseline"),), otherwise="is long", unit="ms"
)


def test_the_page_lists_the_criteria() -> None:
    lines = ["| section | criterion | level | statements |", "|---|---|---|---|"]
    for criterion in read_criteria.load_all():
        name = f"`{criterion.id}`: {criterion.title}"
        lines.append(f"| {criterion.section} | {name} | {criterion.level} | {len(criterion.rows) or ''} |")
    assert "<!-- criteria -->\n" + "\n".join(lines) + "\n<!-- end of criteria -->" in PAGE


def test_the_page_names_the_fields() -> None:
    fields = read_criteria.FORM.schema()["properties"]
    named = (*fields, *fields["statements"]["items"]["properties"])
    assert [field for field in named if f"`{field}`" not in PAGE] == []


def test_a_criterion_among_others_has_what_these_share_and_its_own_instead() -> None:
    rows = {each.id: {row.id: row for row in each.rows} for each in read_criteria.load_all()}
    names = {"own-share", "pages", "call-waits", "call-rate"}
    assert names <= rows["wired"].keys() & rows["high-delay"].keys()
    assert rows["wired"]["pages"].otherwise == "makes web pages slower than the baseline does on a wired link"
    assert rows["high-delay"]["call-rate"].otherwise.endswith("does over a satellite")
    assert rows["high-delay"]["pages"].measure != rows["wired"]["pages"].measure
    assert rows["constrained"].keys() & names == names - {"call-rate"}


def test_each_scenario_has_a_row() -> None:
    used = {file for criterion in read_criteria.load_all() for file in criterion.scenarios.values()}
    assert used == {file for file in FOLDER.glob("*/*.yaml") if file.name != STATEMENTS}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenario": "buffer"}, "statements[0].scenario: found 'buffer'; allowed: buffers"),
        ({"in": {"buffer": "9p"}}, "statements[0].in.buffer: found '9p'; allowed: "),
        ({"measure": "queue_msec"}, "statements[0].measure: unknown word 'queue_msec'"),
        ({"measure": "baseline"}, "statements[0].measure: unknown word 'baseline'"),
        ({"at_least": 3}, "statements[0]: "),
        ({"id": "use"}, "statements[1].id: found 'use' again; allowed: another name"),
        ({"at_most": "itself + 1"}, "the bound says 'itself', without a victim; allowed: the flow's name"),
    ],
)
def test_what_is_wrong_with_a_criterion(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    folder = shutil.copytree(FOLDER / "bufferbloat", tmp_path / "bufferbloat")
    data = yaml.safe_load((folder / STATEMENTS).read_text())
    data["statements"][0] |= change
    (folder / STATEMENTS).write_text(yaml.safe_dump(data))
    with pytest.raises(BadInputError) as error:
        read_criteria.load(folder / STATEMENTS)
    assert f"{STATEMENTS}:" in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["tcp-cubicc"], "unknown implementation 'tcp-cubicc'; allowed: "),
        (["tcp-bbr", "--criterion", "bloat"], "--criterion: found 'bloat'; allowed: "),
        ([], "found no name; allowed: one, or one --implementation FOLDER"),
        (["tcp-bbr", "--most-seeds", "4"], "--most-seeds: found 4; allowed: 5 to 100000"),
        (["tcp-bbr", "--seeds", "0"], "--seeds: found 0; allowed: a whole number, at least 1, at most 100000"),
        (
            ["tcp-bbr", "--baseline", "tcp-bbr"],
            "--baseline: found 'tcp-bbr', the control under test; allowed: another one",
        ),
    ],
)
def test_what_is_wrong_with_an_order(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", *words, "--into", str(tmp_path / "results")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_each_scenario_takes_a_program_over_udp(tmp_path: Path) -> None:
    """QUIC's packets show no clock: a receiver's wrong clock is left out for it, and nothing else."""
    names = ["tcp-cubic", "quic-go"]
    left_out = set()
    for criterion in read_criteria.load_all():
        for name, file in criterion.scenarios.items():
            points = points_for(file, names)
            (tmp_path / name).write_text(filled(file, names, 1, points))
            assert {point(cell.name) for cell in expand(tmp_path / name, "complete")} == {*points}
            if "clocks" in file.read_text():
                left_out |= {*points_for(file, ["tcp-cubic", "libutp"])} - {*points}
    seeds = {name: 1 for criterion in read_criteria.load_all() for name in criterion.scenarios}
    for name, text in scenarios.texts(read_criteria.load_all(), names, seeds).items():
        (tmp_path / name).write_text(text)
        cells = expand(tmp_path / name, "complete")
        assert all(flow["may_fail"] for cell in cells for flow in cell.settings["flows"])
    assert left_out == {"case=ahead", "case=behind", "case=steps"}


NEVER = float("inf")
AGAIN = "testbed evaluate mine"


@pytest.mark.parametrize(
    ("row", "pairs", "verdict"),
    [
        (FLOOR, [(5.0, 4.0), (5.1, 4.0), (5.2, 4.1)], Verdict.HOLDS),
        (FLOOR, [(4.0, 4.0), (4.1, 4.1)], Verdict.HOLDS),  # on the bound in each seed
        (FLOOR, [(3.0, 4.0), (3.1, 4.0), (3.2, 4.1)], Verdict.FAILS),
        (FLOOR, [(3.0, 4.0), (5.1, 4.0), (4.2, 4.1)], Verdict.OPEN),
        (FLOOR, [(3.0, 4.0)], Verdict.OPEN),  # one seed never judges
        (FLOOR, [(5.0, 4.0)], Verdict.OPEN),
        (CEILING, [(3.0, 4.0), (3.0, 4.0)], Verdict.HOLDS),
        (CEILING, [(NEVER, 4.0), (NEVER, 4.0)], Verdict.FAILS),
        (CEILING, [(NEVER, 4.0), (3.0, 4.0)], Verdict.OPEN),
        (CEILING, [(3.0, NEVER), (3.0, NEVER)], Verdict.HOLDS),
        (FLOOR, [(3.0, NEVER), (3.0, NEVER)], Verdict.FAILS),
    ],
)
def test_verdicts(row: Statement, pairs: list[tuple[float, float]], verdict: str) -> None:
    assert verdicts_of([with_margins([interval.margin_of(row, value, bound) for value, bound in pairs])]) == [verdict]


@pytest.mark.parametrize(("measured", "bound"), [(NEVER, NEVER), (float("nan"), 4.0), (4.0, float("nan"))])
@pytest.mark.parametrize("row", [FLOOR, CEILING])
def test_no_bound_is_kept_by_what_is_no_number(row: Statement, measured: float, bound: float) -> None:
    with pytest.raises(NotMeasuredError):
        interval.margin_of(row, measured, bound)


def with_margins(margins: list[float]) -> RowAtPoint:
    margin, chances = interval.chances_of(margins)
    return RowAtPoint("floor", "single", Verdict.OPEN, "", len(margins), 3.0, 4.0, 4.0, margin, "runs/x", "", chances)


def verdicts_of(cells: list[RowAtPoint]) -> list[Verdict]:
    [of_criterion] = judge.decided([judged("text", cells)])
    return [cell.verdict for cell in of_criterion.cells]


def test_a_page_of_controls_on_their_bounds_has_hardly_a_false_verdict() -> None:
    """Of pages on which every cell lies on its bound, one in twenty has a cell that is called not met."""
    draw = np.random.default_rng(1).normal
    pages_of = [[with_margins([draw(0, 1) for _ in range(5)]) for _ in range(200)] for _ in range(200)]
    wrong = sum(Verdict.FAILS in verdicts_of(page) for page in pages_of)
    assert wrong <= 18  # binomial: more than that in 200 pages has a chance of 0.8 %
    alone = sum(Verdict.FAILS in verdicts_of([cell]) for page in pages_of for cell in page)
    assert 0.04 < alone / 40_000 < 0.06


@pytest.mark.parametrize(
    ("t", "degrees", "chance"),
    [
        (6.3138, 1, 0.05),
        (2.9200, 2, 0.05),
        (2.3534, 3, 0.05),
        (3.7469, 4, 0.01),
        (-2.0150, 5, 0.95),
        (1.7291, 19, 0.05),
    ],
)
def test_chances_of_student(t: float, degrees: int, chance: float) -> None:
    """Beside any table of statistics."""
    assert student_above(t, degrees) == pytest.approx(chance, rel=1e-4)


def test_what_a_placebo_misses_is_open() -> None:
    missed, kept = with_margins([-3.0, -3.1]), with_margins([3.0, 3.1])
    for cells, placebos, verdicts in (([missed], [missed], [Verdict.OPEN]), ([missed], [kept], [Verdict.FAILS])):
        own, beside = judge.decided([judged("text", cells)]), judge.decided([judged("text", placebos)])
        [of_criterion] = judge.beside_placebo(own, beside)
        assert [cell.verdict for cell in of_criterion.cells] == verdicts


def test_a_criterion_that_is_measured_in_part_is_not_met() -> None:
    met = judged("MUST", [cell("single", Verdict.HOLDS)])
    part = replace(met, criterion=replace(met.criterion, not_measured="No power."))
    assert (met.verdict, part.verdict) == (Verdict.HOLDS, Verdict.UNTESTABLE)
    assert "\N{EN DASH} 9.9    A title (1 holds; a part is not measured)" in pages.summary(
        [part], "a", "b", 5, Path("page.html")
    )


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ([(3.0, 4.0, 4.0), (5.0, 4.0, 4.0)], "4 ms; baseline 4; allowed: at most 4"),
        ([(NEVER, 4.0, 4.0)], "never; baseline 4; allowed: at most 4"),
        ([(4173.0, 3829.0, 3829.0)], "4,170 ms; baseline 3,830; allowed: at most 3,830"),
        ([(NEVER, NEVER, NEVER), (3.0, 4.0, 4.0)], "3 ms (never in 1 of 2 seeds)"),
    ],
)
def test_only_a_number_has_a_unit(numbers: list[tuple[float, float, float]], told: str) -> None:
    assert judge.why_of(CEILING, [judge.Numbers(*of_seed) for of_seed in numbers]).startswith(told)


@pytest.mark.parametrize(
    ("measure", "bound", "own", "baseline", "verdict"),
    [
        ("queue_ms.mean()", "9", None, None, Verdict.HOLDS),
        ("queue_ms.mean()", "9", 4.2, None, Verdict.UNTESTABLE),
        ("queue_ms.mean()", "9", 99, None, Verdict.HOLDS),  # after the run's end
        ("queue_ms.mean()", "-1", 4.2, None, Verdict.FAILS),
        ("queue_ms.mean()", 'min(ended("client"), 9) - 2', 4.2, None, Verdict.UNTESTABLE),  # kept in one of two seeds
        ("loss_rate(9.999, 10)", "9", 4.2, None, Verdict.UNTESTABLE),  # no packet arrived
        ("queue_ms.mean()", "9", None, 4.2, Verdict.HOLDS),
        ("queue_ms.mean()", "2 * baseline", None, 4.2, Verdict.UNTESTABLE),
    ],
)
def test_who_ended_early_meets_nothing(
    tmp_path: Path, measure: str, bound: str, own: float | None, baseline: float | None, verdict: str
) -> None:
    seeds = (1, 2)
    for (name, ended_s), seed in itertools.product((("mine", own), ("tcp-cubic", baseline)), seeds):
        made = plain()
        made.flows, made.cell, made.experiment, made.seed = ("client", "tcp"), f"client={name}", "x-runs", seed
        made.changes = {"cell_values": {"client": name}}
        folder = write(tmp_path / "runs", made)
        write_columns(folder)
        if ended_s is not None and (seed == 1 or "ended" not in bound):
            end(folder, ended_s)
    study = tmp_path / "studies" / judge.STUDY
    study.mkdir(parents=True)
    (study / "x-runs.yaml").write_text("experiment: x-runs\nmatrix: {client: [mine, tcp-cubic]}\n")
    row = replace(CEILING, measure=measure, bounds=(Bound("<=", bound),))
    criterion = Criterion("x", "9.9", "A title", "MUST", "Why?", [row], [], None)
    of_criterion = judge.decided([Result(criterion, judge.cells_of(criterion, tmp_path, "mine", "tcp-cubic"))])[0]
    assert of_criterion.verdict == verdict
    ends = own is not None and own < 9
    assert ("gave up at 4.200 s: sender exited with 1: no luck (1 cell" in str(pages.faults([of_criterion]))) == ends


def with_a_silent_neighbour(folder: Path, beside: str) -> RowAtPoint:
    """The cell of half of what a neighbour has beside the baseline, where it never connects beside one of both."""
    for name, seed in itertools.product(("mine", "tcp-cubic"), (1, 2)):
        made = plain()
        made.flows, made.cell, made.experiment, made.seed = ("client", "tcp"), f"client={name}", "x-runs", seed
        made.changes = {"cell_values": {"client": name}}
        if name == beside:
            made.packets = [packet for packet in made.packets if packet.flow == 0]
        run = write(folder / "runs", made)
        if name == beside:
            (run / "traces" / "cwnd-tcp.csv").write_text("")  # as bulk.c leaves it
            end(run, 10, flow=1)
        write_columns(run)
    study = folder / "studies" / judge.STUDY
    study.mkdir(parents=True)
    (study / "x-runs.yaml").write_text("experiment: x-runs\nmatrix: {client: [mine, tcp-cubic]}\n")
    row = replace(FLOOR, measure='throughput("tcp", 1)', bounds=(Bound(">=", "0.5 * baseline"),))
    criterion = Criterion("x", "9.9", "A title", "MUST", "Why?", [row], [], None)
    [found] = judge.decided([Result(criterion, judge.cells_of(criterion, folder, "mine", "tcp-cubic"))])[0].cells
    return found


def test_where_the_baseline_leaves_nothing_no_cell_holds(tmp_path: Path) -> None:
    """Half of nothing is a bound that nobody breaks."""
    found = with_a_silent_neighbour(tmp_path, "tcp-cubic")
    assert (found.verdict, found.counts, found.bound) == (Verdict.UNTESTABLE, False, 0)
    assert "so little is left beside the baseline, or moved by it, that nothing would break the bound" in found.why


def test_a_neighbour_that_never_connects_is_a_number(tmp_path: Path) -> None:
    """It is harmed: its run has not failed, nor is the cell without a verdict."""
    found = with_a_silent_neighbour(tmp_path, "mine")
    assert (found.verdict, found.measured, found.ended) == (Verdict.FAILS, 0, "")
    assert found.why.endswith("; tcp gave up in 2 of 2 runs: sender exited with 1: no luck")


def judged(level: str, cells: list[RowAtPoint]) -> Result:
    rows_of = [FLOOR] if cells else []
    return Result(Criterion("x", "9.9", "A title", level, "Why?", rows_of, [], None), cells)


def cell(point: str, verdict: Verdict) -> RowAtPoint:
    return RowAtPoint("floor", point, verdict, "3 Mbit/s", 5, 3.0, 4.0, 4.0, (-1.0, -0.5), "runs/x")


def test_the_worst_cell_decides_and_faults_of_must_come_first() -> None:
    text = judged("text", [cell("single", Verdict.FAILS)])
    must = judged("MUST", [cell("rate=1mbit", Verdict.FAILS), cell("rate=2mbit", Verdict.HOLDS)])
    forms = judged("MUST", [])
    unknown = judged("MUST", [cell("rate=1mbit", Verdict.HOLDS), cell("rate=2mbit", Verdict.UNTESTABLE)])
    verdicts = [judged.verdict for judged in (text, must, forms, unknown)]
    assert verdicts == [Verdict.FAILS, Verdict.FAILS, Verdict.UNTESTABLE, Verdict.UNTESTABLE]
    assert unknown.verdict_of(FLOOR) == Verdict.UNTESTABLE
    assert pages.faults([text, must]) == ["is slow (rate=1mbit) [9.9, MUST]", "is slow [9.9]"]


def test_runs_that_failed_are_counted(tmp_path: Path) -> None:
    scenario = tmp_path / "studies" / judge.STUDY / "some-row.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.write_text("experiment: evaluate-some-row\n")
    cells = tmp_path / "runs" / judge.STUDY / "evaluate-some-row"
    for run in ("a/seed-1", "a/failed-seed-2", "b/failed-seed-1"):
        (cells / run).mkdir(parents=True)
    assert judge.count_failed(tmp_path) == 2


def test_the_summary_says_what_it_does_whom_it_harms_and_where_it_fails() -> None:
    told = replace(FLOOR, id="told", tells="its rate", harms="web pages", otherwise="is slow to others")
    cells = [cell("rate=1mbit", Verdict.FAILS), replace(cell("single", Verdict.FAILS), row="told", measured=1.25)]
    of_criterion = Result(Criterion("x", "9.9", "A title", "MUST", "Why?", [FLOOR, told], [], None), cells)
    lines = pages.summary([of_criterion], "mine", "tcp-cubic", 5, Path("page.html")).splitlines()
    assert lines[3:-1] == [
        "What it does:",
        "  - its rate: 1.25 Mbit/s; tcp-cubic: 4",
        "Flows harmed more than by the baseline:",
        "  - web pages: it is slow to others [9.9, MUST]",
        "Where it fails: mine",
        "  - is slow (rate=1mbit) [9.9, MUST]",
    ]


def test_the_summary_says_what_is_not_known() -> None:
    told = replace(FLOOR, id="told", harms="web pages", otherwise="is slow to others")
    cells = [
        cell("rate=1mbit", Verdict.OPEN),
        cell("rate=2mbit", Verdict.UNTESTABLE),
        replace(cell("single", Verdict.UNTESTABLE), row="told"),
    ]
    of_criterion = Result(Criterion("x", "9.9", "A title", "MUST", "Why?", [FLOOR, told], [], "No power."), cells)
    form = Result(Criterion("y", "9.10", "Another", "text", "Why?", [], ["Why so?"], None), [])
    lines = pages.summary([of_criterion, form], "mine", "tcp-cubic", 1, Path("page.html")).splitlines()
    assert lines[4:-1] == [
        "Flows harmed more than by the baseline:",
        "  - not known: no cell about others was decided",
        "What is not known:",
        "  - whether other seeds say the same: one seed decides nothing",
        "  - what no run here shows [9.9]",
        "  - what only its author can answer [9.10]",
        "  - whether it is slow (rate=2mbit): cannot be tested [9.9, MUST]",
        "  - whether it is slow to others: cannot be tested [9.9, MUST]",
        "  - whether it is slow (rate=1mbit): open [9.9, MUST]",
    ]


def test_a_table_of_several_controls(tmp_path: Path) -> None:
    met, failed = cell("single", Verdict.HOLDS), cell("rate=1mbit", Verdict.FAILS)
    folders = []
    for name, cells in (("libtorrent-2.0", [met]), ("tcp-good", [met, met]), ("tcp-bad", [met, failed])):
        folders.append(tmp_path / name)
        folders[-1].mkdir()
        pages.write(folders[-1], [judged("MUST", cells), judged("MUST", [])], name, "tcp-cubic", 5, {}, AGAIN)
    lines = markdown(folders).splitlines()
    assert lines[6:11] == [
        "**Programs with uTP**",
        "",
        "| criterion | cells | [`libtorrent-2.0`](#libtorrent-20) |",
        "|---|---|---|",
        "| 9.9 A title (MUST) | 1 | ✓ |",
    ]
    assert lines[:2] == ["**Congestion controls of TCP**", ""]
    assert lines[2] == "| criterion | cells | [`tcp-good`](#tcp-good) | [`tcp-bad`](#tcp-bad) |"
    assert lines[4] == "| 9.9 A title (MUST) | 2 | ✓ | ✗\xa01 |"
    assert [line for line in lines if "rate=" in line] == ["| 9.9 | it is slow | rate=1mbit | 3 Mbit/s |"]


def test_a_page_keeps_its_tables_where_an_evaluation_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"{tables.START}\nold\n{tables.END}\n")
    assert tables.main(["evaluate", str(page), str(tmp_path / "nosuch")]) == 1
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}/nosuch/SHA256SUMS: missing")
    assert "\nold\n" in page.read_text()


def test_a_matrix_of_all_controls_whose_signs_lead_to_their_evidence(tmp_path: Path) -> None:
    met, failed = cell("single", Verdict.HOLDS), cell("rate=1mbit", Verdict.FAILS)
    beside = [replace(met, placebo=Verdict.OPEN), replace(failed, placebo=Verdict.HOLDS)]
    for name, cells in (("tcp-good", [met]), ("tcp-bad", beside)):
        (tmp_path / name).mkdir()
        pages.write(tmp_path / name, [judged("MUST", cells)], name, "tcp-cubic", 5, {}, AGAIN)
    other = Result(Criterion("y", "9.10", "Another", "text", "Why?", [FLOOR], [], None), [met])
    pages.write(tmp_path / "tcp-good", [judged("MUST", [met]), other], "tcp-good", "tcp-cubic", 5, {}, AGAIN)
    text = matrix.write(tmp_path).read_text()
    assert '<a class="verdict does-not-hold" href="tcp-bad/index.html#x" title="1 holds, 1 does not hold"' in text
    assert '<a class="verdict holds" href="tcp-good/index.html#y" title="1 holds"' in text
    assert "tcp-bad/index.html#y" not in text  # it was not asked there
    assert 'title="1 holds, 1 open" aria-label="tcp-bad, placebo: 1 holds, 1 open"' in text
    assert markdown([tmp_path / "tcp-bad"]).splitlines()[5] == "| Placebo, beside each | 2 | \u25cb\xa01 |"
    assert text.index("9.9 A title") < text.index("9.10 Another")
    assert "<h1>1 of 2 congestion controls met all that was measured of RFC 9743&#39;s criteria</h1>" in text
    assert invalid(tmp_path, "index.html") == ""


def test_a_damaged_evaluation_is_left_out_of_the_matrix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("tcp-good", "tcp-bad"):
        (tmp_path / name).mkdir()
        pages.write(tmp_path / name, [judged("MUST", [cell("single", Verdict.HOLDS)])], name, "tcp-cubic", 5, {}, AGAIN)
    (tmp_path / "tcp-bad" / matrix.DATA).write_text("{}")
    text = matrix.write(tmp_path).read_text()
    assert "tcp-good/index.html" in text and "tcp-bad" not in text
    assert f"tcp-bad/{matrix.DATA}: damaged" in capsys.readouterr().err


def test_the_page_has_a_card_with_its_evidence_for_each_statement(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "x"
    (run / "pcap").mkdir(parents=True)
    (run / "pcap" / "sender.pcap").touch()
    of_criterion = judged("MUST", [cell("rate=1mbit", Verdict.FAILS), cell("rate=2mbit", Verdict.HOLDS)])
    page = pages.write(tmp_path, [of_criterion], "mine", "tcp-cubic", 2, {}, AGAIN)
    text = page.read_text()
    assert "<h1>mine misses 1 of 2 bounds</h1>" in text
    assert "<li>Not known: no cell about others was decided.</li>" in text
    assert '<article class="claim does-not-hold" id="x-floor"' in text
    assert '<a href="runs/x/pcap/sender.pcap">sender</a>' in text
    assert "testbed run studies/evaluate/x-runs.yaml --seed x --cell runs --into again" in text
    assert invalid(tmp_path, page.name) == ""
    assert "does not hold: of either, 5 % are expected" in (tmp_path / "evaluation.md").read_text()
    assert "3 Mbit/s; inside by -1 to -0.5, 5 seeds |" in (tmp_path / "evaluation.md").read_text()
    assert f"`{AGAIN}` repeats it" in (tmp_path / "evaluation.md").read_text()


def test_a_control_that_never_backs_off_fails_its_rows(
    evaluated: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    """BBR of the kernel is the first version: RFC 9743 names its losses behind less than 1.5 products of buffer."""
    document = evaluated("tcp-bbr", "high-loss", "multipath")
    cells = {of_cell["point"]: of_cell for of_cell in document["criteria"][0]["cells"]}
    assert cells["number=12,buffer=33p"]["verdict"] == Verdict.FAILS
    assert cells["number=1,buffer=66p"]["verdict"] == Verdict.HOLDS
    assert document["criteria"][1]["verdict"] == Verdict.UNTESTABLE
    folder = tmp_path / "tcp-bbr"
    text = (folder / "index.html").read_text()
    pictures = set(re.findall(r'src="(figures/[\w-]+[.]svg)" alt="[^"]*[Tt]cp-cubic[^"]*"', text))
    assert len(pictures) == len(cells) == 6
    assert all(
        (folder / name.replace(".svg", suffix)).exists() for name in pictures for suffix in (".svg", "-narrow.svg")
    )
    assert invalid(folder, "index.html") == ""


FEW = """\
experiment: few
title: One flow
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 2mbit, buffer: 20p}
delay: {forward: 5ms, backward: 5ms}
flows: [{name: client, implementation: "${client}", from: s1, to: d1}]
matrix: {client: [tcp-cubic, OTHER]}
duration: 2s
seeds: {complete: 2}
"""


def test_a_run_of_two_products_is_carried_out_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever it is called in each; a folder that is removed or damaged takes nothing from the other."""
    reno, vegas = folders = [tmp_path / name for name in ("tcp-reno", "tcp-vegas")]
    for folder, study in zip(folders, ("compare", "evaluate"), strict=True):
        text = FEW.replace("OTHER", folder.name).replace("few", study)
        own_study.write(folder, study, {"few.yaml": text})

    def shared(folder: Path) -> tuple[int, int]:
        own_study.carry_out(folder)
        said = capsys.readouterr().err
        return said.count("whose files it shares"), len(re.findall(r"^run \d+/", said, re.MULTILINE))

    assert shared(reno) == (0, 4)
    assert shared(vegas) == (2, 4)
    cubic = vegas / "runs/evaluate/evaluate/client=tcp-cubic/seed-1"
    there, here = sums.read(reno / "runs/compare/compare/client=tcp-cubic/seed-1"), sums.read(cubic)
    assert {name for name in there if here[name] != there[name]} == {"run.json"}
    assert json.loads(sums.checked(cubic, "run.json").read_text())["study"] == "evaluate"
    assert shared(vegas) == (0, 0)
    shutil.rmtree(reno)
    assert shared(vegas) == (0, 0)
    own_study.write(reno, "compare", {"few.yaml": FEW.replace("OTHER", "tcp-bbr").replace("few", "compare")})
    (cubic / "summary.json").write_text("{}")
    assert shared(reno) == (1, 4)
    assert shared(vegas) == (1, 1)
    # what was made before there was a store is found once its own folder has been asked for
    shutil.rmtree(tmp_path / "store")
    assert shared(vegas) == (0, 0)
    shutil.rmtree(reno / "runs")
    assert shared(reno) == (2, 4)


def test_a_narrower_call_keeps_the_runs_of_a_wider_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def study(*names: str, seeds: int) -> dict[str, str]:
        return {
            f"{name}.yaml": FEW.replace("few", name).replace("OTHER", "tcp-reno").replace("2}", f"{seeds}}}")
            for name in names
        }

    def finished() -> dict[Path, int]:
        return {file.relative_to(tmp_path): file.stat().st_ino for file in tmp_path.glob("runs/*/*/*/*/run.json")}

    def call(texts: dict[str, str]) -> str:
        own_study.write(tmp_path, "evaluate", texts)
        own_study.carry_out(tmp_path)
        return capsys.readouterr().err

    call(study("one", "two", seeds=2))
    wide = finished()
    assert len(wide) == 8
    assert "run 1/" not in call(study("one", seeds=1))
    assert len(finished()) == 2
    assert "run 1/" not in call(study("one", "two", seeds=2))
    assert finished() == wide
    own_study.write(tmp_path, "evaluate", study("one", seeds=2), kept={"two.yaml"})
    own_study.carry_out(tmp_path, kept={"two.yaml"})
    assert "run 1/" not in capsys.readouterr().err
    assert finished() == wide


def test_a_call_for_one_criterion_knows_which_others_are_there(tmp_path: Path) -> None:
    known = read_criteria.load_all()
    one, other = (criterion for criterion in known if criterion.id in ("bufferbloat", "short-flows"))
    names = ["tcp-cubic", "tcp-reno"]
    texts = scenarios.texts([one], names, dict.fromkeys(one.scenarios, 3))
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert is_there(one, tmp_path, names)
    assert not is_there(one, tmp_path, ["tcp-bbr", "tcp-reno"])
    assert not is_there(other, tmp_path, names)


@pytest.fixture
def evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Evaluate a control twice in some criteria; the second time runs nothing and writes the same bytes."""

    def evaluate(name: str, *chosen: str) -> dict[str, Any]:
        words = [word for criterion in chosen for word in ("--criterion", criterion)]
        order = ["evaluate", name, *words, "--seeds", "3", "--most-seeds", "3", "--into", str(tmp_path)]
        status = main(order)
        folder = tmp_path / name
        first = {file.name: file.read_bytes() for file in folder.glob("[!.]*.*")}
        printed = capsys.readouterr().out
        assert f"Page: {folder / 'index.html'}" in printed
        assert main(order) == status
        assert capsys.readouterr().out == printed
        assert {file.name: file.read_bytes() for file in folder.glob("[!.]*.*")} == first
        document: dict[str, Any] = json.loads(first["evaluation.json"])
        return document

    return evaluate
