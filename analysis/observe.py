"""`python -m analysis observe RUN`: observation.json and observation.svg of a run, from its captures alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from analysis.capture.columns import write_columns
from analysis.figures import roles
from analysis.figures.roles import Role
from analysis.observer.description import described
from analysis.observer.picture import stacked
from analysis.run import Run
from analysis.series import NotMeasuredError, Series
from common import sums

FORMAT: Final = 1
RATE_BIN_S: Final = 1.0
QUEUE: Final = "queue"


def observe(folder: Path) -> list[str]:
    """Write what a run's captures tell of each flow, and one picture of it; returns warnings, one sentence each."""
    warnings = write_columns(folder)
    run = Run(folder)
    flows = {flow.name: _flow(run, flow.name) for flow in run.settings.flows}
    result = {"format": FORMAT, "study": run.settings.study, "experiment": run.settings.experiment}
    result |= {"cell": run.settings.cell, "seed": run.settings.seed, "flows": flows}
    with sums.replacing(folder) as draft:
        (draft / "observation.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        (draft / "observation.svg").write_text(_picture(run), encoding="utf-8")
    return warnings


def _flow(run: Run, name: str) -> dict[str, Any]:
    try:
        return described(run.seen_flight(name))
    except NotMeasuredError as error:
        return {"not_observed": str(error)}


def _picture(run: Run) -> str:
    """Give the SVG. What a run does not tell stays empty."""
    names = [flow.name for flow in run.settings.flows]
    panels: dict[str, dict[str, Series]] = {
        "throughput [Mbit/s]": _each(names, lambda name: run.rate(name, RATE_BIN_S).scaled(1e-6)),
        "queuing delay seen [ms]": _each(names, run.seen_delay_ms),
        "in flight [packets]": _each(names, run.in_flight),
        "queue [packets]": {QUEUE: run.queue_pkts},
    }
    look = {**roles.of_flows(run.settings.flows), QUEUE: Role(QUEUE, roles.colour(QUEUE))}
    return stacked(panels, look, (0, run.duration))


def _each(names: list[str], series: Callable[[str], Series]) -> dict[str, Series]:
    """Series of those flows that have it."""
    lines = {}
    for name in names:
        try:
            lines[name] = series(name)
        except NotMeasuredError:
            continue
    return lines
