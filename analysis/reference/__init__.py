"""A small reference set: what one complete reproduction measured, to compare another one with.

It holds, for each experiment, verdicts, numbers by seed, how they were checked, and what the runs were made of: builds,
versions, commits; no captures. Of figures it has the ranges of their numbers, and coarse curves of runs that size quick
shortens. The same kernel, root file system and modules give the same numbers on every machine.
"""

import ast
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from analysis.claims import shortened
from analysis.digits import nine_digits
from analysis.documents import read_made
from analysis.experiment_files import KUNIT_CASE, NOT_RUN, NOT_TESTED, VERDICTS
from analysis.figures.full_run import ranges, same_numbers
from analysis.figures.kinds import time_series
from analysis.files import write_text
from analysis.provenance import MADE_FROM
from analysis.report.results import Result, collect
from analysis.verdicts.findings import JUDGED, WANTED
from analysis.verdicts.rules import Verdict

_ROWS: Final = ("also_measured", "claims", "curves")  # each of their entries has a line


def record(results: Path, out: Path) -> None:
    """Write the reference set of everything measured under `results` into a folder, one file per experiment.

    What was not measured keeps its file. Fewer runs than the set has replace none of its numbers: they add their
    figure, where it has none of all seeds, and the day of their runs if other builds gave them other numbers. Their
    curves they add only with the same numbers.
    """
    for experiment in collect(results):
        if experiment.folder:
            file = out / f"{experiment.id}.json"
            kept = kept_of(experiment)
            there = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            curves = _curves(experiment, results / "runs")
            if kept["size"] == there.get("size") and kept["runs"] < there["runs"]:
                same = same_numbers(kept["claims"], there["claims"])
                seeds = len({run["seed"] for run in experiment.data["runs"]})
                curves = curves if same and all(same) else {}
                kept = _with_figure(there, kept, seeds, is_same=all(same))
            write_text(file, as_table(kept | curves))


def _curves(experiment: Result, runs: Path) -> dict[str, Any]:
    """Give the coarse curves of a time series whose runs size quick shortens; nothing of others."""
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    scenario = Path(experiment.data["experiment"]["scenario"])
    if experiment.data["figure"].get("kind") != "time-series" or not shortened.is_shortened(scenario):
        return {}
    curves, of = time_series.make(read_made(experiment.folder, VERDICTS), runs).curves()
    return {"curves": curves, "curves_of": of}


def _with_figure(there: dict[str, Any], kept: Mapping[str, Any], seeds: int, *, is_same: bool) -> dict[str, Any]:
    if not kept["figure"] or (there.get("figure") and seeds < there.get("figure_seeds", math.inf)):
        return there
    others = {} if is_same else {"figure_recorded": kept["ended"][:10]}
    rest = {name: part for name, part in there.items() if name != "figure_recorded"}
    return {**rest, "figure": kept["figure"], "figure_seeds": seeds, **others}


def as_table(kept: Mapping[str, Any]) -> str:
    """Write what is kept of an experiment as JSON with a line for each claim and each further number."""
    fields = [f"{_json(name)}: {_rows(kept[name]) if name in _ROWS else _json(kept[name])}" for name in sorted(kept)]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _rows(value: dict[str, Any]) -> str:
    if not value:
        return _json(value)
    return "{\n" + ",\n".join(f" {_json(name)}: {_json(value[name])}" for name in sorted(value)) + "\n}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def check(claim: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Say how an entry of the registry is checked; two that are checked alike say the same."""
    reason = (claim.get("not_testable") or {}).get("reason", NOT_RUN)
    if claim.get("same_as"):
        return f"as {claim['same_as']}"
    if reason not in (NOT_RUN, NOT_TESTED):
        return f"not testable: {reason}"
    if claim.get("kunit"):
        return KUNIT_CASE
    text = claim.get("holds") or claim.get("measure") or "None"
    formula = "; ".join([ast.unparse(ast.parse(text.strip())), *_defined(text, words)])
    cell = f", in {claim['cell']}" if claim.get("cell") else ""
    statistic = f"; judged by {claim['statistic']}" if claim.get("statistic") else ""
    return formula + cell + statistic


def _defined(expression: str, words: Mapping[str, str]) -> Iterator[str]:
    """Give the definitions of the words that an expression uses, and of those that they use."""
    names = {node.id for node in ast.walk(ast.parse(expression.strip())) if isinstance(node, ast.Name)}
    for name in sorted(names & words.keys()):
        yield f"{name} = {ast.unparse(ast.parse(words[name].strip()))}"
        yield from _defined(words[name], {other: text for other, text in words.items() if other not in names})


def kept_of(experiment: Result) -> dict[str, Any]:
    """Return what the reference set holds of an experiment."""
    provenance = experiment.data["provenance"]
    words = experiment.data["experiment"].get("words") or {}
    return {
        "size": sorted({run["size"] for run in experiment.data["runs"]}),
        "runs": len(experiment.data["runs"]),
        "ended": max(run["ended"] for run in experiment.data["runs"]),
        "made_from": {name: value for name, value in provenance.items() if MADE_FROM.fullmatch(name)},
        "commit": provenance.get("commit", []),
        "versions": experiment.data.get("versions", {}),
        "claims": {
            claim["id"]: {
                "verdict": claim["verdict"],
                "by_seed": claim["measured"] and nine_digits(claim["measured"]["by_seed"]),
                "held": claim["held"],
                "check": check(claim, words),
            }
            | judged_of(claim)
            | _by_reading(claim)
            for claim in experiment.data["claims"]
        },
        "figure": ranges(experiment.data["figure"]),
        "also_measured": {
            extra["metric"]: nine_digits({name: extra["measured"][name] for name in ("mean", "minimum", "maximum")})
            for extra in experiment.data["also_measured"]
            if extra["measured"] and extra["measured"]["mean"] is not None
        },
    }


def judged_of(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return what findings need of a claim beside its verdict, and the seeds that it wants while it is undecided."""
    judged = {name: nine_digits(claim[name]) for name in JUDGED if claim.get(name) is not None}
    if claim["verdict"] == Verdict.UNDECIDED:
        judged[WANTED] = claim[WANTED]
    return judged


def _by_reading(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdicts by other readings, if there are any."""
    kept = {other["title"]: other["verdict"] for other in claim.get("by_reading", [])}
    return {"by_reading": kept} if kept else {}
