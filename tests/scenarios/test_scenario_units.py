"""Quantities: every way of writing a value gives the same integer, and nothing else is a quantity."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.units import QUANTITIES, Quantity, UnitError, parse

UNITS = [(quantity, unit) for quantity in QUANTITIES.values() for unit in quantity.units]


@pytest.mark.parametrize(
    ("text", "quantity", "value"),
    [
        ("10mbit", "rate", 10_000_000),
        ("25ms", "time", 25_000_000),
        ("1.5ms", "time", 1_500_000),
        (".5us", "time", 500),
        ("10min", "time", 600_000_000_000),
        ("0s", "time", 0),
        ("40p", "packets", 40),
        ("12kB", "bytes", 12_000),
        ("0.1%", "share", 1_000),
        ("-3s", "time difference", -3_000_000_000),
        ("1.5ppm", "skew", 1_500),
        ("-20ppb", "skew", -20),
    ],
)
def test_known_values(text: str, quantity: str, value: int) -> None:
    assert parse(text, quantity) == value


@given(st.sampled_from(UNITS), st.integers(0, 10**15))
def test_whole_numbers_are_exact_or_refused(unit: tuple[Quantity, str], number: int) -> None:
    quantity, name = unit
    exact = number * quantity.units[name]
    if exact < 2**63:
        assert quantity.parse(f"{number}{name}") == exact
        return
    with pytest.raises(UnitError, match="more than 64 bits hold"):
        quantity.parse(f"{number}{name}")


@given(st.sampled_from(UNITS), st.decimals(0, 10**6, places=9))
def test_fractions_are_exact_or_refused(unit: tuple[Quantity, str], number: object) -> None:
    quantity, name = unit
    exact = Fraction(str(number)) * quantity.units[name]
    text = f"{number:f}{name}"
    if exact.denominator == 1:
        assert quantity.parse(text) == exact
    else:
        with pytest.raises(UnitError, match="finer than"):
            quantity.parse(text)


@given(st.sampled_from(list(QUANTITIES.values())), st.text() | st.integers() | st.floats() | st.booleans() | st.none())
def test_anything_else_is_refused_with_what_was_found(quantity: Quantity, value: object) -> None:
    try:
        assert quantity.parse(value) >= 0 or quantity.signed
    except UnitError as error:
        assert repr(value) in str(error)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (25, "a number without a unit"),
        ("25", "a number without a unit"),
        ("25 ms", "no time"),
        ("-5ms", "a negative time"),
        ("25MS", "unknown unit 'MS'"),
        ("25mbit", "unknown unit 'mbit'"),
        (True, "no time"),
        ("1e3ms", "no time"),
        ("٣ms", "no time"),
    ],
)
def test_refusals_say_why(value: object, reason: str) -> None:
    with pytest.raises(UnitError, match=reason):
        parse(value, "time")
