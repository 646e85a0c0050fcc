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
from analysis.observer.judgement import SenderKind
from analysis.report.rendering import TEMPLATES, pages, render, write_shared
from analysis.run import Run
from analysis.run_json import Flow
from analysis.runs import Runs
from analysis.series import NotMeasuredError

FORMAT: Final = 1
UNDECIDED: Final = "undecided"
DERIVED: Final = "derived"
OTHER: Final = "other"  # where no well known controller behaves so
OWN: Final = Path(__file__).parent
TRUTH: Final = OWN / "truth.yaml"

SURE: Final = 0.9  # a wrong judgement with more confidence misleads

Names = dict[str, tuple[str, str]]  # kind, and the controller that a sender is like, by a name


@dataclass(frozen=True)
class Truth:
    """What each sender is, by its implementation, by the control that its parameter names, or by its family."""

    implementations: Names
    controls: Names
    families: Names
    not_judged: list[str]

    def of(self, flow: Flow) -> tuple[str, str] | None:
        """Return kind and controller of a flow's sender; None if it is not judged."""
        if flow.implementation in self.not_judged:
            return None
        by_control = self.controls.get(flow.params.get("control", ""))
        return self.implementations.get(flow.implementation) or by_control or self.families.get(flow.family)


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

    @property
    def decided(self) -> bool:
        """Whether there is a judgement at all."""
        return self.told_kind != UNDECIDED

    @property
    def misleading(self) -> bool:
        """Whether the judgement is wrong, and sure of itself."""
        return self.decided and not self.right and self.confidence > SURE


def write(results: Path, truth: Path = TRUTH) -> str:
    """Judge the runs in a folder; write kinds.json and index.html there, and return what there is to print."""
    known = read(truth)
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


def read(truth: Path = TRUTH) -> Truth:
    """Read what each sender is."""
    document = read_yaml(truth)
    names = [by_name(document.get(part, dict)) for part in ("implementations", "controls", "families")]
    return Truth(names[0], names[1], names[2], document.get("not_judged", list))


def by_name(kinds: Mapping[str, Mapping[str, list[str]]]) -> Names:
    """Give, by each name that is listed, the kind and the controller below which it stands."""
    return {name: (kind_, like) for kind_, likes in kinds.items() for like, names in likes.items() for name in names}


def _tell(folder: Path, results: Path, known: Truth) -> list[Told]:
    run = Run(folder)
    derived = DERIVED in run.settings.experiment
    verdicts = []
    for flow in run.settings.flows:
        is_so = known.of(flow)
        if is_so is None:
            continue
        truth = derived, flow.implementation, str(folder.relative_to(results)), flow.name, *is_so
        try:
            judgement = kind.judge(run.seen_flight(flow.name))
        except NotMeasuredError as error:
            verdicts.append(Told(*truth, UNDECIDED, OTHER, 0.0, [str(error)]))
        else:
            verdicts.append(
                Told(*truth, judgement.kind.value, judgement.like or OTHER, judgement.confidence, judgement.because)
            )
    return verdicts


def columns() -> list[str]:
    """Every kind that a judgement names, in order."""
    return [*(kind.value for kind in SenderKind), UNDECIDED]


def summary(part: Iterable[Told]) -> dict[str, Any]:
    """Count judgements of each kind: rows are what it is, columns what the observer reported."""
    part = list(part)
    counts = Counter((verdict.is_kind, verdict.told_kind) for verdict in part)
    alike = [verdict for verdict in part if verdict.right and verdict.is_like != OTHER]
    by_right = {right: [verdict.confidence for verdict in part if verdict.right is right] for right in (True, False)}
    return {
        "flows": len(part),
        "right": sum(verdict.right for verdict in part),
        "decided": sum(verdict.decided for verdict in part),
        "misleading": sum(verdict.misleading for verdict in part),
        "implementations": len({verdict.implementation for verdict in part}),
        "counts": {row.value: {told: counts[row.value, told] for told in columns()} for row in SenderKind},
        "alike": {"flows": len(alike), "right": sum(verdict.told_like == verdict.is_like for verdict in alike)},
        "mean_confidence": {
            "right" if right else "wrong": round(sum(values) / len(values), 3) if values else None
            for right, values in by_right.items()
        },
    }


def _line(told: Told) -> str:
    says = "right" if told.right else "wrong" if told.decided else UNDECIDED
    is_so = f"{told.implementation}, {told.is_kind} ({told.is_like})"
    verdict = f"{told.told_kind} ({told.told_like}, {told.confidence:.2f})" if told.decided else ""
    return f"{says:9}  {told.run} {told.flow}: {is_so}: {verdict} {'; '.join(told.because)}"


def _lines(parts: dict[str, list[Told]], failed: list[str]) -> Iterable[str]:
    width = max(map(len, columns()))
    for name, part in parts.items():
        counted = summary(part)
        if not part:
            continue
        right, flows, decided = counted["right"], counted["flows"], counted["decided"]
        yield f"{name}: {right} of {decided} judgements right ({right / max(1, decided):.1%}), of {flows} flows"
        yield f"wrong with a confidence above {SURE}: {counted['misleading']}"
        yield " " * width + "".join(f"  {told:>{len(told)}}" for told in columns())
        for row, counts in counted["counts"].items():
            yield f"{row:{width}}" + "".join(f"  {counts[told] or '.':>{len(told)}}" for told in columns())
        yield from map(_line, part)
    yield from (f"failed, and left out: {run}" for run in failed)
