"""Converts quantities as scenarios write them ('10mbit', '25ms', '40p', '12kB') to integers in base units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

_NUMBER_AND_UNIT = re.compile(r"([+-]?(?:\d+(?:\.\d+)?|\.\d+))([A-Za-z%]*)", re.ASCII)


_TOO_LARGE = 2**63
_LONGEST = 50


class UnitError(ValueError):
    """The text is not such a quantity; the message says what was found."""


@dataclass(frozen=True)
class Quantity:
    """A kind of value: its units as multiples of the base unit, and the suffix of its integer in run.json.

    Only a `signed` quantity can be below zero.
    """

    name: str
    suffix: str
    units: dict[str, int]
    example: str
    signed: bool = False
    instead: str = ""
    """What may stand in its place, and has become such a quantity before it is parsed."""

    def __str__(self) -> str:
        article = "" if self.name.endswith("s") else "a "
        return f"{article}{self.name} such as {self.example} (units: {', '.join(self.units)}){self.instead}"

    def parse(self, value: object) -> int:
        """Convert a value to base units.

        Raises UnitError for a value without a unit, with an unknown unit, finer than the base unit, larger than the
        guest's programs can read, or below zero and not signed.
        """
        if not isinstance(value, str):
            kind = "a number without a unit" if isinstance(value, int | float) and not isinstance(value, bool) else None
            raise UnitError(f"found {value!r}, {kind or f'no {self.name}'}")
        match = _NUMBER_AND_UNIT.fullmatch(value)
        if match is None:
            raise UnitError(f"found {value!r}, no {self.name}")
        number, unit = match.groups()
        if not unit:
            raise UnitError(f"found {value!r}, a number without a unit")
        if unit not in self.units:
            raise UnitError(f"found {value!r}, unknown unit {unit!r}")
        exact = Decimal(number) * self.units[unit]
        if exact < 0 and not self.signed:
            raise UnitError(f"found {value!r}, a negative {self.name}")
        if abs(exact) >= _TOO_LARGE:
            raise UnitError(f"found {_shortened(value)!r}, more than 64 bits hold")
        if exact != int(exact):
            raise UnitError(f"found {value!r}, finer than 1 {next(iter(self.units))}")
        return int(exact)


def _shortened(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}..."


_TIME = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}
# The first unit of each is its base unit. Rates count bits and are decimal, as in tc; kB is 1000 bytes.
QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("time", "ns", _TIME, "25ms"),
        Quantity("time difference", "ns", _TIME, "-3s", signed=True),
        Quantity("rate", "bps", {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}, "10mbit"),
        Quantity("packets", "pkts", {"p": 1}, "40p"),
        Quantity("buffer", "pkts", {"p": 1}, "40p", instead=", or beside a rate a time such as 100ms"),
        Quantity("bytes", "bytes", {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}, "12kB"),
        Quantity("share", "ppm", {"ppm": 1, "%": 10**4}, "0.1%"),
        Quantity("skew", "ppb", {"ppb": 1, "ppm": 10**3}, "-50ppm", signed=True),
    )
}


def parse(value: object, quantity: str) -> int:
    """Return `value` as an integer: time in ns, rate in bit/s, packets, bytes, share in 1e-6, skew in 1e-9."""
    return QUANTITIES[quantity].parse(value)
