"""What all figures share: a small fixed palette that colour-blind readers can tell apart, sizes, type."""

from typing import Any, Final

# Okabe and Ito's palette, in the order of use: flows first; grey is for what the reader compares with.
FLOWS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
SUM: Final = "#777777"
QUEUE: Final = "#222222"
REFERENCE: Final = "#8A6D00"
MARK: Final = "#999999"
DASHES: Final[dict[str, list[float]]] = {"buffer": [1, 0], "target": [6, 3]}

WIDE: Final = 680  # pixels of the plotting area in a page
NARROW: Final = 300  # and on a phone
FAINT: Final = 0.22  # opacity of the seeds that are not the drawn one

CONFIG: Final[dict[str, Any]] = {
    "font": "Helvetica, Arial, 'DejaVu Sans', sans-serif",
    "background": "white",
    "view": {"stroke": "#cccccc"},
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
        "columns": 4,
    },
    "text": {"fontSize": 11},
}
