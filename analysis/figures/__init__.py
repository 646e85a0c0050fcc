"""Figures of experiments: vector graphics and pictures for the page, interactive HTML beside them. All offline."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import vl_convert

from analysis.documents import Document, read_json
from analysis.errors import BadInputError
from analysis.figures import page, style, values, windows
from analysis.files import whole, write_text
from analysis.runs import Runs

PNG_SCALE: Final = 2.0

Drawing = tuple[Callable[[int], dict[str, Any]], str]  # a Vega-Lite specification for a width in pixels, and a caption


def draw(experiment: str, runs: Path, out: Path) -> None:
    """Draw an experiment's figure as the study declares it.

    Writes figure.svg, figure-narrow.svg (for phones), figure.png, figure.html (interactive) and figure.txt (the
    caption) into the experiment's folder, where `measure` has left the declaration in verdicts.json.
    """
    folder = out / experiment
    measured = folder / "verdicts.json"
    if not measured.exists():
        raise BadInputError(f"{measured}: missing; make it first with: python -m analysis measure {experiment}")
    document = read_json(measured)
    if document.maybe("figure", dict) is None:
        raise document.error("figure", None, "a figure, declared in the study's claims.yaml")
    specify, caption = _drawing(document.child("figure"), experiment, runs)
    wide = specify(style.WIDE)
    svg = vl_convert.vegalite_to_svg(wide)
    write_text(folder / "figure.svg", svg)
    write_text(folder / "figure-narrow.svg", vl_convert.vegalite_to_svg(specify(style.NARROW)))
    with whole(folder / "figure.png") as temporary:
        temporary.write_bytes(vl_convert.svg_to_png(svg, scale=PNG_SCALE))
    write_text(folder / "figure.html", page.interactive(wide, document.child("experiment").get("what", str), caption))
    write_text(folder / "figure.txt", caption + "\n")


def _drawing(figure: Document, experiment: str, runs: Path) -> Drawing:
    kind = figure.get("kind", str)
    if kind == "windows-and-queue":
        good = [run for run in Runs(runs).by_cell_and_seed(experiment).values() if run.status == "ok"]
        if not good:
            raise BadInputError(f"{runs}: there is no run of {experiment} that ended well")
        return lambda width: windows.windows_and_queue(good, figure, width), windows.caption(good)
    if kind == "values-by-seed":
        return lambda width: values.values_by_seed(figure, width), values.CAPTION
    raise figure.error(figure.name("kind"), kind, "windows-and-queue or values-by-seed")
