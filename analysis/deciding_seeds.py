"""Proposes the seeds that decide: what a scenario's cells need for the verdicts of the claims that read them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from analysis.claims import registry
from analysis.claims.reads import Cell, cells_of
from analysis.claims.registry import Claim, Experiment
from analysis.claims.syntax import is_about_means
from analysis.documents import read_json
from analysis.errors import BadInputError
from analysis.judge.findings import WANTED
from analysis.judge.verdict import Verdict
from common.counts import plural
from scenarios import scenario_files
from scenarios.cells import PlannedCell, plan
from scenarios.errors import ScenarioError

_HOUR_S: Final = 3600
_PLAIN: Final[dict[str, Any]] = {"highlight": False, "soft_wrap": True, "markup": False}


def propose(studies: Path, reference: Path, console: Console | None = None) -> None:
    """Print the cells whose scenarios have fewer or more seeds than the claims of a reference set need.

    A claim needs the seeds with which its verdict was given there; an open one needs those that the rules expect
    to decide it, if any. A cell needs the most of the claims that read it; what no claim reads is not proposed.
    """
    console = console or Console()
    folders = registry.folders_of_studies(studies)
    try:
        planned = plan([file for folder in folders for file in scenario_files(folder)], "complete")
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    cells: dict[Cell, PlannedCell] = {(each["experiment"], each["cell"]): each for each in planned}
    needed: dict[Cell, int] = {}
    for experiment in (registry.load(file) for folder in folders for file in registry.claims_files(folder)):
        about = {"experiment": {"runs_of": experiment.runs_of, "words": experiment.words}}
        for claim, seeds in _needs(experiment, reference):
            needed |= {cell: max(seeds, needed.get(cell, 0)) for cell in cells_of(claim.data, about, cells)}
    unlike = [(cell, len(cells[cell]["seeds"]), seeds) for cell, seeds in sorted(needed.items())]
    unlike = [(cell, here, seeds) for cell, here, seeds in unlike if here != seeds]
    for (experiment_id, name), here, seeds in unlike:
        console.print(f"{experiment_id} {name}: seeds {here}, proposed {seeds}", **_PLAIN)
    runs = sum(seeds - here for _, here, seeds in unlike)
    hours = sum((seeds - here) * cells[cell]["virtual_s"] for cell, here, seeds in unlike) / _HOUR_S
    console.print(f"{plural(len(unlike), 'cell')}: {runs:+,} runs, {hours:+.1f} virtual hours", **_PLAIN)


def _needs(experiment: Experiment, reference: Path) -> Iterator[tuple[Claim, int]]:
    """Yield the claims with the seeds that they need; means over the seeds take what there is."""
    file = reference / f"{experiment.id}.json"
    kept = read_json(file).child("claims").data if file.exists() else {}
    for claim in experiment.claims:
        entry = kept.get(claim.id, {})
        seeds = [int(seed) for part in ("by_seed", "held") for seed in entry.get(part) or {}]
        of_means = any(is_about_means(text, experiment.words) for text in (claim.measure, claim.holds) if text)
        if seeds and not claim.same_as and not of_means:
            is_open = entry["verdict"] == Verdict.OPEN
            yield claim, max(*seeds, entry.get(WANTED) or 0) if is_open else max(seeds)
