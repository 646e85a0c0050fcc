"""An experiment's runs against its claims: metrics.csv (one tidy table) and verdicts.json (all that the report needs)."""

import csv
import io
import json
import math
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions, registry
from analysis.claims.registry import Claim, Experiment, Extra, Study
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadInputError
from analysis.files import write_text
from analysis.run import Run, find
from analysis.series import NeverHappenedError, NotMeasuredError
from analysis.verdicts import rules
from analysis.verdicts.spread import spread

FORMAT: Final = 1
METRICS_HEADER: Final = ("experiment", "cell", "seed", "claim", "metric", "value", "unit")
SINGLE: Final = "single"  # the cell of a scenario without a matrix
ALL_CELLS: Final = "all"


class _Runs:
    """All runs that the claims of one experiment can ask for, each loaded once."""

    def __init__(self, folder: Path, experiment: str) -> None:
        self._folder = folder
        self._experiment = experiment
        self._folders: dict[str, dict[tuple[str, int], Path]] = {}
        self._loaded: dict[Path, Run] = {}

    def folders(self, experiment: str) -> dict[tuple[str, int], Path]:
        if experiment not in self._folders:
            self._folders[experiment] = find(self._folder, experiment)
        return self._folders[experiment]

    def get(self, experiment: str, cell: str, seed: int) -> Run:
        """Give a run that ended well; NotMeasuredError says why there is none."""
        folder = self.folders(experiment).get((cell, seed))
        if folder is None:
            raise NotMeasuredError(f"there is no run of {experiment}, cell {cell}, seed {seed}")
        run = self._loaded.setdefault(folder, Run(folder))
        if run.status != "ok":
            raise NotMeasuredError(f"the run in cell {cell} with seed {seed} failed")
        return run

    def load_all(self) -> list[Run]:
        return [self._loaded.setdefault(path, Run(path)) for path in self.folders(self._experiment).values()]


def measure(experiment_id: str, claims: Path, runs: Path, out: Path) -> Path:
    """Evaluate all claims of an experiment for every seed that ran; returns the folder with the results.

    Claims may look at other experiments' runs; they must be there by then.
    """
    study = registry.load(claims)
    experiment = study.experiment(experiment_id)
    available = _Runs(runs, experiment_id)
    if not available.folders(experiment_id):
        raise BadInputError(f"{runs}: there is no finished run of {experiment_id}")
    folder = out / experiment_id
    rows: list[tuple[object, ...]] = []
    judged = [_judge(claim, experiment, available, rows) for claim in experiment.claims]
    extras = [_extra(extra, experiment, available, rows) for extra in experiment.also_measured]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(METRICS_HEADER)
    writer.writerows(rows)
    write_text(folder / "metrics.csv", table.getvalue())
    result = _result(study, experiment, available, judged, extras)
    write_text(folder / "verdicts.json", json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return folder


def _judge(claim: Claim, experiment: Experiment, available: _Runs, rows: list[tuple[object, ...]]) -> dict[str, Any]:
    """Give the entry of one claim in verdicts.json; adds what was measured to the tidy table."""
    entry: dict[str, Any] = {**claim.data, "measured": None, "held": None}
    if claim.not_testable:
        return entry | _verdict(rules.not_testable(claim.not_testable))
    if not (claim.measure or claim.holds):
        return entry | _verdict(rules.not_testable("no measurement is defined for this claim yet"))
    values, unknown = _over_seeds(claim.measure, claim.cell, experiment, available, predicate=False)
    held, not_held = _over_seeds(claim.holds, claim.cell, experiment, available, predicate=True)
    unknown |= not_held
    cell = claim.cell or _own_cell(experiment, available) or ALL_CELLS
    common = (claim.id, claim.metric)
    rows += [(experiment.id, cell, seed, *common, _csv(value), claim.unit) for seed, value in values.items()]
    rows += [(experiment.id, cell, seed, claim.id, "holds", str(value).lower(), "") for seed, value in held.items()]
    if values:
        entry["measured"] = asdict(spread(values)) | {"by_seed": {seed: _json(value) for seed, value in values.items()}}
    if held:
        entry["held"] = held
    entry["unknown"] = unknown
    if claim.holds and held:
        return entry | _verdict(rules.judge_predicate(sum(held.values()), len(held)))
    if claim.measure and not claim.holds and values:
        return entry | _verdict(rules.judge_number(claim, spread(values)))
    return entry | _verdict(rules.not_testable(next(iter(unknown.values()), "no seed has been run")))


def _extra(extra: Extra, experiment: Experiment, available: _Runs, rows: list[tuple[object, ...]]) -> dict[str, Any]:
    values, unknown = _over_seeds(extra.measure, extra.cell, experiment, available, predicate=False)
    cell = extra.cell or _own_cell(experiment, available) or ALL_CELLS
    rows += [(experiment.id, cell, seed, "", extra.metric, _csv(value), extra.unit) for seed, value in values.items()]
    measured = asdict(spread(values)) if values else None
    return {"metric": extra.metric, "unit": extra.unit, "cell": extra.cell, "measured": measured, "unknown": unknown}


def _over_seeds(
    expression: str | None, cell: str | None, experiment: Experiment, available: _Runs, *, predicate: bool
) -> tuple[dict[int, Any], dict[int, str]]:
    """Value of an expression by seed, and by seed the reason where there is none."""
    values: dict[int, Any] = {}
    unknown: dict[int, str] = {}
    if expression is None:
        return values, unknown
    own = cell or _own_cell(experiment, available)
    for seed in sorted({seed for _, seed in available.folders(experiment.id)}):
        try:
            run = available.get(experiment.id, own, seed) if own else None

            def other(name: str, name_of_cell: str, seed: int = seed) -> Run:
                return available.get(name, name_of_cell, seed)

            value = expressions.evaluate(expression, Vocabulary(run, experiment.id, other))
        except NotMeasuredError as error:
            unknown[seed] = str(error)
            continue
        except NeverHappenedError:
            value = False if predicate else math.inf
        wanted = bool if predicate else (int, float)
        if not isinstance(value, wanted) or (not predicate and isinstance(value, bool)):
            kind = "true or false" if predicate else "a number"
            raise BadInputError(f"{experiment.id}: expression {expression!r} gives {value!r}, allowed is {kind}")
        values[seed] = value if predicate else float(value)
    return values, unknown


def _own_cell(experiment: Experiment, available: _Runs) -> str | None:
    """Cell that claims without a `cell` speak of: the only one, if there is only one."""
    cells = {cell for cell, _ in available.folders(experiment.id)}
    return SINGLE if cells == {SINGLE} else None


def _verdict(verdict: rules.Verdict) -> dict[str, Any]:
    return {"verdict": verdict.outcome, "why": verdict.why, "rule": verdict.rule, "rule_reason": verdict.reason}


def _result(
    study: Study, experiment: Experiment, available: _Runs, judged: list[dict[str, Any]], extras: list[dict[str, Any]]
) -> dict[str, Any]:
    runs = available.load_all()
    described = [
        {
            "cell": run.settings.cell,
            "seed": run.settings.seed,
            "status": run.status,
            "error": run.summary.maybe("error", str),
            "virtual_s": run.summary.get("virtual_s", float),
            "wall_s": run.summary.get("wall_s", float),
            "probe": run.summary.maybe("probe", dict),
            "audit": run.summary.maybe("audit", dict),
        }
        for run in runs
    ]
    return {
        "format": FORMAT,
        "study": study.name,
        "paper": study.paper,
        # the report names what has not been run, too
        "experiments": [{"id": one.id, "title": one.title, "artefact": one.artefact} for one in study.experiments],
        "experiment": experiment.data,
        "figure": experiment.figure,
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
