"""claims.yaml of a study: its paper, its experiments and what each of them is expected to show."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.documents import Document, read_yaml

KINDS: Final = ("exact-number", "read-from-figure", "qualitative")
STATISTICS: Final = ("mean", "std")
FINDINGS: Final = ("right", "wrong", "open")
CHECKS: Final = ("measure", "holds", "kunit", "not_testable")
DECIDE_ALONE: Final = ("holds", "kunit", "not_testable")


@dataclass(frozen=True)
class Claim:
    """One expected value or predicate, and how it is checked.

    `data` is the whole entry of the registry. At least one of the CHECKS is set once the experiment can run;
    the verdict comes from `holds` or `kunit` where there is one, else from `measure` against `value`.
    """

    id: str
    kind: str
    metric: str
    unit: str | None
    value: float | None
    value_range: tuple[float, float] | None  # where the paper fixes its value only to an interval
    approximate: bool
    statistic: str  # of the seeds' numbers: mean or std
    alternatives: tuple[float, ...]  # other readings of what is printed
    cell: str | None
    measure: str | None
    holds: str | None
    kunit: bool  # the KUnit case of the claim's name decides
    not_testable: str | None
    data: dict[str, Any]


@dataclass(frozen=True)
class Extra:
    """A number beside the claims, such as one over another interval or one for a figure; it gets no verdict."""

    metric: str
    unit: str
    measure: str
    cell: str | None


@dataclass(frozen=True)
class Experiment:
    """One figure, table or numeric claim of the study."""

    id: str
    title: str
    artefact: str
    scenario: str | None
    claims: tuple[Claim, ...]
    also_measured: tuple[Extra, ...]
    figure: dict[str, Any] | None
    words: dict[str, str]  # names for expressions that several claims use
    runs_of: str  # the experiment whose runs are looked at: itself, or one that simulates for several
    data: dict[str, Any]  # the entry without its claims


@dataclass(frozen=True)
class Study:
    """A claims.yaml."""

    path: Path
    name: str
    paper: dict[str, Any]
    findings: dict[str, list[str]]  # in words, on the overview: what the paper got right, wrong, and left open
    experiments: tuple[Experiment, ...]

    def experiment(self, name: str) -> Experiment:
        """Find an experiment by its id."""
        for experiment in self.experiments:
            if experiment.id == name:
                return experiment
        names = ", ".join(experiment.id for experiment in self.experiments)
        raise Document(self.path, {}).error("experiments", name, f"one of {names}")


def load(path: Path) -> Study:
    """Read and check a claims.yaml."""
    document = read_yaml(path)
    return Study(
        path=path,
        name=document.get("study", str),
        paper=document.get("paper", dict),
        findings=_findings(document),
        experiments=tuple(_experiment(one) for one in document.children("experiments")),
    )


def _findings(document: Document) -> dict[str, list[str]]:
    findings: dict[str, list[str]] = document.maybe("findings", dict) or {}
    for name, sentences in findings.items():
        if name not in FINDINGS or not isinstance(sentences, list):
            raise document.error(f"findings.{name}", sentences, f"lists of sentences under {', '.join(FINDINGS)}")
    return findings


def _experiment(entry: Document) -> Experiment:
    entry.place = entry.get("id", str)
    claims = tuple(_claim(claim) for claim in entry.children("expected"))
    scenario, runs_of = entry.maybe("scenario", str), entry.maybe("runs_of", str)
    for claim in claims:
        if (scenario or runs_of) and not (claim.measure or claim.holds or claim.kunit or claim.not_testable):
            raise entry.error(claim.id, None, f"one of {', '.join(CHECKS)}, since the experiment runs")
    return Experiment(
        id=entry.get("id", str),
        title=entry.get("what", str),
        artefact=entry.get("artefact", str),
        scenario=scenario,
        claims=claims,
        also_measured=tuple(_extra(one) for one in entry.children("also_measured")),
        figure=entry.maybe("figure", dict),
        words=_words(entry),
        runs_of=runs_of or entry.get("id", str),
        data={name: value for name, value in entry.data.items() if name != "expected"},
    )


def _words(entry: Document) -> dict[str, str]:
    if entry.maybe("words", dict) is None:
        return {}
    words = entry.child("words")
    return {name: _expression(words, name) for name in words.data}


def _extra(entry: Document) -> Extra:
    metric, unit = entry.get("metric", str), entry.get("unit", str)
    return Extra(metric, unit, _expression(entry, "measure"), entry.maybe("cell", str))


def _claim(entry: Document) -> Claim:
    entry.place = entry.get("id", str)
    kind = entry.get("kind", str)
    if kind not in KINDS:
        raise entry.error(entry.name("kind"), kind, "one of " + ", ".join(KINDS))
    # some values are pairs or lists (a table's row); those claims carry a predicate instead
    value = entry.data.get("value")
    number = None if value is None or isinstance(value, list) else entry.get("value", float)
    checks = [name for name in CHECKS if entry.data.get(name) is not None]
    deciding = [name for name in checks if name in DECIDE_ALONE]
    if len(deciding) > 1:
        raise entry.error(entry.name(deciding[-1]), ", ".join(deciding), f"one of {', '.join(DECIDE_ALONE)}")
    if "kunit" in checks and entry.data["kunit"] is not True:
        raise entry.error(entry.name("kunit"), entry.data["kunit"], "true, for the KUnit case of the claim's name")
    span = entry.maybe("value_range", list)
    claim = Claim(
        id=entry.get("id", str),
        kind=kind,
        metric=entry.get("metric", str),
        unit=entry.maybe("unit", str),
        value=number,
        value_range=_range(entry, span) if span is not None else None,
        approximate=entry.maybe("approximate", bool) or False,
        statistic=_statistic(entry),
        alternatives=_alternatives(entry),
        cell=entry.maybe("cell", str),
        measure=_expression(entry, "measure") if "measure" in checks else None,
        holds=_expression(entry, "holds") if "holds" in checks else None,
        kunit="kunit" in checks,
        not_testable=entry.maybe("not_testable", str),
        data=entry.data,
    )
    if claim.measure and not deciding and claim.value is None and claim.value_range is None:
        raise entry.error(entry.name("measure"), claim.measure, "a measure beside a value or a holds to judge it by")
    return claim


def _statistic(entry: Document) -> str:
    statistic = entry.maybe("statistic", str) or "mean"
    if statistic not in STATISTICS:
        raise entry.error(entry.name("statistic"), statistic, "one of " + ", ".join(STATISTICS))
    return statistic


def _alternatives(entry: Document) -> tuple[float, ...]:
    """Give the other numbers that an uncertain value may be; alternatives in words are for the reader only."""
    listed = entry.maybe("alternatives", list) or []
    return tuple(float(one) for one in listed if isinstance(one, (int, float)) and not isinstance(one, bool))


def _range(entry: Document, span: list[Any]) -> tuple[float, float]:
    numbers = [one for one in span if isinstance(one, (int, float))]
    if len(span) != 2 or len(numbers) != 2 or numbers[0] > numbers[1]:
        raise entry.error(entry.name("value_range"), span, "two numbers, the smaller first")
    return float(numbers[0]), float(numbers[1])


def _expression(entry: Document, field: str) -> str:
    text = entry.get(field, str)
    if problem := expressions.problem(text):
        raise entry.error(entry.name(field), text, f"an expression of docs/claims.md; {problem}")
    return text
