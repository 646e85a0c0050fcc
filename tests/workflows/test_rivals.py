"""Claims of the papers fail where they must: TCP in LEDBAT's place, another target, another decrease."""

import csv
import shutil
from pathlib import Path

import pytest

from analysis.capture.columns import write_columns
from analysis.claims import registry
from analysis.claims.question import Question
from analysis.claims.reads import cells_of
from analysis.judge.of_claim import judge
from analysis.judge.rules import HOLDS
from analysis.judge.verdict import Verdict
from analysis.reference.files import read
from analysis.runs import Runs
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from testbed.claim import claims
from tests.analysis.kept_results import REFERENCE, STUDIES
from tests.analysis.synthetic import plain, write
from tests.workflows import rivals
from tests.workflows.rivals import in_place, path_of

PACED = ", slow_start: never, pacing: true}"
AS_TCP = (("tcp-ledbat-draft00", "tcp-aimd"), (f"    params: {{target: 25ms{PACED}\n", ""))
ALL = -1


@pytest.mark.parametrize(
    ("name", "claim", "times", "changes"),
    [
        ("icccn/fig2a", "e01", ALL, AS_TCP),
        ("icccn/fig2a", "e03", ALL, (("target: 25ms", "target: 100ms"),)),
        ("icccn/fig2b", "e01", 1, (("target: 25ms", "target: 50ms"),)),
        ("icccn/fig2b", "e03", ALL, (("target: 25ms", "target: 50ms"),)),
        ("icccn/fig2b", "e04", ALL, (("    to: d2\n    start: 0s", "    to: d2\n    start: 10s"), ("40p", "100p"))),
        ("icccn/fig3-middle", "e02", ALL, (("target: 25ms", "target: 10ms"),)),
        ("aina/fig2", "e06", ALL, (("at: 30s", "at: 59s"),)),
        ("aina/fig3", "e02", ALL, (("target: 25ms", "target: 50ms"),)),
        ("aina/fig4", "e01", ALL, (("target: 25ms", "target: 50ms"),)),
        ("eunice/fig1", "e01", ALL, (("tcp-ledbat-ld", "tcp-ledbat-md"),)),
        ("eunice/fig2-md-nf1", "e03", ALL, (("tcp-ledbat-md", "tcp-ledbat-ld"),)),
        ("eunice/fig2-md-nf1", "e01", ALL, (("tcp-ledbat-md", "tcp-ledbat-ld"),)),
        ("eunice/fig6-lower", "e05", ALL, (("tcp-ledbat-ldmin", "tcp-ledbat-ld"), (", min_decrease: 1p", ""))),
        ("pam/fig4b", "e06", ALL, (("libutp-beta1", "tcp-reno"),)),
    ],
)
def test_a_claim_that_holds_fails_under_a_change(
    name: str, claim: str, times: int, changes: tuple[tuple[str, str], ...], tmp_path: Path
) -> None:
    experiment = registry.load(STUDIES / f"{name}.claims.yaml")
    judged = experiment.claim(f"{experiment.id}/{claim}")
    assert judged
    assert read(REFERENCE)[1][experiment.id]["claims"][judged.id]["verdict"] in HOLDS
    text = (STUDIES / f"{name}.yaml").read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, times)
    scenario = tmp_path / f"{name}.yaml"
    scenario.parent.mkdir()
    scenario.write_text(text)
    cells, runs = expand(scenario, "complete"), tmp_path / "runs"
    about = {"experiment": {"runs_of": experiment.id, "words": experiment.words}}
    read_by = cells_of(judged.data, about, [(experiment.id, cell.name) for cell in cells])
    for cell in (cell for cell in cells if (experiment.id, cell.name) in read_by):
        execute(resolve(cell, 1), runs)
        write_columns(run_folder(runs, cell, 1))
    ask = Question(Runs(runs), experiment.id, experiment.words)
    values = ask.numbers(judged.measure, judged.cell)[0] if judged.measure else {}
    held = ask.truths(judged.holds, judged.cell)[0] if judged.holds else {}
    judgement = judge(judged, experiment.words, values, held)
    assert judgement and judgement.verdict == Verdict.FAILS, (values, held)


def test_a_recorded_run_stands_in_the_place_of_another(tmp_path: Path) -> None:
    experiment = "pam-fig4a-adsl-flavours"
    cells = {cell.name: cell for cell in expand(STUDIES / "pam/fig4a.yaml", "complete")}
    for cell, queue in (("case=tcp", 30), ("case=beta1", 5)):
        for seed in (1, 2):
            made = plain()
            made.experiment, made.cell, made.seed, made.queue = experiment, cell, seed, [(0.0, queue)]
            write_columns(write(tmp_path, made))
    seen = in_place(Runs(tmp_path), experiment, cells["case=tcp"], cells["case=beta1"], 2)
    ask = Question(seen, experiment, {})
    assert [ask.numbers("queue_pkts.max()", cell)[0] for cell in ("case=tcp", "case=beta1")] == [{2: 5.0}, {2: 5.0}]


def test_cells_with_other_senders_have_the_same_path() -> None:
    tcp, alpha2, *_ = expand(STUDIES / "pam/fig2b.yaml", "complete")
    assert path_of(tcp) == path_of(alpha2)
    down = next(cell for cell in expand(STUDIES / "pam/fig2b.yaml", "complete") if cell.name == "case=beta1-down")
    assert path_of(tcp) != path_of(down)


def test_the_page_counts_what_the_list_has(tmp_path: Path) -> None:
    copy = Path(shutil.copy(rivals.PAGE, tmp_path))
    rivals.write_counts(copy)
    assert copy.read_text() == rivals.PAGE.read_text()


def test_the_list_has_claims_once() -> None:
    with rivals.LIST.open(newline="") as file:
        listed = [row["claim"] for row in csv.DictReader(file)]
    assert len(listed) == len(set(listed)) and set(listed) <= claims().keys()
