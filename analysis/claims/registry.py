"""Reads the claims of an experiment, `<name>.claims.yaml`, and its study, `study.yaml` beside it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from analysis.claims import by_cell, expressions, kinds, syntax
from analysis.errors import BadExpressionError, BadInputError
from analysis.judge.findings import decides
from scenarios import CLAIMS, STUDY, tables
from scenarios.cell_names import SINGLE
from scenarios.errors import FieldPath, Problem, ScenarioError, choices, field_name
from scenarios.load import Document
from scenarios.schema import load_schema, problems

SCHEMAS: Final = Path(__file__).with_name("schemas")
CHECKS: Final = ("measure", "holds", "kunit", "not_testable")
DECIDE_ALONE: Final = ("holds", "kunit", "not_testable")
VARIED: Final = ("tested", "partly", "likely")  # kinds of evidence for causes, of runs that varied something
EXPRESSION: Final = "an expression of docs/reference/claims.md"
DASH: Final = "-"  # papers print a dash for zero

NOT_KEPT: Final = "runs that were not kept: "  # begins the `by` of a cause that no run at hand varied


@dataclass(frozen=True)
class Claim:
    """One expected value or predicate, and how it is checked.

    `holds` or `kunit` decides where given; otherwise `measure` is compared with the printed value. A claim with
    `same_as` has no other fields. `data` is the entry as written, without defaults.
    """

    id: str
    finding: str
    metric: str
    unit: str | None
    printed: str | None
    interval: str | tuple[str, str] | None  # as the paper prints it: a half width, or two ends
    approximate: bool
    statistic: str  # over the seeds: mean, std or fraction-in-mode
    bound: str | None  # what the paper says of the number: at most, at least, above, below
    since: str | None  # of an instant: where the paper counts from
    grain: str | None  # what one packet changes in one run
    paper_runs: int | None  # how many runs the paper made for the number
    alternatives: tuple[str, ...]  # other plausible readings of the scan
    cell: str | None
    measure: str | None
    holds: str | None
    kunit: bool  # the KUnit case with the claim's name decides
    not_testable: dict[str, str] | None  # kind of reason, and explanation
    counts: bool
    same_as: str | None
    data: dict[str, Any]

    @property
    def value(self) -> float | None:
        """The printed number; None where the paper prints words or nothing."""
        return None if self.printed is None else number(self.printed)


@dataclass(frozen=True)
class Extra:
    """A number without a verdict, such as one over another interval or one for a figure."""

    metric: str
    unit: str
    measure: str
    cell: str | None


@dataclass(frozen=True)
class Reading:
    """Another reading of the paper's text that ran: where its cells are. `cells` maps a part of a cell's name."""

    title: str
    runs_of: str
    cells: dict[str, str]

    def cell(self, judged: str | None) -> str | None:
        """Return the cell that stands for the one that is judged; None where the reading has none."""
        name = judged or SINGLE
        parts = [part for part in self.cells if part in name]
        if not parts:
            return None
        part = max(parts, key=len)
        return name.replace(part, self.cells[part])


@dataclass(frozen=True)
class Assertion:
    """A setting of the paper that the runs must have."""

    text: str
    source: str
    holds: str
    cell: str | None


@dataclass(frozen=True)
class Experiment:
    """One figure, table or numeric claim of the study."""

    id: str
    file: Path
    title: str
    artefact: str
    scenario: Path | None  # beside the file; None where another experiment simulates
    runs_of: str  # the experiment whose runs it uses: itself, or another
    words: dict[str, str]  # names for expressions that several claims use
    asserts: tuple[Assertion, ...]
    claims: tuple[Claim, ...]
    also_measured: tuple[Extra, ...]
    readings: tuple[Reading, ...]
    figure: dict[str, Any]
    data: dict[str, Any]  # the file without its claims
    document: Document

    def claim(self, name: str) -> Claim | None:
        """Find a claim by its full id."""
        return next((claim for claim in self.claims if claim.id == name), None)

    def expressions(self) -> Iterator[str]:
        """Yield every expression that measuring this experiment evaluates."""
        yield from self.words.values()
        yield from (extra.measure for extra in self.also_measured)
        yield from (asserted.holds for asserted in self.asserts)
        yield from (text for claim in self.claims for text in (claim.measure, claim.holds) if text)
        yield from _of_figure(self.figure)

    def drawn_beside(self) -> Iterator[tuple[FieldPath, str, str]]:
        """Yield the experiment and the cell of each entry of the figure's `cells` that is of another experiment."""
        declared = self.figure.get("cells")
        for index, entry in enumerate(declared if isinstance(declared, list) else []):
            if isinstance(entry, dict) and "runs_of" in entry:
                yield ("figure", "cells", index), str(entry["runs_of"]), str(entry.get("cell", SINGLE))


@dataclass(frozen=True)
class Study:
    """A study.yaml."""

    file: Path
    name: str
    paper: dict[str, Any]
    findings: dict[str, str]  # sentences by id
    quotes: list[dict[str, Any]]  # the paper's own sentences, each with the findings that it states
    apart: dict[str, list[str]]  # the findings that count apart, by kind: conformance, echo
    concluded: dict[str, list[str]]  # the findings that each list of conclusions is about
    conclusions: dict[str, list[str]]  # for the overview: what the paper got right, wrong, and left open
    ambiguities: list[str]
    document: Document

    def is_decided_by(self, experiment: Experiment) -> bool:
        """Tell whether a claim of an experiment decides a finding; where there are none, each experiment decides."""
        return not self.findings or any(decides(claim.data) for claim in experiment.claims)


def load(file: Path) -> Experiment:
    """Read and check the claims of an experiment.

    Raises BadInputError with all problems, one per line.
    """
    document = _read(file, "claims")
    wrong = list(_problems(document))
    if wrong:
        raise BadInputError(str(ScenarioError(wrong)))
    data = by_cell.one_each(document.data)
    scenario = file.with_name(file.name.removesuffix(CLAIMS) + ".yaml")
    return Experiment(
        id=data["experiment"],
        file=file,
        title=data["title"],
        artefact=data["artefact"],
        scenario=None if "runs_of" in data else scenario,
        runs_of=data.get("runs_of", data["experiment"]),
        words=data.get("words", {}),
        asserts=tuple(
            Assertion(each["text"], each["source"], each["holds"], each.get("cell")) for each in data.get("asserts", [])
        ),
        claims=tuple(_claim(entry, data) for entry in data["claims"]),
        also_measured=tuple(
            Extra(extra["metric"], extra["unit"], extra["measure"], extra.get("cell"))
            for extra in data.get("also_measured", [])
        ),
        readings=tuple(
            Reading(other["title"], other.get("runs_of", data.get("runs_of", data["experiment"])), other["cells"])
            for other in data.get("readings", [])
        ),
        figure=data["figure"],
        data={name: value for name, value in data.items() if name != "claims"},
        document=document,
    )


def load_study(folder: Path) -> Study:
    """Read and check the study.yaml of a folder.

    Raises BadInputError with all problems, one per line.
    """
    document = _read(folder / STUDY, "study")
    data = document.data
    wrong = [*_quotes_of_nothing(document), *_apart_of_nothing(document)]
    if wrong:
        raise BadInputError(str(ScenarioError(wrong)))
    return Study(
        file=folder / STUDY,
        name=folder.name,
        paper=data["paper"],
        findings=data["findings"],
        quotes=data.get("quotes", []),
        apart=data.get("apart", {}),
        concluded=data.get("concluded", {}),
        conclusions=data.get("conclusions", {}),
        ambiguities=data.get("ambiguities", []),
        document=document,
    )


def _quotes_of_nothing(document: Document) -> Iterator[Problem]:
    """Find findings of quotations that the study does not have."""
    known = list(document.data["findings"])
    for index, quote in enumerate(document.data.get("quotes", [])):
        for place, name in enumerate(quote.get("findings", [])):
            if name not in known:
                yield document.problem(("quotes", index, "findings", place), f"found {name!r}", choices(known, name))


def _apart_of_nothing(document: Document) -> Iterator[Problem]:
    """Find findings that count apart and that the study does not have."""
    known = list(document.data["findings"])
    for kind, names in document.data.get("apart", {}).items():
        for place, name in enumerate(names):
            if name not in known:
                yield document.problem(("apart", kind, place), f"found {name!r}", choices(known, name))


def folders_of_studies(folder: Path) -> list[Path]:
    """List the folders of the studies in a folder. Raises BadInputError if there are none."""
    folders = [file.parent for file in sorted(folder.glob("*/study.yaml"))]
    if not folders:
        raise BadInputError(f"{folder}: found no */study.yaml; allowed: the folder of the studies")
    return folders


def claims_files(folder: Path) -> list[Path]:
    """List the claims files in the folder of a study."""
    return sorted(folder.glob(f"*{CLAIMS}"))


def shown_here(claim: Claim, original: Claim) -> Claim:
    """Return a claim of another experiment under an id of this one."""
    data = {**original.data, "id": claim.id, "same_as": original.id}
    return replace(original, id=claim.id, same_as=original.id, data=data)


def number(printed: str) -> float | None:
    """Parse a printed number: a dash is 0, words are None."""
    try:
        return 0.0 if printed == DASH else float(printed)
    except ValueError:
        return None


def _read(file: Path, schema: str) -> Document:
    try:
        document = tables.read(file)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    wrong = problems(document, load_schema(schema, SCHEMAS))
    if wrong:
        raise BadInputError(str(ScenarioError(wrong)))
    return document


def _problems(document: Document) -> Iterator[Problem]:
    """Find problems that the schema cannot express."""
    data = document.data
    yield from _bad_expressions(document)
    yield from by_cell.problems(document)
    yield from _idle_readings(document)
    index_of: dict[str, int] = {}
    for index, entry in enumerate(data["claims"]):
        path: FieldPath = ("claims", index)
        if index_of.setdefault(entry["id"], index) != index:
            yield document.problem((*path, "id"), f"{entry['id']!r} again", "an id of its own")
        if "same_as" in entry:
            for name in entry.keys() - {"id", "same_as"}:
                yield document.problem((*path, name), "stands beside same_as", "nothing but id and same_as")
        else:
            yield from _bad_claim(document, path, entry)
    for index, name in enumerate(data.get("result_of", [])):
        if name not in index_of:
            yield document.problem(("result_of", index), f"found {name!r}", choices(list(index_of), name))
    for index, entry in enumerate(data["claims"]):
        cause = entry.get("cause")
        if isinstance(cause, str) and not _has_cause(data["claims"], index_of.get(cause)):
            allowed = choices([claim["id"] for claim in data["claims"] if isinstance(claim.get("cause"), dict)], cause)
            yield document.problem(("claims", index, "cause"), f"found {cause!r}", f"a cause, or the id of {allowed}")


def _idle_readings(document: Document) -> Iterator[Problem]:
    """Find parts of cells in readings that no claim's cell has."""
    cells = [claim.get("cell", SINGLE) for claim in document.data["claims"]]
    for index, reading in enumerate(document.data.get("readings", [])):
        for part in reading["cells"]:
            if not any(part in cell for cell in cells):
                allowed = "a part of the cell of a claim in this file"
                yield document.problem(("readings", index, "cells", part), f"found {part!r}", allowed)


def _bad_claim(document: Document, path: FieldPath, entry: dict[str, Any]) -> Iterator[Problem]:
    for name in ("title", "metric", "source"):
        if name not in entry:
            meaning = load_schema("claims", SCHEMAS)["properties"]["claims"]["items"]["properties"][name]["description"]
            yield document.problem((*path, name), "missing", meaning)
    if "finding" not in entry and "finding" not in document.data:
        yield document.problem((*path, "finding"), "missing", "a finding of study.yaml, here or for the whole file")
    checks = [name for name in CHECKS if name in entry]
    if not checks:
        yield document.problem(path, "nothing that checks it", f"one of {', '.join(CHECKS)}")
    deciding = [name for name in checks if name in DECIDE_ALONE]
    if len(deciding) > 1:
        yield document.problem((*path, deciding[-1]), f"found {' and '.join(deciding)}", "one of them")
    if entry.get("kunit") is False:
        yield document.problem((*path, "kunit"), "found False", "true, or no such field")
    interval = entry.get("interval")
    if interval is not None and not _is_interval(interval):
        allowed = '"0.02" for plus and minus, or two ends, the smaller first'
        yield document.problem((*path, "interval"), f"found {interval}", allowed)
    for index, other in enumerate(entry.get("alternatives", [])):
        if number(other) is None:
            yield document.problem((*path, "alternatives", index), f"found {other!r}", "a number")
    if checks == ["measure"] and not isinstance(interval, list) and number(entry.get("paper", "")) is None:
        yield document.problem((*path, "paper"), found(entry.get("paper")), "a number to judge by, or `holds`")
    cause = entry.get("cause")
    if isinstance(cause, dict) and (cause["evidence"] in VARIED) != ("by" in cause):
        allowed = f"the run that varied something, with {', '.join(VARIED)}"
        yield document.problem((*path, "cause", "by"), found(cause.get("by")), allowed)


def _is_interval(interval: str | list[str]) -> bool:
    numbers = [number(end) for end in ([interval] if isinstance(interval, str) else interval)]
    known = [end for end in numbers if end is not None]
    return len(known) == len(numbers) and known == sorted(known)


def _has_cause(claims: list[dict[str, Any]], index: int | None) -> bool:
    return index is not None and isinstance(claims[index].get("cause"), dict)


def _bad_expressions(document: Document) -> Iterator[Problem]:
    """Check every field that holds an expression, wherever it stands."""
    words = list(document.data.get("words", {}))
    for path, value in expressions_of(document):
        # a word may use those above it
        defined = words[: words.index(str(path[1]))] if path[0] == "words" else words
        of_words = {name: str(document.data["words"][name]) for name in defined}
        wrong = expressions.problem(value, defined) or kinds.problem(value, kinds.Scope(of_words), _kind(path))
        if wrong:
            yield document.problem(path, f"{found(value)}: {wrong}", EXPRESSION)
        elif path[-1] in ("measure", "holds") and not syntax.asks(value):
            yield document.problem(path, f"{found(value)}, which asks nothing of a run", "an expression with a word")


def expressions_of(document: Document) -> Iterator[tuple[FieldPath, str]]:
    """Yield each expression of a claims file with its field, wherever it stands."""
    for path, value in _leaves(document.data, ()):
        holds_one = path[0] == "words" or path[-1] in ("measure", "holds")
        if (holds_one or path[-2:-1] in (("measure",), ("lines",))) and isinstance(value, str):
            yield path, value


def placed(error: BadExpressionError, experiments: Iterable[Experiment]) -> BadInputError:
    """Say in which line of which file an expression stands that makes no sense, if one of these experiments has it."""
    for experiment in experiments:
        for path, expression in expressions_of(experiment.document):
            if expression == error.expression:
                line = experiment.document.lines[path]
                where = f"{experiment.file}:{line}: {field_name(path)}"
                return BadInputError(f"{where}: found {expression!r}: {error.wrong}")
    return error


def _kind(path: FieldPath) -> str | None:
    """Return the kind of value that the expression in a field must have; None for defined words."""
    if path[0] == "words":
        return None
    if path[-1] == "holds":
        return kinds.TRUTH
    return kinds.SERIES if path[-2:-1] == ("lines",) else kinds.NUMBER


def _of_figure(figure: dict[str, Any]) -> Iterator[str]:
    for path, value in _leaves(figure, ()):
        if isinstance(value, str) and (path[-1] == "measure" or path[-2:-1] in (("measure",), ("lines",))):
            yield value


def _leaves(data: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    items: Iterable[tuple[str | int, Any]]
    if isinstance(data, dict):
        items = data.items()
    elif isinstance(data, list):
        items = enumerate(data)
    else:
        yield path, data
        return
    for name, value in items:
        yield from _leaves(value, (*path, name))


def found(value: object) -> str:
    """Say what a field holds, cut to what a message has room for beside the reason."""
    if value is None:
        return "missing"
    shown = repr(value)
    return f"found {shown if len(shown) <= 60 else shown[:57] + '...'}"


def _claim(entry: dict[str, Any], data: dict[str, Any]) -> Claim:
    cause = entry.get("cause")
    if isinstance(cause, str):
        cause = next(other["cause"] for other in data["claims"] if other["id"] == cause)
    interval = entry.get("interval")
    name = f"{data['experiment']}/{entry['id']}"
    return Claim(
        id=name,
        finding=entry.get("finding") or data.get("finding", ""),
        metric=entry.get("metric", ""),
        unit=entry.get("unit"),
        printed=entry.get("paper"),
        interval=(interval[0], interval[1]) if isinstance(interval, list) else interval,
        approximate=entry.get("approximate", False),
        statistic=entry.get("statistic", "mean"),
        bound=entry.get("bound"),
        since=entry.get("since"),
        grain=entry.get("grain"),
        paper_runs=entry.get("paper_runs"),
        alternatives=tuple(entry.get("alternatives", [])),
        cell=entry.get("cell"),
        measure=entry.get("measure"),
        holds=entry.get("holds"),
        kunit="kunit" in entry,
        not_testable=entry.get("not_testable"),
        counts="role" not in entry,
        same_as=entry.get("same_as"),
        data=_in_order({**entry, "id": name} | ({"cause": cause} if cause else {})),
    )


def _in_order(entry: dict[str, Any]) -> dict[str, Any]:
    """Sort the fields of a claim as the schema lists them, since a table has them in columns and rows."""
    listed = list(load_schema("claims", SCHEMAS)["properties"]["claims"]["items"]["properties"])
    return {name: entry[name] for name in sorted(entry, key=listed.index)}
