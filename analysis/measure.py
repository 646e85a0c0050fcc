"""Measures an experiment: its runs and claims to metrics.csv (a tidy table) and verdicts.json (for the report)."""

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from analysis import host, readings
from analysis.claims import named, registry, syntax
from analysis.claims.plan import wrong_scenario
from analysis.claims.question import Question
from analysis.claims.registry import Assertion, Claim, Experiment, Extra, Study
from analysis.claims.syntax import is_about_means
from analysis.documents import Fields, read_if_made
from analysis.errors import BadExpressionError, BadInputError
from analysis.experiment_files import FORMAT, METRICS, NOT_RUN, NOT_TESTED, VERDICTS
from analysis.figures.numbers import as_json, expressions_of, numbers_of
from analysis.judge import rules
from analysis.judge.of_claim import judge
from analysis.judge.spread import spread
from analysis.judge.tolerances import Zones
from analysis.judge.verdict import Verdict
from analysis.pool import each
from analysis.provenance import distinct
from analysis.run import Run
from analysis.run_json import Settings
from analysis.runs import Failure, Runs
from analysis.tables import of_results
from common import sums
from scenarios import CLAIMS
from scenarios.errors import ScenarioError

ALL_CELLS: Final = "all"
TABLES: Final = "columns/"  # the tables of a run, in its folder
_PLACES: Final = ("", "*/", "*/*/*/")  # where claims files are looked for
WITHOUT_KUNIT: Final = (
    "it needs the debug kernel (`make images DEBUG=1`), which a quick look and a container do without"
)


def without_tables(claims: Sequence[Path], runs: Path) -> list[Path]:
    """List the finished runs that these experiments read and whose captures and traces are not in tables yet."""
    needed: dict[str, None] = {}
    for file in claims:
        experiment = _loaded(file, file.stat().st_mtime_ns)
        needed |= dict.fromkeys((experiment.runs_of, *(reading.runs_of for reading in experiment.readings)))
        for expression in experiment.expressions():
            needed |= dict.fromkeys(syntax.experiments(expression))
    finished = [run.folder for name in needed for run in Runs(runs).by_cell_and_seed(name).values()]
    return [folder for folder in finished if not any(name.startswith(TABLES) for name in sums.read(folder))]


def measure_all(
    claims: Sequence[Path],
    runs: Path,
    out: Path,
    kunit: Path | None = None,
    newer_than: str | None = None,
    processes: int = 1,
) -> None:
    """Measure several experiments; see `measure`. One that cannot be measured does not keep the others from it.

    With `newer_than` verdicts that are newer than the file of this name beside them stay.
    """
    each(partial(_measure, runs=runs, out=out, kunit=kunit, newer_than=newer_than), claims, processes)


def verdicts_of(claims: Path, out: Path) -> Path:
    """Return the file with the verdicts of a claims file that was measured."""
    return out / _loaded(claims, claims.stat().st_mtime_ns).id / VERDICTS


def claims_file(named: Path) -> Path:
    """Return a claims file that is named, or that of the experiment with this id, here or in a folder below.

    Raises BadInputError where there is none, or several.
    """
    if named.suffix or named.exists():
        return named
    wanted = re.compile(rf"^experiment: {re.escape(str(named))}\s*(#|$)", re.MULTILINE)
    files = [file for pattern in _PLACES for file in Path().glob(f"{pattern}*{CLAIMS}")]
    found = [file for file in sorted(files) if wanted.search(file.read_text(encoding="utf-8", errors="replace"))]
    if len(found) == 1:
        return found[0]
    several = f"found {', '.join(map(str, found))}" if found else f"no *{CLAIMS} here or in a folder below has this id"
    raise BadInputError(f"{named}: {several}; allowed: a file with an experiment's claims, or its id")


def _measure(claims: Path, runs: Path, out: Path, kunit: Path | None, newer_than: str | None) -> None:
    folder = out / _loaded(claims, claims.stat().st_mtime_ns).id
    verdicts = folder / VERDICTS
    if newer_than is None or not verdicts.exists() or verdicts.stat().st_mtime_ns <= _changed_ns(folder / newer_than):
        measure(claims, runs, out, kunit)


def _changed_ns(note: Path) -> int:
    if not note.exists():
        raise BadInputError(f"{note}: missing; allowed: a file that says when this experiment became due")
    return note.stat().st_mtime_ns


def measure(claims: Path, runs: Path, out: Path, kunit: Path | None = None) -> Path:
    """Evaluate a claims file for every seed that ran; return the folder with the results.

    Claims may use the runs of other experiments, which must exist already. `kunit` is the file that `testbed kunit`
    writes; without it, claims that a KUnit case decides cannot be tested.

    Raises BadInputError where a run of size complete does not have a setting that the file asserts.
    """
    study = registry.load_study(claims.parent)
    experiment = _loaded(claims, claims.stat().st_mtime_ns)
    others = {other.id: other for other in _others(study, experiment)}
    if wrong := list(named.problems(experiment, study, partial(_cells_of, experiment, others))):
        raise BadInputError(str(ScenarioError(wrong)))
    try:
        return _measured(study, experiment, others, runs, out, kunit)
    except BadExpressionError as error:
        raise registry.placed(error, [experiment, *others.values()]) from error


def _cells_of(experiment: Experiment, others: Mapping[str, Experiment], name: str) -> named.Cells | None:
    scenario = others[name].scenario if name in others else experiment.scenario if name == experiment.id else None
    if scenario is None or scenario.exists():
        return named.cells_in(scenario)
    return named.cells_in(named.scenario_of(scenario.parent, name))


def _measured(
    study: Study, experiment: Experiment, others: dict[str, Experiment], runs: Path, out: Path, kunit: Path | None
) -> Path:
    claims = experiment.file
    ask = Question(Runs(runs), experiment.runs_of, experiment.words)
    own = list(ask.runs.by_cell_and_seed(experiment.runs_of).values())
    failed = ask.runs.failed(experiment.runs_of)
    if not own:
        reasons = "".join(f"; cell {run.cell}, seed {run.seed} failed: {run.why}" for run in failed)
        wrong = list(wrong_scenario(experiment, [other.id for other in others.values() if other.scenario]))
        if wrong and not reasons:
            raise BadInputError(str(ScenarioError(wrong)))
        reasons = reasons or ask.runs.elsewhere(experiment.runs_of)
        raise BadInputError(f"{runs}: there is no finished run of {experiment.runs_of}{reasons}")
    folder = out / experiment.id
    rows: list[tuple[object, ...]] = []
    tests = read_if_made(kunit.parent, kunit.name) if kunit else None
    declared = Fields(claims, experiment.figure, "figure")
    ask.ask_ahead(_questions(experiment, declared, ask))
    asserted = [_assert(assertion, experiment, ask) for assertion in experiment.asserts]
    by_reading = readings.questions(experiment, ask.runs)
    judged = []
    for claim in experiment.claims:
        shown, there = claim, ask
        if claim.same_as:
            where = others[claim.same_as.partition("/")[0]]
            shown, there = _original(claim, where), Question(ask.runs, where.runs_of, where.words)
        entry = _judge(shown, experiment, there, tests, rows)
        if shown is claim and "not_testable" not in entry:
            entry["by_reading"] = readings.verdicts(shown, experiment, by_reading)
        judged.append(_tell_missing(entry, failed))
    extras = [_extra(extra, experiment, ask, rows) for extra in experiment.also_measured]
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(of_results.METRICS.schema.names())
    writer.writerows(rows)
    result = _result(study, experiment, others, own, judged) | {
        "asserted": asserted,
        "also_measured": extras,
        "failed": [{"cell": run.cell, "seed": run.seed, "why": run.why} for run in failed],
        "figure": numbers_of(declared, ask),
    }
    verdicts = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with sums.replacing(folder) as draft:
        (draft / METRICS).write_text(table.getvalue(), encoding="utf-8")
        (draft / VERDICTS).write_text(verdicts, encoding="utf-8")
    return folder


def _questions(experiment: Experiment, figure: Fields, ask: Question) -> Iterator[tuple[str, str | None]]:
    """Yield all expressions that will be evaluated, each with its cell."""
    for claim in experiment.claims:
        yield from ((expression, claim.cell) for expression in (claim.measure, claim.holds) if expression)
    yield from ((assertion.holds, assertion.cell) for assertion in experiment.asserts)
    yield from ((extra.measure, extra.cell) for extra in experiment.also_measured)
    yield from expressions_of(figure, ask)


def _others(study: Study, experiment: Experiment) -> list[Experiment]:
    """Read the other experiments of the study."""
    files = registry.claims_files(study.file.parent)
    return [_loaded(file, file.stat().st_mtime_ns) for file in files if file != experiment.file]


@cache
def _loaded(file: Path, changed_ns: int) -> Experiment:  # noqa: ARG001
    """Read an experiment's claims once for all experiments of its study."""
    return registry.load(file)


def _original(claim: Claim, where: Experiment) -> Claim:
    original = where.claim(claim.same_as or "")
    if original is None:
        raise BadInputError(f"{where.file}: {claim.same_as}: there is no such claim")
    return registry.shown_here(claim, original)


def _assert(assertion: Assertion, experiment: Experiment, ask: Question) -> dict[str, Any]:
    """Check a setting in all seeds, at size complete only: a quick run may be shorter."""
    entry: dict[str, Any] = {
        "text": assertion.text,
        "source": assertion.source,
        "holds": assertion.holds,
        "checked": False,
    }
    sizes = {run.settings.size for run in ask.runs.by_cell_and_seed(experiment.runs_of).values()}
    if sizes != {"complete"}:
        return entry
    held, unknown = ask.truths(assertion.holds, assertion.cell)
    wrong = ", ".join(str(seed) for seed, true in held.items() if not true)
    if wrong:
        raise BadInputError(
            f"{experiment.file}: asserts: {assertion.text} `{assertion.holds}` is false in seed {wrong}"
        )
    return entry | {"checked": bool(held) and not unknown}


def _judge(
    claim: Claim, experiment: Experiment, ask: Question, tests: Fields | None, rows: list[tuple[object, ...]]
) -> dict[str, Any]:
    """Return the entry of one claim in verdicts.json, and add what was measured to the tidy table."""
    entry: dict[str, Any] = {**claim.data, "finding": claim.finding, "measured": None, "held": None, "unknown": {}}
    values, unknown = ask.numbers(claim.measure, claim.cell) if claim.measure else ({}, {})
    held, not_held = ask.truths(claim.holds, claim.cell) if claim.holds else ({}, {})
    unknown |= not_held
    cell = claim.cell or ask.own_cell or ALL_CELLS
    common = (claim.id, claim.metric)
    rows += [(experiment.id, cell, seed, *common, _csv(value), claim.unit) for seed, value in values.items()]
    rows += [(experiment.id, cell, seed, claim.id, "holds", str(value).lower(), "") for seed, value in held.items()]
    if values:
        entry["measured"] = asdict(spread(values)) | {"by_seed": as_json(values)}
    if held:
        entry["held"] = held
    entry["unknown"] = unknown
    expressions = [expression for expression in (claim.measure, claim.holds) if expression]
    entry["reads"] = list(dict.fromkeys(run for expression in expressions for run in ask.reads(expression, claim.cell)))
    if claim.not_testable:
        reason = claim.not_testable["reason"]
        return entry | _not_testable(reason, claim.not_testable.get("why") or reason)
    if claim.kunit:
        if tests is None:
            return entry | _not_testable(NOT_TESTED, f"the KUnit case {claim.id} has not been run: {WITHOUT_KUNIT}")
        judgement = rules.judge_case(claim.id, tests.child("cases").maybe(claim.id, str))
        if judgement.verdict == Verdict.UNTESTABLE:
            return entry | _not_testable(NOT_TESTED, judgement.why)
        return entry | as_entry(judgement)
    judged = judge(claim, experiment.words, values, held)
    if judged is not None:
        return entry | as_entry(judged)
    return entry | _not_testable(NOT_RUN, next(iter(unknown.values()), "no seed has been run"))


def _tell_missing(entry: dict[str, Any], failed: list[Failure]) -> dict[str, Any]:
    """Name the seeds that are missing from a verdict because their runs failed."""
    missing = sorted({run.seed for run in failed} & entry["unknown"].keys())
    if missing and (entry["measured"] or entry["held"]):
        seeds = ", ".join(map(str, missing))
        entry["why"] += f"; without seed{'s' * (len(missing) > 1)} {seeds}, whose runs failed"
    return entry


def _not_testable(reason: str, why: str) -> dict[str, Any]:
    """Return the verdict of a claim that cannot be measured, with its kind of reason."""
    return as_entry(rules.not_testable(why)) | {"not_testable": {"reason": reason, "why": why}}


def _extra(extra: Extra, experiment: Experiment, ask: Question, rows: list[tuple[object, ...]]) -> dict[str, Any]:
    values, unknown = ask.numbers(extra.measure, extra.cell)
    if len(values) == 1 and is_about_means(extra.measure, experiment.words):
        values, unknown = {}, unknown | dict.fromkeys(values, "one seed says nothing over the seeds")
    cell = extra.cell or ask.own_cell or ALL_CELLS
    rows += [(experiment.id, cell, seed, "", extra.metric, _csv(value), extra.unit) for seed, value in values.items()]
    measured = asdict(spread(values)) | {"by_seed": as_json(values)} if values else None
    return {"metric": extra.metric, "unit": extra.unit, "cell": extra.cell, "measured": measured, "unknown": unknown}


def as_entry(judgement: rules.Judgement) -> dict[str, Any]:
    """Give what verdicts.json has of a verdict."""
    return {
        "verdict": judgement.verdict,
        "why": judgement.why,
        "rule": judgement.rule,
        "rule_reason": judgement.reason,
        "measured_interval": judgement.interval,
        "seeds_wanted": judgement.seeds_wanted,
        "zones": _zones(judgement.zones) if judgement.zones else None,
        "chance": judgement.chance,
    }


def _zones(zones: Zones) -> dict[str, Any]:
    """Return zones without infinity, which JSON does not have: an open end is null."""
    ends = {"holds": zones.holds, "nearly": zones.nearly}
    closed = {name: [end if math.isfinite(end) else None for end in zone] for name, zone in ends.items()}
    return closed | {"is_ratio": zones.is_ratio}


def _result(
    study: Study,
    experiment: Experiment,
    others: dict[str, Experiment],
    runs: list[Run],
    judged: list[dict[str, Any]],
) -> dict[str, Any]:
    simulated_by = others.get(experiment.runs_of, experiment)
    described = [
        {
            "cell": run.settings.cell,
            "seed": run.settings.seed,
            "size": run.settings.size,
            "captures": list(run.settings.captures),
            "virtual_s": run.summary.get("virtual_s", float),
            "wall_s": run.summary.get("wall_s", float),
            "ended": _date(run.summary.path),
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
        "quotes": study.quotes,
        "apart": study.apart,
        "concluded": study.concluded,
        "conclusions": study.conclusions,
        # the report also names what has not been run
        "experiments": [
            {
                "id": member.id,
                "title": member.title,
                "artefact": member.artefact,
                "decides": study.is_decided_by(member),
            }
            for member in sorted([experiment, *others.values()], key=lambda member: member.file)
        ],
        "experiment": {
            **experiment.data,
            "id": experiment.id,
            "runs_of": experiment.runs_of,
            "scenario": str(simulated_by.scenario),
            "claims_file": str(experiment.file),
            "ambiguities": [*experiment.data.get("ambiguities", []), *study.ambiguities],
        },
        "host": host.describe(),
        "runs": described,
        "settings": _settings(runs),
        "provenance": distinct(run.settings.provenance for run in runs),
        "versions": distinct(run.summary.maybe("versions", dict) or {} for run in runs),  # by implementation
        "claims": judged,
    }


def _date(file: Path) -> str:
    return datetime.fromtimestamp(file.stat().st_mtime, UTC).isoformat(timespec="seconds")


def _settings(runs: list[Run]) -> list[dict[str, Any]]:
    """Describe the network and the flows of each cell."""
    by_cell: dict[str, Run] = {}
    for run in runs:
        by_cell.setdefault(run.settings.cell, run)
    return [
        {
            "cell": cell,
            "rate_bps": run.settings.rate_bps,
            "buffer_pkts": run.settings.buffer_pkts,
            **_backward(run.settings),
            "rtt_ms": 1e3 * (run.settings.forward_s + run.settings.backward_s),
            "duration_s": run.duration,
            "flows": [
                {"name": flow.name, "implementation": flow.implementation, "params": flow.params}
                | ({"receiver_implementation": flow.receiver_implementation} if flow.receiver_implementation else {})
                for flow in run.settings.flows
            ],
        }
        for cell, run in by_cell.items()
    ]


def _backward(settings: Settings) -> dict[str, Any]:
    """Describe the bottleneck of the other direction; nothing where that has none."""
    if settings.backward_rate_bps is None:
        return {}
    return {"backward": {"rate_bps": settings.backward_rate_bps, "buffer_pkts": settings.backward_buffer_pkts}}


def _csv(value: float) -> str:
    return repr(value) if math.isfinite(value) else "never"
