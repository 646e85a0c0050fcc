"""Whole numbers in schemas are whole numbers."""

import pytest

from scenarios.validator import Validator


@pytest.mark.parametrize(
    ("value", "is_valid"), [(1, True), (0, True), (-3, True), (1.0, False), (True, False), ("1", False)]
)
def test_a_float_is_no_whole_number(value: object, is_valid: bool) -> None:
    assert Validator({"type": "integer"}).is_valid(value) is is_valid
    assert Validator({"type": ["integer", "null"]}).is_valid(value) is is_valid
