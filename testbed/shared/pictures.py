"""Pictures of runs over time, a column for each cell."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from analysis.claims.question import Question
from analysis.documents import Fields
from analysis.figures import roles, svg
from analysis.figures.kinds.time_series import TimeSeries

PANELS: Final = ("rate", "waited-ms", "in-flight", "queue")


def draw(place: Path, ask: Question, cells: Sequence[dict[str, str]], panels: Sequence[str] = PANELS) -> str:
    """Draw cells, each with its `cell` and maybe a `title`, for wide pages and for phones; return the caption.

    Raises:
        BadInputError, NotMeasuredError: the runs cannot be drawn so.
    """
    declared = Fields(place.parent, {"panels": list(panels), "cells": list(cells)})
    figure = TimeSeries(declared, ask, [], roles.by_flow)
    svg.write(place, partial(figure.specify, interactive=False), figure.alternative())
    return figure.caption()
