"""The static report: an index and one page an experiment, in one folder that needs no network."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.experiment_files import CAPTION
from analysis.report.beside import Beside
from analysis.report.pages import (
    Report,
    write_causes,
    write_changes,
    write_experiments,
    write_explained,
    write_index,
    write_lists_of_runs,
    write_machines,
    write_search,
)
from analysis.report.rendering import write_shared
from analysis.report.results import ExperimentResult, collect, titled
from common import sums
from common.locks import held

Simulated = Mapping[str, Sequence[Mapping[str, Any]]]  # by claim: what the papers' simulator gives, in each reading


def write_report(
    results: Path,
    out: Path,
    reference: Beside | None = None,
    others: Sequence[Beside] = (),
    simulated: Simulated | None = None,
) -> Path:
    """Write the report on everything under `results`, with others and a simulator's beside; returns its index."""
    out.mkdir(parents=True, exist_ok=True)
    # a later report of another target into the same folder holds what both have
    with (
        held(out / ".lock", f"writes the report in {out}", print),
        sums.replacing(out, instead_of=sums.known(out)) as draft,
    ):
        experiments = [_beside_simulator(_if_drawn(experiment), simulated or {}) for experiment in collect(results)]
        there = reference.claims if reference else None
        experiments = [titled(experiment, there) for experiment in experiments]
        _write(Report(experiments, results, draft, out, reference, others))
    return out / "index.html"


def _write(report: Report) -> None:
    """Write all pages."""
    quotable = write_experiments(report)
    write_lists_of_runs(report)
    write_shared(report.out)
    is_explained = write_explained(report)
    write_search(report)
    write_index(report, write_causes(report, quotable), is_explained)
    if report.reference:
        write_changes(report, report.reference)
    if report.others:
        write_machines(report)


def _if_drawn(experiment: ExperimentResult) -> ExperimentResult:
    """Give an experiment without a figure, since another target still works on it, as one that was not run."""
    if experiment.folder and CAPTION in sums.known(experiment.folder):
        return experiment
    return replace(experiment, folder=None, data={})


def _beside_simulator(experiment: ExperimentResult, simulated: Simulated) -> ExperimentResult:
    """Give an experiment whose claims know what the papers' simulator gives for them."""
    claims = [{**claim, "simulated": simulated.get(claim["id"], [])} for claim in experiment.claims]
    return replace(experiment, data={**experiment.data, "claims": claims})
