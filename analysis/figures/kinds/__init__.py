"""The kinds of figures: one module each, named like the kind (`time-series` is `time_series.py`).

A module has `make(measured, runs)`, which takes the contents of an experiment's verdicts.json, its declared figure
included, and the folder of runs. A new kind is a module here and a name in claims.schema.yaml.
"""

from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from analysis.documents import Fields
from analysis.figures.style import Specification


class FigureKind(Protocol):
    """What every kind of figure can do."""

    def caption(self) -> str:
        """Say what the reader has to know to read the figure."""

    def alternative(self) -> str:
        """Say what the figure shows to readers who do not see it; see `told`."""

    def specify(self, width: int, *, interactive: bool) -> Specification:
        """Give the Vega-Lite specification for a page of `width` pixels."""


def make(measured: Fields, runs: Path) -> FigureKind:
    """Make the figure that an experiment declares.

    Raises BadInputError where it declares none, or one that cannot be drawn.
    """
    declared = measured.child("figure")
    kinds = {file.stem.replace("_", "-") for file in Path(__file__).parent.glob("[a-z]*.py")}
    if (kind := declared.get("kind", str)) not in kinds:
        raise declared.error(declared.name("kind"), kind, f"one of {', '.join(sorted(kinds))}")
    module = import_module(f"{__name__}.{kind.replace('-', '_')}")
    return cast(FigureKind, module.make(measured, runs))
