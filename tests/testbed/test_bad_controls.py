"""Controls written with a fault fail the rows of `testbed evaluate` that their fault concerns, and no others."""

import pytest

from testbed.evaluate import read_criteria
from tests.copies import Copy
from tests.testbed.bad_controls import CONTROLS, PREDICTIONS, failed, predicted, with_bad_controls

SHORT = {
    "deaf": ["collapse/heavy-loss", "collapse/loss"],
    "asleep": ["collapse/silence", "collapse/return"],
    "reclaiming": ["transient/crowd", "transient/returns"],
    "rushing": ["short-flows/own-short", "short-flows/own-loss"],
}
"""Rows of few runs."""


def test_predictions_name_rows() -> None:
    rows = {f"{criterion.id}/{row.id}" for criterion in read_criteria.load_all() for row in criterion.rows}
    for of_control in (PREDICTIONS["reno"], *CONTROLS.values()):
        assert {*of_control["fails"], *of_control.get("beyond", {}), *of_control.get("missed", {})} <= rows
        assert {*of_control.get("missed", {})} <= {*of_control["fails"]}
    assert SHORT.keys() == CONTROLS.keys()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return with_bad_controls(tmp_path_factory.mktemp("bad"))


@pytest.mark.parametrize("name", SHORT)
def test_each_fault_fails_its_rows(copy: Copy, name: str) -> None:
    assert failed(copy, name, SHORT[name]) == predicted(name) & {*SHORT[name]}
