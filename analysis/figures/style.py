"""What all figures share: grounds and inks, sizes, type, digits. docs/reference/figures.md writes the grammar down."""

import math
import re
import textwrap
from typing import Any, Final

# On a light ground, and what stands for it on a dark one; `svg.py` exchanges them where the reader wants dark.
GROUND: Final = "#ffffff"
INK: Final = "#1c1e21"
SOFT: Final = "#5b626b"
FRAME: Final = "#c4c9d0"
GRID: Final = "#e8eaed"
# as on the pages of the report
VERDICTS: Final = {
    "holds": "#0b6b50",
    "nearly": "#8a5a00",
    "open": "#6a3d9a",
    "does not hold": "#b3261e",
    "cannot be tested": "#5b626c",
}
DARK: Final = {
    GROUND: "#14171b",
    INK: "#e6e8eb",
    SOFT: "#a4abb4",
    FRAME: "#4a515a",
    GRID: "#262b30",
    VERDICTS["holds"]: "#55c9a2",
    VERDICTS["nearly"]: "#e0ab4a",
    VERDICTS["open"]: "#c4a1ec",
    VERDICTS["does not hold"]: "#ff8a80",
    VERDICTS["cannot be tested"]: "#a4abb5",
}

# Pixels of a whole figure: on a page, and on a phone. Text keeps its size, so nothing is ever scaled down.
WIDE: Final = 1200
NARROW: Final = 356
WIDTHS: Final = {"": WIDE, "-narrow": NARROW}
"""By the end of a file's name."""
INTERACTIVE: Final = (NARROW, 470, 600, 735, 980, WIDE)  # of a page in a window of any width
AXIS: Final = 46  # left of a plot: the numbers of its axis
GAP: Final = 18  # between plots that stand side by side
TEXT: Final = 12
BETWEEN: Final = 8  # two numbers of an axis, at least
MINUS: Final = "\N{MINUS SIGN}"  # as Vega writes the numbers of axes
LETTER: Final = 6.3  # mean width of one at that size

BAND: Final = 0.22  # opacity of a range, under its median
# opacities of what the reference set has, behind a quick look: lines and marks, bars, bands
GHOST: Final = 0.35
GHOST_BAR: Final = 0.175
GHOST_BAND: Final = 0.07
# the same on a dark ground, on which they would be nearly gone
DARK_OPACITY: Final = {GHOST: 0.5, GHOST_BAR: 0.35, GHOST_BAND: 0.15}
SMALLEST_SPAN: Final = 0.05  # of an axis that does not begin at 0, as a part of its largest number
PERCENT: Final = "%"  # of an axis that may end at 100

Specification = dict[str, Any]  # Vega-Lite, or a part of it

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; nothing is fetched from there
_CONFIG: Final[Specification] = {
    "font": "Helvetica, Arial, 'DejaVu Sans', sans-serif",
    "background": GROUND,
    "padding": 4,
    "view": {"stroke": FRAME},
    "axis": {
        "labelFontSize": TEXT,
        "titleFontSize": TEXT,
        "titleFontWeight": "normal",
        "labelColor": SOFT,
        "titleColor": INK,
        "gridColor": GRID,
        "domainColor": FRAME,
        "tickColor": FRAME,
    },
    "axisY": {"minExtent": AXIS - 8, "maxExtent": AXIS - 8, "tickCount": 4},
    "axisX": {"labelFlush": True, "labelSeparation": BETWEEN},
    "title": {"fontSize": TEXT + 1, "fontWeight": "normal", "anchor": "start", "color": INK, "offset": 6},
    "text": {"fontSize": TEXT, "color": INK},
}


def specification(body: Specification) -> Specification:
    """Make a whole specification of a plot or an arrangement of plots."""
    return {"$schema": _SCHEMA, "config": _CONFIG, **body}


def number(value: float) -> str:
    """Write a number for a drawing, where room is short: at most three significant digits, without zeros at the end."""
    if -math.inf < value < 0:
        return MINUS + number(-value)
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "never"
    if abs(value) < 1e-4:
        mantissa, _, power = f"{value:.2e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    text = f"{rounded:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_of(axis: str) -> str:
    """Give the unit of an axis, which stands in brackets at its end; nothing for a plain number."""
    match = re.search(r"\[([^\[\]]*)\]$", axis)
    return match[1] if match else ""


def ends(values: list[float], unit: str, from_zero: float = 0.5) -> list[float]:
    """Give the ends of an axis that shows all values: from 0 where the smallest is below that part of the largest.

    It is never shorter than a part of the largest value: digits that mean nothing look like nothing. No axis of
    percentages goes beyond 100 unless a value does.
    """
    least, most = min(values, default=0.0), max(values, default=1.0)
    if 0 <= least < from_zero * most or least == most == 0:
        return [0.0, most or 1.0]
    missing = max(0.0, SMALLEST_SPAN * (max(abs(least), abs(most)) or 1.0) - (most - least))
    low, high = least - missing / 2, most + missing / 2
    beyond = max(0.0, high - 100) if unit == PERCENT and most <= 100 else 0.0
    return [low - beyond, high - beyond]


def text_width(text: str) -> int:
    """Pixels that a text takes, nearly."""
    return math.ceil(LETTER * max(map(len, text.split("\n")), default=0))


def wrapped(text: str, width: float, letter: float = LETTER) -> list[str]:
    """Break a text into lines of so many pixels. A number stays with what it counts, a unit in brackets with a word."""
    kept = re.sub(r" (?=\[)|(?<=\d) (?!(?:to|and|or|from|of)\b)", "\N{NO-BREAK SPACE}", text)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(kept, max(1, int(width / letter)))]
