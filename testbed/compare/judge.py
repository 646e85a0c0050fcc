"""The scenarios of a comparison: the numbers of each implementation, tests, and pictures, into comparison.json."""

import json
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from analysis.capture import packed
from analysis.claims.question import Question
from analysis.documents import read_yaml
from analysis.figures import svg
from analysis.files import write_made
from analysis.provenance import distinct
from analysis.run import Run
from analysis.runs import Runs
from scenarios.cell_names import name_of
from testbed.compare import distributions
from testbed.pool import pool
from testbed.shared.metrics import METRICS
from testbed.shared.panel import CLIENT, in_order
from testbed.shared.pictures import draw
from testbed.shared.standings import measure_metric

FORMAT: Final = 3
FILE: Final = "comparison.json"
STUDY: Final = "compare"
SIDE_BY_SIDE: Final = 3
Cells = dict[str, str]  # by implementation: its cell


def write(results: Path, scenarios: Sequence[Path]) -> None:
    """Compare the runs of each scenario, several scenarios at a time; one without a finished run has no comparison."""
    with pool() as processes:
        list(processes.map(partial(compare, results), scenarios))


def compare(results: Path, scenario: Path) -> None:
    """Measure, test and draw all runs of a scenario, into experiments/<its experiment>.

    The implementations, and which of them the others are tested against (the first), are those of the scenario's matrix
    under `client`; all other values of the matrix make a point, at which they meet the same network.
    """
    document = read_yaml(scenario)
    experiment = document.get("experiment", str)
    clients = [str(name) for name in document.child("matrix").get(CLIENT, list)]
    ask = Question(Runs(results / "runs"), experiment, {})
    by_cell: dict[str, list[Run]] = {}
    for (cell, _), run in ask.runs.by_cell_and_seed(experiment).items():
        if not run.outcomes(CLIENT):  # else the client failed in it
            by_cell.setdefault(cell, []).append(run)
    folder = results / "experiments" / experiment
    points: dict[str, tuple[dict[str, Any], Cells]] = {}
    for cell, values in ask.cells().items():
        if cell not in by_cell:
            continue
        rest = {name: value for name, value in values.items() if name != CLIENT}
        points.setdefault(name_of(rest), (rest, {}))[1][str(values[CLIENT])] = cell
    if not points:
        (folder / FILE).unlink(missing_ok=True)
        return
    order = in_order(document, list(points))
    result = {
        "format": FORMAT,
        "experiment": experiment,
        "title": document.get("title", str),
        "scenario": scenario.name,
        "clients": clients,
        "points": [
            _point(folder, f"point-{number}", clients, *points[name], by_cell, ask) for number, name in enumerate(order)
        ],
        "runs": [
            {
                "cell": cell,
                "seed": run.settings.seed,
                "wall_s": run.summary.get("wall_s", float),
                "folder": str(run.folder.relative_to(results)),
                "captures": bool(packed.kept(run.folder)),
            }
            for cell, of_cell in by_cell.items()
            for run in of_cell
        ],
        "versions": _versions(by_cell),
        "provenance": _provenance(by_cell),
    }
    write_made(folder / FILE, json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _versions(by_cell: dict[str, list[Run]]) -> dict[str, str]:
    """Give the version that each implementation told when it was asked in a run."""
    versions_of_runs = [run.summary.maybe("versions", dict) or {} for runs in by_cell.values() for run in runs]
    return {name: version for versions in versions_of_runs for name, version in sorted(versions.items())}


def _provenance(by_cell: dict[str, list[Run]]) -> dict[str, list[Any]]:
    """Collect what all runs were made from; the arguments of a boot, which name the seed, stand in each run.json."""
    provenance = distinct(run.settings.provenance for runs in by_cell.values() for run in runs)
    return {name: values for name, values in provenance.items() if name != "boot_arguments"}


def _point(
    folder: Path,
    name: str,
    clients: list[str],
    values: dict[str, Any],
    cells: Cells,
    by_cell: dict[str, list[Run]],
    ask: Question,
) -> dict[str, Any]:
    runs = {client: by_cell.get(cells.get(client, ""), []) for client in clients}
    ended_well = [{"cell": cells[client], "title": client} for client in clients if runs[client]]
    pictures: dict[str, list[str]] = {}
    captions = []
    for part in range(rows := math.ceil(len(ended_well) / SIDE_BY_SIDE)):
        in_row = ended_well[len(ended_well) * part // rows : len(ended_well) * (part + 1) // rows]
        pictures[f"{name}-{part}"] = [entry["title"] for entry in in_row]
        captions.append(draw(folder / f"{name}-{part}", ask, in_row))
    there = {client: of_client for client, of_client in runs.items() if of_client}
    svg.write(folder / f"{name}-distributions", partial(distributions.specify, there), distributions.alternative(there))
    numbers = [measure_metric(metric, clients, runs) for metric in METRICS]
    return {
        "values": values,
        "metrics": [entry for entry in numbers if entry["clients"]],
        "pictures": pictures,
        "distributions": f"{name}-distributions",
        "caption": max(captions, key=len, default=""),  # the one that names most levels
    }
