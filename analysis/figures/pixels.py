"""Drawings whose places are pixels: a table, a map."""

from collections.abc import Sequence
from typing import Any

from analysis.figures import style
from analysis.figures.style import Specification

Rows = list[dict[str, Any]]


def specification(
    width: int, height: float, shapes: Sequence[Specification], texts: Rows, mark: Specification
) -> Specification:
    """Make a specification of shapes, whose rows have `x` and `y`, and of texts with `text`, `colour` and `align`."""
    pixels = {"type": "quantitative", "axis": None}
    place = {
        "x": {**pixels, "field": "x", "scale": {"domain": [0, width], "nice": False}},
        "y": {**pixels, "field": "y", "scale": {"domain": [height, 0], "nice": False}},
    }
    colour = {"field": "colour", "type": "nominal", "scale": None, "legend": None}
    layers = [{**shape, "encoding": {**place, **shape["encoding"]}} for shape in shapes]
    layers += [
        {
            "data": {"values": aligned},
            "mark": {"type": "text", "align": align, **mark},
            "encoding": {**place, "text": {"field": "text"}, "color": colour},
        }
        for align in ("left", "center", "right")
        if (aligned := [text for text in texts if text["align"] == align])
    ]
    return style.specification({"width": width, "height": height, "view": {"stroke": None}, "layer": layers})
