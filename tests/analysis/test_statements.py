"""Statements: the page of their fields, files that are wrong, and the policy of every seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.capture.columns import write_columns
from analysis.claims.of_run import number
from analysis.errors import BadInputError
from analysis.judge import every_seed, statement
from analysis.judge.statement import Form, Statement, load
from analysis.judge.verdict import SIGNS, Verdict, counted, exit_status, worst
from analysis.run import Run
from scenarios.load import read
from tests.analysis.synthetic import plain, write
from tests.workflows.test_documentation import rows

PAGE = (Path(__file__).parents[2] / "docs/reference/statements.md").read_text()
FIELDS = ("id", "in", "measure", "untestable", *statement.SIGNS)
FORM = Form((), FIELDS, ("id",), ("measure", "untestable"), {"baseline"}, "a page")


def put(folder: Path, **fields: Any) -> Path:
    file = folder / "statements.yaml"
    file.write_text(yaml.safe_dump({"statements": [{"id": "a", **fields}]}))
    return file


def test_every_field_is_on_the_page() -> None:
    schema = read(statement.SCHEMA).data
    head = "| field | takes | meaning |\n|---|---|---|\n"
    listed = head + "\n".join(rows(schema, schema))
    assert f"<!-- fields of statements -->\n{listed}\n<!-- end of fields of statements -->" in PAGE


def test_the_page_has_each_verdict() -> None:
    assert [f"| {SIGNS[verdict]} {verdict} |" in PAGE for verdict in Verdict] == [True] * 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"measure": "duration"}, "found a measure without a bound; allowed: a measure, and one of at_least, above"),
        ({"untestable": "no", "below": 3}, "statements[0]: found below without a measure"),
        (
            {"measure": "duratoin", "below": 3},
            "statements[0].measure: unknown word 'duratoin' (did you mean",
        ),
        ({"measure": "duration", "below": "baselin"}, "statements[0].below: unknown word 'baselin'"),
        ({"measure": "duration", "below": 3, "says": "no"}, "statements[0].says: unknown field"),
        ({}, "statements[0]: found none; allowed: one of measure, untestable"),
    ],
)
def test_what_is_wrong_with_statements(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError) as error:
        load(put(tmp_path, **fields), FORM)
    assert str(error.value).startswith(f"{tmp_path / 'statements.yaml'}:")
    assert message in str(error.value)


def test_a_statement_is_about_cells_with_its_values() -> None:
    about = Statement("a", "", (), {"rate": ("10mbit", "2mbit"), "case": ("fast",)})
    assert about.is_about("case=fast,client=x,rate=2mbit")
    assert not about.is_about("case=fast,client=x,rate=1mbit")
    assert not about.is_about("rate=2mbit")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Two runs: in each, the first flow loses three packets; both last ten seconds."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for seed in (1, 2):
        one = plain()
        one.seed = seed
        write_columns(of_seed := write(folder, one))
        made.append(Run(of_seed))
    return made


@pytest.mark.parametrize(
    ("fields", "verdict", "why"),
    [
        ({"measure": "duration", "below": 11}, "holds", "duration = 10 s, allowed below 11 s"),
        ({"measure": "duration", "below": 10}, "does not hold", "duration = 10 s, allowed below 10 s"),
        ({"measure": "duration", "at_least": 4, "at_most": 12}, "holds", "10 s, allowed at least 4 s, at most 12 s"),
        ({"measure": "duration", "at_least": 10, "at_most": 10}, "holds", "duration = 10 s, allowed 10 s"),
        ({"measure": "duration", "at_least": 11, "at_most": 12}, "does not hold", "at least 11 s, at most 12 s"),
        ({"measure": "drops(flows[0].name).first(20)", "at_most": "never"}, None, "unknown word"),
        ({"measure": "1 / drops().first(duration + 5)", "at_most": 1}, "cannot be tested", "seed 1: "),
    ],
)
def test_every_seed_has_to_keep_the_bounds(
    fields: dict[str, Any], verdict: str | None, why: str, tmp_path: Path, runs: list[Run]
) -> None:
    file = put(tmp_path, **fields)
    if verdict is None:
        with pytest.raises(BadInputError):
            load(file, FORM)
        return
    [wanted] = load(file, FORM)[1]
    decided = every_seed.decide(wanted, runs, number, "s")
    assert decided.verdict == verdict
    assert why in decided.why


def test_what_verdicts_make_of_a_command() -> None:
    holds, opened, fails, untestable = Verdict.HOLDS, Verdict.OPEN, Verdict.FAILS, Verdict.UNTESTABLE
    assert [exit_status(v) for v in ([], [holds, untestable], [opened, holds], [opened, fails])] == [0, 0, 2, 1]
    assert exit_status([holds, untestable], untestable_is_unknown=True) == 2
    assert [worst(v) for v in ([], [holds, untestable], [opened, untestable])] == [untestable, untestable, opened]
    assert counted([fails, holds, holds]) == "2 hold, 1 does not hold"
