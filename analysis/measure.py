"""The runs of an experiment against its claims: metrics.csv (a tidy table) and verdicts.json (all the report needs)."""

import csv
import io
import json
import math
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from analysis.claims import registry
from analysis.claims.question import Question
from analysis.claims.registry import Claim, Experiment, Extra, Study
from analysis.documents import Document, read_json
from analysis.errors import BadInputError
from analysis.figures.numbers import numbers_of
from analysis.files import write_text
from analysis.run import Run
from analysis.runs import Runs
from analysis.verdicts import rules
from analysis.verdicts.spread import spread

FORMAT: Final = 1
METRICS_HEADER: Final = ("experiment", "cell", "seed", "claim", "metric", "value", "unit")
ALL_CELLS: Final = "all"


def measure(experiment_id: str, claims: Path, runs: Path, out: Path, kunit: Path | None = None) -> Path:
    """Evaluate all claims of an experiment for every seed that ran; returns the folder with the results.

    Claims may look at other experiments' runs; they must be there by then. `kunit` is what `testbed kunit` wrote;
    without that file the claims that a KUnit case decides are not testable.
    """
    study = registry.load(claims)
    experiment = study.experiment(experiment_id)
    ask = Question(Runs(runs), experiment.runs_of, experiment.words)
    own = list(ask.runs.by_cell_and_seed(experiment.runs_of).values())
    if not own:
        raise BadInputError(f"{runs}: there is no finished run of {experiment.runs_of}")
    folder = out / experiment_id
    rows: list[tuple[object, ...]] = []
    tests = read_json(kunit) if kunit is not None and kunit.exists() else None
    judged = [_judge(claim, experiment, ask, tests, rows) for claim in experiment.claims]
    extras = [_extra(extra, experiment, ask, rows) for extra in experiment.also_measured]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(METRICS_HEADER)
    writer.writerows(rows)
    write_text(folder / "metrics.csv", table.getvalue())
    declared = Document(claims, experiment.figure, f"{experiment_id}.figure") if experiment.figure else None
    figure = numbers_of(declared, ask) if declared else None
    result = _result(study, experiment, own, judged, extras) | {"figure": figure}
    write_text(folder / "verdicts.json", json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return folder


def _judge(
    claim: Claim, experiment: Experiment, ask: Question, tests: Document | None, rows: list[tuple[object, ...]]
) -> dict[str, Any]:
    """Give the entry of one claim in verdicts.json; adds what was measured to the tidy table."""
    entry: dict[str, Any] = {**claim.data, "measured": None, "held": None, "unknown": {}}
    if not (claim.measure or claim.holds or claim.kunit or claim.not_testable):
        return entry | _verdict(rules.not_testable("no measurement is defined for this claim yet"))
    values, unknown = ask.numbers(claim.measure, claim.cell) if claim.measure else ({}, {})
    held, not_held = ask.truths(claim.holds, claim.cell) if claim.holds else ({}, {})
    unknown |= not_held
    cell = claim.cell or ask.own_cell or ALL_CELLS
    common = (claim.id, claim.metric)
    rows += [(experiment.id, cell, seed, *common, _csv(value), claim.unit) for seed, value in values.items()]
    rows += [(experiment.id, cell, seed, claim.id, "holds", str(value).lower(), "") for seed, value in held.items()]
    if values:
        entry["measured"] = asdict(spread(values)) | {"by_seed": {seed: _json(value) for seed, value in values.items()}}
    if held:
        entry["held"] = held
    entry["unknown"] = unknown
    if claim.not_testable:
        return entry | _verdict(rules.not_testable(claim.not_testable))
    if claim.kunit:
        return entry | _verdict(_case(claim, tests))
    if claim.holds and held:
        return entry | _verdict(rules.judge_predicate(sum(held.values()), len(held)))
    if claim.measure and not claim.holds and values:
        return entry | _verdict(rules.judge_number(claim, spread(values)))
    return entry | _verdict(rules.not_testable(next(iter(unknown.values()), "no seed has been run")))


def _case(claim: Claim, tests: Document | None) -> rules.Verdict:
    """Judge a claim by what became of the KUnit case of its name."""
    if tests is None:
        return rules.not_testable(
            f"the KUnit case {claim.id} has not been run: it needs the debug kernel (`make debug-images`), which a "
            "quick look and a container do without"
        )
    return rules.judge_case(claim.id, tests.child("cases").maybe(claim.id, str))


def _extra(extra: Extra, experiment: Experiment, ask: Question, rows: list[tuple[object, ...]]) -> dict[str, Any]:
    values, unknown = ask.numbers(extra.measure, extra.cell)
    cell = extra.cell or ask.own_cell or ALL_CELLS
    rows += [(experiment.id, cell, seed, "", extra.metric, _csv(value), extra.unit) for seed, value in values.items()]
    measured = asdict(spread(values)) if values else None
    return {"metric": extra.metric, "unit": extra.unit, "cell": extra.cell, "measured": measured, "unknown": unknown}


def _verdict(verdict: rules.Verdict) -> dict[str, Any]:
    return {"verdict": verdict.outcome, "why": verdict.why, "rule": verdict.rule, "rule_reason": verdict.reason}


def _result(
    study: Study, experiment: Experiment, runs: list[Run], judged: list[dict[str, Any]], extras: list[dict[str, Any]]
) -> dict[str, Any]:
    described = [
        {
            "cell": run.settings.cell,
            "seed": run.settings.seed,
            "size": run.settings.size,
            "status": run.status,
            "error": run.summary.maybe("error", str),
            "virtual_s": run.summary.get("virtual_s", float),
            "wall_s": run.summary.get("wall_s", float),
            "probe": run.summary.maybe("probe", dict),
            "audit": run.summary.data.get("audit"),
        }
        for run in runs
    ]
    return {
        "format": FORMAT,
        "study": study.name,
        "paper": study.paper,
        "findings": study.findings,
        # the report names what has not been run, too
        "experiments": [{"id": one.id, "title": one.title, "artefact": one.artefact} for one in study.experiments],
        "experiment": experiment.data | {"scenario": study.experiment(experiment.runs_of).scenario},
        "runs": described,
        "settings": _settings(runs),
        "provenance": _common([run.settings.provenance for run in runs]),
        "claims": judged,
        "also_measured": extras,
    }


def _settings(runs: list[Run]) -> list[dict[str, Any]]:
    """One line a cell: what the network and the flows were."""
    by_cell: dict[str, Run] = {}
    for run in runs:
        by_cell.setdefault(run.settings.cell, run)
    return [
        {
            "cell": cell,
            "rate_bps": run.settings.rate_bps,
            "buffer_pkts": run.settings.buffer_pkts,
            "rtt_ms": 1e3 * (run.settings.forward_s + run.settings.backward_s),
            "duration_s": run.duration,
            "flows": [
                {"name": flow.name, "implementation": flow.implementation, "params": flow.params}
                for flow in run.settings.flows
            ],
        }
        for cell, run in by_cell.items()
    ]


def _common(provenances: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Each field of the provenance with the different values that the runs have; one when all were made alike."""
    values: dict[str, list[Any]] = defaultdict(list)
    for provenance in provenances:
        for name, value in provenance.items():
            if value not in values[name]:
                values[name].append(value)
    return dict(values)


def _json(value: float) -> float | str:
    return value if math.isfinite(value) else "never"


def _csv(value: float) -> str:
    return repr(value) if math.isfinite(value) else "never"
