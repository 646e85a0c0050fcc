"""Lists that are written as tables."""

import re
from pathlib import Path
from typing import Any

import pytest

from scenarios import tables
from scenarios.errors import ScenarioError

TABLE = """\
claims:
  - {id: e09}
  - columns:
      - {title: "At {rate} it is {paper}.", runs: "{runs}"}
      - {title: "Row {row}."}
    rows:
      - {shared: {rate: 2mbit, row: 1, runs: 10}, fields: [{id: e01, paper: "0.70"}, {id: e02, title: Other.}]}
      - shared: {rate: 10mbit, row: 2, runs: null}
        fields: [{id: e03, paper: "-"}, null]
"""


def spread(tmp_path: Path, text: str) -> tuple[Any, Any]:
    file = tmp_path / "x.claims.yaml"
    file.write_text(text)
    spread_out = tables.read(file)
    return spread_out.data, spread_out.lines


def test_a_table_stands_for_its_entries_row_by_row(tmp_path: Path) -> None:
    data, lines = spread(tmp_path, TABLE)
    assert data["claims"] == [
        {"id": "e09"},
        {"title": "At 2mbit it is 0.70.", "runs": 10, "id": "e01", "paper": "0.70"},
        {"title": "Other.", "id": "e02"},
        {"title": "At 10mbit it is -.", "id": "e03", "paper": "-"},
    ]
    assert [lines["claims", index] for index in range(4)] == [2, 7, 7, 9]
    assert lines["claims", 3, "title"] == 9


def test_a_row_without_fields_has_an_entry_for_each_column(tmp_path: Path) -> None:
    data, _ = spread(tmp_path, 'list:\n- {columns: [{a: "{x}"}, {b: "{x}{x}"}], rows: [{x: 1}, {x: y}]}\n')
    assert data["list"] == [{"a": 1}, {"b": "11"}, {"a": "y"}, {"b": "yy"}]


def test_values_fill_nested_texts_and_may_stand_for_more_than_a_text(tmp_path: Path) -> None:
    column = '{a: {b: "{x}", c: ["{y}", "${x}"]}, d: "{z}", e: {f: "{y}"}}'
    data, _ = spread(tmp_path, f"list:\n- {{columns: [{column}], rows: [{{x: 1, y: null, z: {{g: 2}}}}]}}\n")
    assert data["list"] == [{"a": {"b": 1, "c": [None, "${x}"]}, "d": {"g": 2}, "e": {}}]


def test_cases_may_be_a_list_of_named_entries(tmp_path: Path) -> None:
    cases = '- {columns: [{case: "{x}", a: 1}, {case: "{x}-b"}], rows: [{x: c}]}\n- {case: d, seeds: {complete: 2}}\n'
    data, lines = spread(tmp_path, f"cases:\n{cases}")
    assert list(data["cases"].items()) == [("c", {"a": 1}), ("c-b", {}), ("d", {"seeds": {"complete": 2}})]
    assert [lines["cases", name] for name in data["cases"]] == [2, 2, 3]


def test_cells_may_be_a_list_of_names_and_cells(tmp_path: Path) -> None:
    table = '{columns: [{name: "{x}: a", cell: "case=a,x={x}"}, {name: "{x}: b", cell: case=b}], rows: [{x: 1}]}'
    data, lines = spread(tmp_path, f"cells:\n- {table}\n- {{name: c, cell: case=c}}\n")
    assert list(data["cells"].items()) == [("1: a", "case=a,x=1"), ("1: b", "case=b"), ("c", "case=c")]
    assert [lines["cells", name] for name in data["cells"]] == [2, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: [{case: a}, {case: a}]", "cases[1].case: found 'a'; allowed: a name that no other of the cases has"),
        ("cases: [{a: 1}]", "cases[0].case: missing; allowed: a name that no other of the cases has"),
        ("cases: [{case: {}}]", "cases[0].case: no text; allowed: a name that no other of the cases has"),
        (
            "cells: [{name: a, cell: b}, {name: a, cell: c}]",
            "cells[1].name: found 'a'; allowed: a name that no other of the cells has",
        ),
        ("cells: []", "cells: found an empty list; allowed: entries with a name, or no cells"),
        ("cells: [a, b]", "cells[0]: no fields; allowed: name: value"),
        ("cells: [{name: a}]", "cells[0]: found a name alone; allowed: name, cell"),
        ("cells: [{name: a, cell: b, unit: s}]", "cells[0]: found cell, unit; allowed: name, cell"),
    ],
)
def test_a_case_or_cell_in_a_list_needs_a_name_of_its_own(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(message)):
        spread(tmp_path, f"{text}\n")


def test_a_table_that_stands_for_too_much_is_refused_before_it_is_spread(tmp_path: Path) -> None:
    columns, rows = ", ".join(["{a: 1}"] * 300), ", ".join(["{x: 1}"] * 300)
    with pytest.raises(ScenarioError, match="found 180000 values; allowed: 100000 at most"):
        spread(tmp_path, f"list:\n- {{columns: [{columns}], rows: [{rows}]}}\n")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('{columns: [{a: "{y}"}], rows: [{xy: 1}]}', "x.claims.yaml:2: list[0].columns[0].a: found '{y}'; allowed: xy"),
        ("{columns: [{a: b}], rows: [{fields: [{}, {}]}]}", "list[0].rows[0].fields: found 2; allowed: one for each"),
        (
            "{columns: [{a: b}], rows: [{x: 1, fields: [{}]}]}",
            "rows[0].x: stands beside fields; allowed: shared",
        ),
        ("{columns: [{a: b}], rows: {x: 1}}", "list[0].rows: no list; allowed: a list"),
        ("{columns: [a], rows: []}", "list[0].columns[0]: no fields; allowed: name: value"),
        ("{columns: [], rows: [], id: e01}", "list[0].id: stands in a table; allowed: columns, rows"),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        spread(tmp_path, f"list:\n- {table}\n")
    assert message in str(caught.value)
