"""Draws figures: vector graphics for the page, interactive HTML beside them, which saves pictures. All offline."""

import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from analysis.documents import read_made
from analysis.errors import BadInputError
from analysis.experiment_files import CAPTION, PICTURE, VERDICTS
from analysis.figures import in_reference, kinds, page, style, svg
from analysis.pool import each
from common import sums

FIGURE: Final = (*(f"{PICTURE}{suffix}.svg" for suffix in style.WIDTHS), f"{PICTURE}.html", CAPTION)
"""Files of a figure."""


def draw(experiments: Sequence[str], runs: Path, out: Path, processes: int = 1, reference: Path | None = None) -> None:
    """Draw the figures of experiments as their study declares them; a quick look's with the reference set behind.

    Writes figure.svg, figure-narrow.svg (for phones), figure.html (interactive, with ../viewer.js) and
    figure.txt (the caption) into each experiment's folder, where `measure` has left the declaration in verdicts.json.

    Raises:
        BadInputError: an experiment has not been measured, or its figure is not one that can be drawn.
    """
    each(partial(_draw, runs=runs, out=out, reference=reference), experiments, processes)
    page.write_viewer(out)


def outdated(
    experiments: Iterable[str], out: Path, code: Path | None = None, reference: Path | None = None
) -> list[str]:
    """List those whose figure is missing, damaged, or older than its measurements, `code` or file of the reference."""
    return [experiment for experiment in experiments if not _is_current(out / experiment, code, reference)]


def _is_current(folder: Path, code: Path | None, reference: Path | None) -> bool:
    last = folder / CAPTION  # it is written last
    kept = in_reference.file_of(reference, folder.name)
    sources = [folder / VERDICTS, *([code] if code else []), *([kept] if kept else [])]
    is_newer = last.exists() and all(last.stat().st_mtime_ns >= source.stat().st_mtime_ns for source in sources)
    return is_newer and not sums.damaged(folder, FIGURE)


def _draw(experiment: str, runs: Path, out: Path, reference: Path | None) -> None:
    folder = out / experiment
    measured = folder / VERDICTS
    if not measured.exists():
        made = shlex.join(["python", "-m", "analysis", "measure", experiment, "--runs", str(runs), "--out", str(out)])
        raise BadInputError(f"{measured}: missing; make it first with: {made}")
    document = read_made(folder, VERDICTS)
    in_reference.add(document.data, reference)
    figure = kinds.make(document, runs)
    caption, says = figure.caption(), figure.alternative()
    layouts = {width: figure.specify(width, interactive=True) for width in style.INTERACTIVE}
    interactive = page.interactive(layouts, document.child("experiment"), caption, says)
    with sums.replacing(folder) as draft:
        svg.write(draft / PICTURE, partial(figure.specify, interactive=False), says)
        (draft / f"{PICTURE}.html").write_text(interactive, encoding="utf-8")
        (draft / CAPTION).write_text(caption + "\n", encoding="utf-8")
