"""How often the observer tells a controller's kind right: runs of known controllers to a confusion matrix.

Every flow of TCP or uTP counts whose implementation is known. Experiments whose name says "derived" hold the
implementations and networks from which the rules were derived; all others were not looked at for that. So runs of a
comparison can be judged as well.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from analysis.documents import read_yaml
from analysis.files import write_text
from analysis.observer import kind
from analysis.observer.kind import Kind
from analysis.report import TEMPLATES, pages, render, write_shared
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError

FORMAT: Final = 1
UNDECIDED: Final = "undecided"
DERIVED: Final = "derived"
OTHER: Final = "other"  # where no well known controller behaves so
OWN: Final = Path(__file__).parent
TRUTH: Final = OWN / "truth.yaml"

Truth = dict[str, tuple[str, str]]  # kind, and the controller that a sender is like, by its family or implementation


@dataclass(frozen=True)
class Told:
    """One flow: what the sender is, and what the observer says."""

    derived: bool
    implementation: str
    run: str
    flow: str
    is_kind: str
    is_like: str
    told_kind: str
    told_like: str
    confidence: float
    because: list[str]

    @property
    def right(self) -> bool:
        """Whether the kind is right."""
        return self.told_kind == self.is_kind


def write(results: Path, truth: Path = TRUTH) -> str:
    """Judge the runs in a folder; write kinds.json and index.html there, and return what there is to print."""
    document = read_yaml(truth)
    known = by_name(document.get("families", dict)), by_name(document.get("implementations", dict))
    folders = sorted((results / "runs").glob("*/*/*/seed-*"))
    # a fork would copy the libraries without their threads
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        verdicts = list(chain.from_iterable(pool.map(partial(_tell, results=results, known=known), folders)))
    runs = Runs(results / "runs")
    experiments = sorted(folder.name for folder in (results / "runs").glob("*/*"))
    failures = [(experiment, failure) for experiment in experiments for failure in runs.failed(experiment)]
    failed = [f"{experiment}, {failure.cell}: {failure.why}" for experiment, failure in failures]
    parts = {
        "judged": [verdict for verdict in verdicts if not verdict.derived],
        DERIVED: [verdict for verdict in verdicts if verdict.derived],
    }
    judged = {
        "format": FORMAT,
        "matrices": {name: summary(part) for name, part in parts.items()},
        "failed": failed,
        "flows": [asdict(verdict) for verdict in verdicts],
    }
    write_text(results / "kinds.json", json.dumps(judged, indent=1) + "\n")
    write_shared(results)
    render(pages(OWN, TEMPLATES), "controllers.html", results / "index.html", judged | {"kinds": columns()})
    return "\n".join(_lines(parts, failed))


def by_name(kinds: Mapping[str, Mapping[str, list[str]]]) -> Truth:
    """Give, by each name that is listed, the kind and the controller below which it stands."""
    return {name: (kind_, like) for kind_, likes in kinds.items() for like, names in likes.items() for name in names}


def _tell(folder: Path, results: Path, known: tuple[Truth, Truth]) -> list[Told]:
    run = Run(folder)
    families, implementations = known
    derived = DERIVED in run.settings.experiment
    verdicts = []
    for flow in run.settings.flows:
        is_so = implementations.get(flow.implementation) or families.get(flow.family)
        if is_so is None:
            continue
        truth = derived, flow.implementation, str(folder.relative_to(results)), flow.name, *is_so
        try:
            judgement = kind.judge(run.flight(flow.name))
        except NotMeasuredError as error:
            verdicts.append(Told(*truth, UNDECIDED, OTHER, 0.0, [str(error)]))
        else:
            verdicts.append(
                Told(*truth, judgement.kind.value, judgement.like or OTHER, judgement.confidence, judgement.because)
            )
    return verdicts


def columns() -> list[str]:
    """Every kind that a judgement names, in order."""
    return [*(kind.value for kind in Kind), UNDECIDED]


def summary(part: Iterable[Told]) -> dict[str, Any]:
    """Count judgements of each kind: rows are what it is, columns what the observer reported."""
    part = list(part)
    counts = Counter((verdict.is_kind, verdict.told_kind) for verdict in part)
    alike = [verdict for verdict in part if verdict.right and verdict.is_like != OTHER]
    by_right = {right: [verdict.confidence for verdict in part if verdict.right is right] for right in (True, False)}
    return {
        "flows": len(part),
        "right": sum(verdict.right for verdict in part),
        "implementations": len({verdict.implementation for verdict in part}),
        "counts": {row.value: {told: counts[row.value, told] for told in columns()} for row in Kind},
        "alike": {"flows": len(alike), "right": sum(verdict.told_like == verdict.is_like for verdict in alike)},
        "mean_confidence": {
            "right" if right else "wrong": round(sum(values) / len(values), 3) if values else None
            for right, values in by_right.items()
        },
    }


def _lines(parts: dict[str, list[Told]], failed: list[str]) -> Iterable[str]:
    width = max(map(len, columns()))
    for name, part in parts.items():
        counted = summary(part)
        if not part:
            continue
        right, flows = counted["right"], counted["flows"]
        yield f"{name}: {right} of {flows} flows right ({right / flows:.1%})"
        yield " " * width + "".join(f"  {told:>{len(told)}}" for told in columns())
        for row, counts in counted["counts"].items():
            yield f"{row:{width}}" + "".join(f"  {counts[told] or '.':>{len(told)}}" for told in columns())
        for verdict in part:
            if not verdict.right:
                because = "; ".join(verdict.because)
                yield f"  {verdict.run} {verdict.flow}: {verdict.told_kind} ({verdict.confidence:.2f}): {because}"
    yield from (f"failed, and left out: {run}" for run in failed)
