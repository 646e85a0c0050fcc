"""The seeds that undecided claims ask for, and what they cost; kept in a file that the pipeline's next pass reads."""

import json
from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.claims.reads import Cell
from analysis.documents import read_if_made
from analysis.errors import BadInputError
from analysis.files import write_made
from analysis.report.results import Result, collect
from analysis.verdicts.seeds import BUDGET, HOUR_S, Batch, SeedRequest, more_seeds
from common.counts import plural
from scenarios.cells import plan
from scenarios.errors import ScenarioError


def request_seeds(results: Path, out: Path | None, console: Console | None = None) -> None:
    """Say which seeds the claims measured under `results` ask for and what they cost; add them to the file `out`.

    The file has the number of seeds by experiment and cell (`seeds`), and the claims beyond the budget with the virtual
    seconds that they would cost (`beyond`). Seeds that stand in it stay, so a claim that more seeds have decided keeps
    them.
    """
    measured = [experiment for experiment in collect(results) if experiment.folder]
    first = _first_batch(measured)
    before_it = read_if_made(out.parent, out.name) if out else None
    kept = before_it.get("seeds", dict) if before_it else {}
    before = {(experiment, cell): seeds for experiment, cells in kept.items() for cell, seeds in cells.items()}
    request = more_seeds((experiment.data for experiment in measured), first, before)
    for (experiment, cell), seeds in request.seeds.items():
        kept.setdefault(experiment, {})[cell] = seeds
    if out:
        text = json.dumps({"seeds": kept, "beyond": request.beyond}, indent=1, sort_keys=True)
        write_made(out, text + "\n")
    _print(request, first, before, console or Console())


def _first_batch(measured: list[Result]) -> dict[Cell, Batch]:
    """Ask the scenarios, as they were measured, for the seeds of their cells."""
    scenarios = {
        experiment.data["experiment"]["scenario"]: experiment.data["runs"][0]["size"] for experiment in measured
    }
    try:
        planned = [cell for file, size in scenarios.items() for cell in plan([Path(file)], size)]
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return {(entry["experiment"], entry["cell"]): Batch(len(entry["seeds"]), entry["virtual_s"]) for entry in planned}


def _print(request: SeedRequest, first: dict[Cell, Batch], before: dict[Cell, int], console: Console) -> None:
    runs: Counter[str] = Counter()
    virtual_s: Counter[str] = Counter()
    for cell, seeds in request.seeds.items():
        more = seeds - max(first[cell].seeds, before.get(cell, 0))
        runs[cell[0]] += more
        virtual_s[cell[0]] += round(more * first[cell].virtual_s)
    if runs:
        table = Table(box=None, header_style="dim", pad_edge=False)
        table.add_column("experiment", no_wrap=True)
        for head in ("cells", "more runs", "virtual h"):
            table.add_column(head, justify="right")
        for name in sorted(runs):
            cells = sum(experiment == name for experiment, _ in request.seeds)
            table.add_row(name, str(cells), str(runs[name]), f"{virtual_s[name] / HOUR_S:.1f}")
        console.print(table)
        hours = f"{request.virtual_s / HOUR_S:.1f} h of virtual time"
        sentence = (
            f"{plural(len(request.claims), 'claim')} {'asks' if len(request.claims) == 1 else 'ask'} for "
            f"{plural(runs.total(), 'more run')}, {hours}, in the next pass."
        )
    else:
        sentence = "No cell needs more seeds."
    spent = (request.spent_s + request.virtual_s) / (request.first_s or 1)
    sentence += f" With these, seeds beyond the first batch take {spent:.0%} of its {request.first_s / HOUR_S:.1f} h; "
    lines = [sentence + f"{BUDGET:.0%} are allowed."]
    if request.undecidable:
        lines.append(
            "Left undecided, since more seeds like those measured would not help: "
            f"{plural(len(request.undecidable), 'claim')}."
        )
    if request.beyond:
        costs: dict[str, list[float]] = {}
        for name, cost_s in sorted(request.beyond.items()):
            costs.setdefault(name.rpartition("/")[0], []).append(cost_s / HOUR_S)
        named = ", ".join(f"{len(each)} of {name} (up to {max(each):.1f} h each)" for name, each in costs.items())
        lines.append(f"Claims beyond that: {named}.")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)
