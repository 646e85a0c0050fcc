"""Lists the cells of scenarios before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from scenarios import implementations
from scenarios.errors import Problem, ScenarioError
from scenarios.resolve import expand


class PlannedCell(TypedDict):
    """One cell; `virtual_s` is the length of each of its runs, `programs` are implementations that must be built.

    `descriptions` are the files that say what its implementations are.
    `speeds` are those of its programs, in virtual seconds per second; one without a speed has the smallest of any.
    `capacity_bps` is the bottleneck's at the start, `sample_s` the time between two looks at each flow.
    """

    study: str
    experiment: str
    cell: str
    seeds: list[int]
    virtual_s: float
    capacity_bps: int
    flows: int
    sample_s: float
    scenario: str
    implementations: list[str]
    descriptions: list[str]
    programs: list[str]
    speeds: dict[str, float]
    traces: list[str]


def plan(scenarios: Iterable[Path], size: str) -> list[PlannedCell]:
    """List every cell of the scenarios, in their order.

    Raises ScenarioError with the problems of all files, including two files with the same experiment.
    """
    planned, problems = list[PlannedCell](), list[Problem]()
    described = implementations.descriptions()
    owners: dict[str, Path] = {}
    programs = {name: about for name, about in implementations.known().items() if about["kind"] == "program"}
    slowest = min((about["speed"] for about in programs.values() if "speed" in about), default=1.0)
    for scenario in scenarios:
        try:
            cells = expand(scenario, size)
        except ScenarioError as error:
            problems += error.problems
            continue
        experiment = cells[0].experiment
        if experiment in owners:
            found = f"{experiment!r} is also the experiment of {owners[experiment]}"
            problems.append(Problem(scenario, 1, "experiment", found, "an id of its own"))
        owners[experiment] = scenario
        for cell in cells:
            used = implementations.used_by(cell.settings["flows"])
            traces = {trace["file"] for trace in cell.settings.get("rate_traces", ()) if "file" in trace}
            planned.append(
                {
                    "study": cell.study,
                    "experiment": cell.experiment,
                    "cell": cell.name,
                    "seeds": list(cell.seeds),
                    "virtual_s": cell.virtual_s,
                    "capacity_bps": cell.settings["bottleneck"]["rate_bps"],
                    "flows": len(cell.settings["flows"]),
                    "sample_s": cell.settings["sample_ns"] / 1e9,
                    "scenario": str(scenario),
                    "implementations": sorted(used),
                    "descriptions": sorted(
                        {str(file) for name in used for file in described[implementations.folder_of(name)]}
                    ),
                    "programs": sorted(used & programs.keys()),
                    "speeds": {name: programs[name].get("speed", slowest) for name in sorted(used & programs.keys())},
                    "traces": sorted(str(scenario.parent / trace) for trace in traces),
                }
            )
    if problems:
        raise ScenarioError(problems)
    return planned
