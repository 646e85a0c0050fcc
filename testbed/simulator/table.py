"""The tables of docs/results/simulators.md: what a paper prints, what ns-2 gives and what the kernel gave."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from analysis.claims import registry
from analysis.documents import read_json
from analysis.judge.intervals import standard_deviation
from analysis.ns2 import SimulatedCell, cells
from testbed.folders import REFERENCE, STUDIES, WORKFLOWS

FOLDER: Final = WORKFLOWS / "ns2"
SHOWN: Final = ("jain", "loss")
"""Of what cells have; the page says in a sentence how near the utilizations are."""


def table(results: Mapping[str, Mapping[str, Sequence[float]]], folder: Path = FOLDER) -> str:
    """Write a table for each experiment, in Markdown: a row for each number of a case, a column for each reading."""
    by_experiment: dict[str, dict[str, list[SimulatedCell]]] = {}
    for cell in (cell for cell in cells(folder) if any(number in cell.claims for number in SHOWN)):
        by_experiment.setdefault(cell.experiment, {}).setdefault(cell.case, []).append(cell)
    tables = [_table(results, experiment, by_case) for experiment, by_case in by_experiment.items()]
    return "\n\n".join(tables)


def _table(
    results: Mapping[str, Mapping[str, Sequence[float]]],
    experiment: str,
    by_case: Mapping[str, Sequence[SimulatedCell]],
) -> str:
    readings = list(dict.fromkeys(cell.reading.name for of_case in by_case.values() for cell in of_case))
    lines = [f"**{_claims(experiment).title}** (`{experiment}`)", ""]
    lines.append(_row(["case", "number", "paper", "kernel", *(f"ns-2, {name}" for name in readings)]))
    lines.append(_row(["---", "---", *["---:"] * (2 + len(readings))]))
    for case, of_case in by_case.items():
        in_ns2 = {cell.reading.name: results.get(cell.id, {}) for cell in of_case}
        for number in SHOWN:
            if number in of_case[0].claims:
                claim = f"{experiment}/{of_case[0].claims[number]}"
                measured = [_cell(in_ns2.get(name, {}).get(number), number) for name in readings]
                lines.append(_row([case, number, _paper(claim), _kernel(claim, number), *measured]))
    return "\n".join(lines)


def _row(fields: Sequence[str]) -> str:
    return "| " + " | ".join(fields) + " |"


@cache
def _claims(experiment: str) -> registry.Experiment:
    [file] = [
        file for file in STUDIES.glob("*/*.claims.yaml") if file.read_text().startswith(f"experiment: {experiment}\n")
    ]
    return registry.load(file)


def _paper(claim: str) -> str:
    printed = _claims(claim.partition("/")[0]).claim(claim)
    return "" if printed is None or printed.printed is None else printed.printed


def _kernel(claim: str, number: str) -> str:
    """Give the mean and deviation of the reference set."""
    entry: dict[str, Any] = read_json(REFERENCE / f"{claim.partition('/')[0]}.json").child("claims").data[claim]
    return _cell(list((entry["by_seed"] or {}).values()), number)


def _cell(values: Sequence[float] | None, number: str) -> str:
    if not values:
        return ""
    mean = fmean(values)
    deviation = standard_deviation(values) if len(values) > 1 else 0.0
    if number == "loss":
        return f"{_power(mean)} ({_power(deviation)})" if deviation else _power(mean)
    return f"{mean:.2f} ({deviation:.2f})"


def _power(value: float) -> str:
    """Give a small number as papers print it: 8.1e-6, and 0."""
    return f"{value:.1e}".replace("e-0", "e-") if value else "0"
