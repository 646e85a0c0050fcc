"""How the units of the registry read behind a number."""

from typing import Final

_READ: Final = {
    "percent": "%",
    "kbps": "kbit/s",
    "kbps per s": "kbit/s per s",
    "kbps per ms": "kbit/s per ms",
    "Mbps": "Mbit/s",
    "fraction of total throughput": "of the throughput",
}
_BARE: Final = (None, "", "1", "ratio", "fraction", "true")  # of an index or a ratio
_SINGULAR: Final = {"packets": "packet", "bytes": "byte", "samples": "sample", "entries": "entry"}


def three_digits(value: float) -> str:
    """Give a number for a terminal: three significant digits, without a power of ten, as 4,170 or 0.0000152.

    Pages have `report.formats.number`, and drawings `figures.style.number`.
    """
    text = f"{value:.3g}"
    if "e+" in text:
        return f"{float(text):,.0f}"
    mantissa, _, exponent = text.partition("e-")
    return f"{value:.{int(exponent) + len(mantissa.lstrip('-').replace('.', '')) - 1}f}" if exponent else text


def unit_of(unit: str | None) -> str:
    """Give what stands behind a number: nothing for an index."""
    return "" if unit in _BARE else _READ.get(str(unit), str(unit))


def with_unit(number_text: str, unit: str, blank: str = " ") -> str:
    """Set a unit behind a number, in the singular behind 1: 1 packet per RTT, 2 packets."""
    if not unit:
        return number_text
    counted, space, rest = unit.partition(" ")
    if number_text == "1":
        counted = _SINGULAR.get(counted, counted)
    return f"{number_text}{blank}{counted}{space}{rest}"
