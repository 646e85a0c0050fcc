"""A small reference set: what one complete reproduction measured, to compare another one with.

It holds, for each experiment, verdicts, numbers by seed, how they were checked, and what the runs were made of; no
captures and no figures. The same kernel, root file system and modules give the same numbers on every machine.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from analysis.digits import nine_digits
from analysis.experiment_files import NOT_RUN, NOT_TESTED
from analysis.figures.full_run import ranges
from analysis.files import write_text
from analysis.report.results import Result, collect
from analysis.verdicts.findings import JUDGED, WANTED
from analysis.verdicts.rules import Verdict

_ROWS: Final = ("also_measured", "claims")  # each of their entries has a line
# fields of the provenance that can decide numbers: what booted, down to each module and program under test
MADE_FROM: Final = re.compile(r"kernel|rootfs|tools|module:.*|program:.*")


def record(results: Path, out: Path) -> None:
    """Write the reference set of everything measured under `results` into a folder, one file per experiment.

    What was not measured keeps its file. Fewer runs than the set has replace none of its numbers: they add their
    figure, where it has none of all seeds, and say so if they were made from other builds with other numbers.
    """
    for experiment in collect(results):
        if experiment.folder:
            file = out / f"{experiment.id}.json"
            kept = kept_of(experiment)
            there = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
            if kept["size"] == there.get("size") and kept["runs"] < there["runs"]:
                seeds = len({run["seed"] for run in experiment.data["runs"]})
                kept = _with_figure(there, kept, seeds)
            write_text(file, as_table(kept))


def _with_figure(there: dict[str, Any], kept: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    if there.get("figure") and "figure_seeds" not in there:
        return there
    others = {} if _has_the_same_numbers(kept, there) else {"figure_builds": "other"}
    rest = {name: part for name, part in there.items() if name != "figure_builds"}
    return {**rest, "figure": kept["figure"], "figure_seeds": seeds, **others}


def _has_the_same_numbers(kept: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Say whether a set has the same numbers for all seeds of these results.

    Means over seeds are other numbers with fewer seeds; what counts as another experiment's claim is compared there.
    """
    pairs = (
        (numbers, others)
        for name, other in there.get("claims", {}).items()
        if "mean_over_seeds" not in other["check"] and not other["check"].startswith("as ")
        for kind in ("by_seed", "held")
        if (numbers := json.loads(json.dumps(kept["claims"].get(name, {}).get(kind))) or {})
        and (others := other[kind] or {})
    )
    return all(numbers.items() <= others.items() for numbers, others in pairs)


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
        return "KUnit case"
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
