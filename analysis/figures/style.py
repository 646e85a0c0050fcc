"""What all figures share: a small fixed palette that colour-blind readers can tell apart, sizes, type."""

from typing import Any, Final

# Okabe and Ito's palette, in the order of use: flows first; grey is for what the reader compares with.
FLOWS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#000000")
SUM: Final = "#777777"
QUEUE: Final = "#222222"
REFERENCE: Final = "#8A6D00"
MARK: Final = "#999999"
DASHES: Final[dict[str, list[float]]] = {"buffer": [1, 0], "target": [6, 3]}
# as on the pages of the report
VERDICTS: Final = {
    "reproduced": "#0b6b50",
    "near": "#8a5a00",
    "undecided": "#6a3d9a",
    "not reproduced": "#b3261e",
    "not testable": "#5b626b",
}

WIDE: Final = 680  # pixels of the plotting area in a page
NARROW: Final = 300  # and on a phone
GAP: Final = 70  # between plots that stand side by side: an axis with its title
FAINT: Final = 0.22  # opacity of the seeds that are not the drawn one

Specification = dict[str, Any]  # Vega-Lite, or a part of it

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; nothing is fetched from there
_CONFIG: Final[Specification] = {
    "font": "Helvetica, Arial, 'DejaVu Sans', sans-serif",
    "background": "white",
    "view": {"stroke": "#cccccc", "continuousWidth": WIDE},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "gridColor": "#eeeeee",
        "domainColor": "#888888",
        "tickColor": "#888888",
    },
    "legend": {
        "labelFontSize": 12,
        "symbolStrokeWidth": 3,
        "symbolOpacity": 1,
        "symbolType": "stroke",
        "orient": "top",
        "title": None,
    },
    "title": {"fontSize": 13, "fontWeight": "normal", "anchor": "start"},
    "text": {"fontSize": 11},
}


def specification(body: Specification) -> Specification:
    """Make a whole specification of a plot or an arrangement of plots."""
    return {"$schema": _SCHEMA, "config": _CONFIG, **body}


def colours(lines: list[str], legend: bool, width: int) -> Specification:
    """Colour of lines by their names, in the order of the palette; as many names in a row as fit."""
    row = max(1, width // (9 * max((len(line) for line in lines), default=1) + 30))
    return {
        "field": "line",
        "type": "nominal",
        "scale": {"domain": lines, "range": [FLOWS[index % len(FLOWS)] for index in range(len(lines))]},
        "legend": {"columns": min(row, len(lines))} if legend else None,
    }
