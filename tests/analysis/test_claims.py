import math
import re
from pathlib import Path

import pytest
import yaml

from analysis.capture.columns import write_columns
from analysis.claims import registry
from analysis.claims.question import Question
from analysis.errors import BadInputError
from analysis.runs import Runs
from tests.analysis.synthetic import plain, write

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    root = tmp_path_factory.mktemp("runs")
    for seed in (1, 2):
        made = plain()
        made.seed = seed
        made.queue = [(0.0, 0), (2.0, 10 * seed)]
        made.cwnd = {"tcp": [(0.0, 1), (3.0, 9), (6.0, 2)]}
        write_columns(write(root, made))
    other = plain()
    other.experiment, other.cell = "another", "case=a"
    write_columns(write(root, other))
    return Runs(root)


def ask(runs: Runs, expression: str, **words: str) -> dict[int, float]:
    return Question(runs, "made-by-hand", words).numbers(expression, None)[0]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("queue_pkts.at(1)", 0),
        ("cwnd('tcp').max()", 9),
        ("drops('tcp').count()", 3),
        ("min([t for t in drops().times])", 5.0001),
        ("len(drops().episodes(1))", 1),
        ("target_pkts('ledbat')", 25),
        ("duration - steady", 10 / 3),
        ("cwnd('tcp').first_time_above(100)", math.inf),
        ("drops()[7] if False else 1", 1),
        ("run('another', 'case=a').share('ledbat', 1, 5)", 0.2),
        ("twice + late", 14),
    ],
)
def test_words(runs: Runs, expression: str, value: float) -> None:
    assert ask(runs, expression, late="12", twice="late - 10")[1] == pytest.approx(value)


def test_each_seed_is_asked_for_itself(runs: Runs) -> None:
    assert ask(runs, "queue_pkts.at(3)") == {1: 10, 2: 20}


def test_predicates(runs: Runs) -> None:
    assert Question(runs, "made-by-hand", {}).truths("queue_pkts.max() > 10", None) == ({1: False, 2: True}, {})


def test_what_never_happens_is_never_true(runs: Runs) -> None:
    question = Question(runs, "made-by-hand", {"third": "drops().episodes()[2]"})
    assert question.truths("cwnd('tcp').max(0, third) > 0", None)[0] == {1: False, 2: False}
    assert question.numbers("third", None)[0] == {1: math.inf, 2: math.inf}


def test_what_cannot_be_measured_has_a_reason(runs: Runs) -> None:
    question = Question(runs, "made-by-hand", {})
    assert question.numbers("jain(0, 20)", None) == (
        {},
        dict.fromkeys((1, 2), "asked for 20 s, but the run ends at 10 s"),
    )
    values, unknown = question.numbers("run('another', 'case=a').jain(0, 5)", None)
    assert list(values) == [1]
    assert "no run of another, cell case=a, seed 2" in unknown[2]
    assert "division by zero" in question.numbers("1 / 0", None)[1][1]


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('true')",
        "open('/etc/passwd')",
        "queue_pkts.__class__",
        "queue_pkts.values",
        "queue_pkts.times.tofile('/tmp/x')",
        "drops().times.clear()",
        "run('another', 'case=a')._run",
        "run('another', 'case=a').run",
        "cwnd.__func__",
        "().__class__.__base__.__subclasses__()",
        "(lambda: 1)()",
        "'a'.format(1)",
        "f'{queue_pkts.__class__}'",
        "9 ** 9 ** 9 ** 9",
        "'a' * 10 ** 9",
        "[1 for a in list(range(10 ** 9))]",
        "rand()",
        "str(1)",
        "nothing",
        "a := 1",
        "cwnd('nobody').max()",
        "cwnd()",
        "max()",
        "'text'",
        "True",
    ],
)
def test_nothing_else_can_be_reached(runs: Runs, expression: str) -> None:
    with pytest.raises(BadInputError):
        ask(runs, expression)


def claims(tmp_path: Path, **fields: object) -> Path:
    claim = {
        "id": "x/e01",
        "metric": "m",
        "where": "",
        "value": 1.5,
        "unit": "s",
        "source": "sec. 1",
        "kind": "exact-number",
    }
    experiment = {"id": "x", "artefact": "Fig. 1", "what": "w", "scenario": "x.yaml", "expected": [{**claim, **fields}]}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump({"study": "s", "paper": {}, "experiments": [experiment]}))
    return path


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "x/e01: found nothing, allowed is one of measure, holds, kunit, not_testable"),
        ({"kind": "guess"}, "x/e01.kind: found 'guess', allowed is one of exact-number"),
        ({"measure": "1 +"}, "x/e01.measure: found '1 +', allowed is an expression"),
        ({"measure": "1; 2"}, "x/e01.measure"),
        ({"measure": "1", "value": None}, "a measure beside a value or a holds"),
        (
            {"holds": "1 < 2", "not_testable": "no"},
            "x/e01.not_testable: found 'holds, not_testable', allowed is one of holds",
        ),
        ({"holds": "1 < 2", "kunit": True}, "x/e01.kunit: found 'holds, kunit', allowed is one of holds, kunit"),
        ({"kunit": "e01"}, "x/e01.kunit: found 'e01', allowed is true, for the KUnit case"),
        ({"measure": "1", "value_range": [2, 1]}, "x/e01.value_range: found [2, 1], allowed is two numbers"),
        ({"measure": 1}, "x/e01.measure: found 1, allowed is a text"),
    ],
)
def test_bad_claims_are_named(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    path = claims(tmp_path, **fields)
    with pytest.raises(BadInputError) as caught:
        registry.load(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_broken_yaml_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "claims.yaml"
    path.write_text("study: a\nb: [\n")
    with pytest.raises(BadInputError, match="line 3"):
        registry.load(path)


@pytest.mark.parametrize(("name", "claims", "running"), [("icccn", 204, 15), ("eunice", 128, 20), ("today", 5, 1)])
def test_the_registry_is_whole(name: str, claims: int, running: int) -> None:
    study = registry.load(ROOT / "workflows/studies" / name / "claims.yaml")
    ids = [claim.id for experiment in study.experiments for claim in experiment.claims]
    assert len(ids) == len(set(ids)) == claims
    run = [experiment for experiment in study.experiments if experiment.scenario]
    assert len(run) == running
    for experiment in run:
        assert (ROOT / str(experiment.scenario)).is_file()
        assert experiment.figure
        assert all(claim.measure or claim.holds or claim.kunit or claim.not_testable for claim in experiment.claims)


@pytest.mark.parametrize("name", ["icccn", "eunice", "aina"])
def test_kunit_cases_of_claims_exist(name: str) -> None:
    cases = set(re.findall(r'CASE\("([^"]+)"', (ROOT / "images/tcp_ledbat/tcp_ledbat_test.c").read_text()))
    study = registry.load(ROOT / "workflows/studies" / name / "claims.yaml")
    decided = [claim.id for experiment in study.experiments for claim in experiment.claims if claim.kunit]
    assert decided
    assert cases.issuperset(decided)


def test_means_over_seeds_are_the_same_for_every_seed(runs: Runs) -> None:
    # queues of 10 and 20 packets from 2 s on
    assert ask(runs, 'mean_over_seeds("queue_pkts.at(5)")') == {1: 15, 2: 15}
    assert ask(runs, 'mean_over_seeds("queue_pkts.first_time_above(20)")') == {1: math.inf, 2: math.inf}
    two, one = (Question(runs, "made-by-hand", {}).mean_over_seeds(text, None) for text in ("queue_pkts.at(5)", "1"))
    assert (two, one) == (15, 1)
