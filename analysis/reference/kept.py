"""What a reference set keeps of an experiment: verdicts, each number by seed, and how claims were checked.

It has no captures, and nothing of the machine: the same kernel, root file system and modules give the same numbers on
every one.
"""

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from analysis.digits import nine_digits
from analysis.experiment_files import KUNIT_CASE, NOT_RUN, NOT_TESTED
from analysis.figures.in_reference import numbers_of
from analysis.judge.findings import JUDGED, WANTED
from analysis.judge.verdict import Verdict
from analysis.report.results import ExperimentResult

_ROWS: Final = ("also_measured", "claims", "figure", "made_from", "versions")  # each of their entries has a line


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
        return f"cannot be tested: {reason}"
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


def kept_of(experiment: ExperimentResult) -> dict[str, Any]:
    """Return what a reference set holds of an experiment; numbers are by seed."""
    words = experiment.data["experiment"].get("words") or {}
    return {
        "runs": len(experiment.data["runs"]),
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
        "figure": nine_digits(numbers_of(experiment.data["figure"])),
        "also_measured": {
            extra["metric"]: nine_digits(extra["measured"]["by_seed"])
            for extra in experiment.data["also_measured"]
            if extra["measured"]
        },
    }


def judged_of(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return what findings need of a claim beside its verdict, and the seeds that it wants while it is open."""
    judged = {name: nine_digits(claim[name]) for name in JUDGED if claim.get(name) is not None}
    if claim["verdict"] == Verdict.OPEN:
        judged[WANTED] = claim[WANTED]
    return judged


def _by_reading(claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return the verdicts by other readings, if there are any."""
    kept = {other["title"]: other["verdict"] for other in claim.get("by_reading", [])}
    return {"by_reading": kept} if kept else {}
