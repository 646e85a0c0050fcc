"""An arena: a scenario whose values are ranges and choices, and what it becomes at one of its points."""

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from scenarios import checks, implementations, schema, tables
from scenarios.errors import FieldPath, Problem, ScenarioError, field_name
from scenarios.load import Document
from scenarios.units import QUANTITIES, Quantity, UnitError, parse
from testbed.hunt.scenario import EXPERIMENT, Data
from testbed.shared.panel import CLIENT

FOLDER: Final = Path(__file__).with_name("arenas")
DEFAULT: Final = FOLDER / "homes.yaml"
FURTHER: Final = tuple(FOLDER / f"{name}.yaml" for name in ("lives", "marks", "windows", "outages", "pauses"))
"""Where a hunt looks, too, that names no arena."""
RANGE, CHOICE, MAYBE = "..", " | ", "maybe"
NONE: Final = "none"
"""A choice that leaves the field out."""
PRESENT: Final = 2
"""So much of what is `maybe` there is there on average: much at once hides what each would show."""
STEPS: Final = tuple(map(Decimal, ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")))
"""A range has these numbers of each power of ten, and its ends."""
TOUR: Final = "tour"
"""The name, in a point, of the order in which the events of a tour follow one another."""
QUIET: Final = {
    "loss": "0%",
    "duplicate": "0%",
    "corrupt": "0%",
    "jitter": "0s",
    "aggregation": "0s",
    "mtu": "1500B",
    "black_hole": "1500B",
    "policed": "10gbit",
}
"""What ends an effect of an event. Rates, buffers and delays are then as they were at first; others end at once."""
_SETTLED_S: Final = 2  # after an event of a tour, and after its end
_FROM_ZERO: Final = 100  # a range from zero on begins at this part of its end
INSTEAD: Final = "ranges (5ms..50ms), choices (a | b) and maybe"
_NO_PLACE: Final = ("matrix", "cases", "seeds", "paired", "drawn_events", "rate_traces", "start_jitter")
_WORDS: Final = ("experiment", "title")


@dataclass(frozen=True)
class Knob:
    """A field with several values; `ordered` where they are numbers. `path` of something that `maybe` is there."""

    path: FieldPath
    values: tuple[object, ...]
    ordered: bool

    @property
    def name(self) -> str:
        """Its name in files, such as bottleneck.rate."""
        return field_name(self.path)


Point = Mapping[str, int]
"""The place of each knob's value among its values, by the knob's name; a knob of what is not there may lack.

A point of a tour also has `TOUR`.
"""


@dataclass(frozen=True)
class Arena:
    """A checked arena; `document` is as it was written."""

    document: Document
    knobs: list[Knob]

    def above(self, knob: Knob) -> Iterator[Knob]:
        """Yield the knobs that decide whether a knob has something to turn."""
        for other in self.knobs:
            if other.path[-1] == MAYBE and other is not knob and knob.path[: len(other.path) - 1] == other.path[:-1]:
                yield other

    @property
    def implementations(self) -> set[str]:
        """The implementations of all flows besides the client, whichever are chosen."""
        chosen = {value for knob in self.knobs for value in knob.values if knob.path[-1] == "implementation"}
        fixed = [flow["implementation"] for flow in self.document.data["flows"]]
        return {str(name) for name in [*chosen, *fixed] if name in implementations.known()}

    def scenario(self, point: Point, client: str) -> Data:
        """Return the scenario at a point. In a tour, events follow one another, and each ends before the next."""
        data = _with(
            self.document.data, {knob.path: knob.values[point[knob.name]] for knob in self.knobs if knob.name in point}
        )
        data |= {"experiment": EXPERIMENT, "matrix": {CLIENT: [client]}}
        for flow in data["flows"]:  # who is kept from connecting is harmed, too
            flow["may_fail"] = True
        return _toured(data, random.Random(point[TOUR])) if TOUR in point else data  # noqa: S311 (repeats)


def _toured(data: Data, draw: random.Random) -> Data:
    """Let the events follow one another in the first half of a run; in the second, nothing happens any more."""
    events = list(data.get("events", []))
    draw.shuffle(events)
    links = {f"bottleneck-{number}": link for number, link in enumerate(data.get("more_bottlenecks", ()), 2)}
    now_s, tour = _SETTLED_S, []
    for event in events:
        place = {name: event[name] for name in ("on", "pairs") if name in event}
        effects = {name: value for name, value in event.items() if name not in ("at", *place)}
        tour.append({"at": f"{now_s}s", **place, **effects})
        now_s += _SETTLED_S + sum(-(-parse(way, "time") // 10**9) for way in effects.get("suspension", {}).values())
        before = {"delay": data["delay"], **{**data, **links}.get(event["on"], {})}
        ended = {name: _ended(name, value, before) for name, value in effects.items() if name in {**QUIET, **before}}
        if ended:
            tour.append({"at": f"{now_s}s", **place, **ended})
            now_s += _SETTLED_S
    length_ns = max(parse(data["duration"], "time"), 2 * now_s * 10**9)
    return data | ({"events": tour} if tour else {}) | {"duration": written(length_ns, QUANTITIES["time"])}


def _ended(name: str, value: Any, before: Mapping[str, Any]) -> Any:
    """Return what an effect is after its end: as it was before, or that of a quiet path, in the same directions."""
    if not isinstance(value, dict):
        return before[name]
    return {way: before[name][way] if name in before else QUIET[name] for way in value}


def read(file: Path, client: str) -> Arena:
    """Read and check an arena. Raises ScenarioError as `checked` does."""
    return checked(tables.read(file), client)


def further(client: str) -> list[Arena]:
    """Read the arenas of `FURTHER` in which a client can play. Raises ScenarioError as `checked` does."""
    is_program = implementations.known()[client]["kind"] == "program"
    files = [file for file in FURTHER if not (is_program and _pauses(file))]
    return [read(file, client) for file in files]


def _pauses(file: Path) -> bool:
    """Whether an arena's applications pause, which those of programs do not."""
    return any("writes" in flow for flow in tables.read(file).data["flows"])


def checked(document: Document, client: str, kind: str = "an arena", instead: str = INSTEAD) -> Arena:
    """Check an arena that has been read; messages call it its kind, and say what to write instead of a wrong field.

    Raises:
        ScenarioError: it names line and field of all that is wrong, at either end of each range and in each choice.
    """
    document = _without_useless_clocks(document, client)
    wrong: list[Problem] = [
        document.problem((name,), f"has no place in {kind}", instead) for name in _NO_PLACE if name in document.data
    ]
    knobs: list[Knob] = []
    leaves = list(_leaves(document.data, ()))
    one_in = max(2, sum(path[-1] == MAYBE for path, _ in leaves) // PRESENT)
    for path, value in leaves:
        try:
            knobs += _knob(path, value, one_in)
        except ValueError as error:
            wrong.append(document.problem(path, f"found {value!r}", str(error)))
    wrong = wrong or _wrong_corners(document, knobs, client)
    if not wrong and not any(flow["name"] == CLIENT for flow in document.data["flows"]):
        wrong.append(document.problem(("flows",), f"no flow {CLIENT!r}", f'one, with implementation "${{{CLIENT}}}"'))
    if wrong:
        raise ScenarioError(list(dict.fromkeys(wrong)))
    return Arena(document, knobs)


def _without_useless_clocks(document: Document, client: str) -> Document:
    """Leave out the clocks that are `maybe` there for a client whose packets have no timestamps."""
    clocks = document.data.get("clocks")
    shown = implementations.known()[client]["transport"] in implementations.TIMESTAMPED
    if shown or not isinstance(clocks, list):
        return document
    kept = [clock for clock in clocks if not (isinstance(clock, dict) and MAYBE in clock)]
    rest = {name: value for name, value in document.data.items() if name != "clocks"}
    return replace(document, data=rest | ({"clocks": kept} if kept else {}))


def _leaves(data: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    if isinstance(data, dict | list):
        for name, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _leaves(value, (*path, name))
    else:
        yield path, data


def _knob(path: FieldPath, value: object, one_in: int) -> Iterator[Knob]:
    """Yield the knob of a field, if it has several values; what is `maybe` there is so in one scenario of some.

    Raises:
        ValueError: it is wrong; the message says what is allowed.
    """
    if path[-1] == MAYBE:
        if value is not True:
            raise ValueError("true, or no such field")
        yield Knob(path, (True, *[False] * (one_in - 1)), ordered=False)
    elif not isinstance(value, str) or path[0] in _WORDS:
        return
    elif CHOICE in value:
        yield Knob(path, tuple(map(_plain, value.split(CHOICE))), ordered=False)
    elif RANGE in value:
        unit = _unit(path)
        if unit is None:
            raise ValueError("a range where a quantity stands; elsewhere choices (a | b)")
        try:
            low, high = (QUANTITIES[unit].parse(end) for end in value.split(RANGE))
        except (UnitError, ValueError):
            raise ValueError(f"two ends, LOW..HIGH, each {QUANTITIES[unit]}") from None
        if not 0 <= low < high:
            raise ValueError("a range whose ends are not below zero, the smaller one first; elsewhere choices (a | b)")
        yield Knob(path, tuple(written(number, QUANTITIES[unit]) for number in grid(low, high)), ordered=True)


def _plain(word: str) -> object:
    word = word.strip()
    return {"true": True, "false": False}.get(word, int(word) if word.isdecimal() else word)


def _unit(path: FieldPath) -> str | None:
    """Return the unit of the quantity that the schema has at a place; None if there is none."""
    field: Mapping[str, Any] = schema.load_schema("scenario")
    for part in path:
        field = field.get("items", {}) if isinstance(part, int) else field.get("properties", {}).get(part, {})
    unit: str | None = field.get("unit")
    return unit


def grid(low: int, high: int, steps: Sequence[Decimal] = STEPS) -> list[int]:
    """Return the ends of a range, and what is between them of `steps` times powers of ten."""
    first = low or max(1, high // _FROM_ZERO)
    exponents = range(len(str(first)) - 1, len(str(high)))
    between = [step.scaleb(exponent) for exponent in exponents for step in steps]
    return sorted({low, high, *(int(number) for number in between if first <= number <= high and number % 1 == 0)})


def written(number: int, quantity: Quantity) -> str:
    """Write an integer in base units as people do: shares in percent, others in the largest unit that fits."""
    units = {unit: factor for unit, factor in quantity.units.items() if unit not in ("min", "ppm")}
    fitting = [(factor, unit) for unit, factor in units.items() if factor <= abs(number)]
    if number == 0 or not fitting:
        fitting = [(factor, unit) for unit, factor in units.items() if unit in ("s", "%")] or [(1, next(iter(units)))]
    factor, unit = max(fitting)
    return f"{(Decimal(number) / factor).normalize():f}{unit}"


def _wrong_corners(document: Document, knobs: Sequence[Knob], client: str) -> list[Problem]:
    """Return what is wrong with a scenario at either end of all ranges, and with each choice."""
    corners = [{knob.path: knob.values[place] for knob in knobs} for place in (0, -1)]
    for knob in knobs:
        if not knob.ordered:
            corners += [corners[0] | {knob.path: value} for value in knob.values]
    present = {knob.path: True for knob in knobs if knob.path[-1] == MAYBE}
    wrong: list[Problem] = []
    for corner in corners:
        data = _substituted(_with(document.data, corner | present), client)
        wrong += _problems(Document(document.file, data, document.lines))
    return wrong


def is_valid(scenario: Data) -> bool:
    """Whether a scenario of one client breaks no rule, as one with a changed number can: 5 % more than all losses."""
    [client] = scenario["matrix"][CLIENT]
    bare = {name: value for name, value in scenario.items() if name != "matrix"}
    return not _problems(Document(Path(), _substituted(bare, client), {(): 1}))


def _problems(document: Document) -> list[Problem]:
    rules = schema.load_schema("scenario")
    if wrong := schema.problems(document, rules):
        return wrong
    filled = schema.with_defaults(document.data, rules)
    for flow in filled["flows"]:
        implementations.split_sides(flow)
    return checks.problems(document, filled, implementations.known())


def _with(data: Data, values: Mapping[FieldPath, object]) -> Data:
    """Copy data with some values; what is not there is left out, and what is empty then."""
    changed = copy.deepcopy(data)
    absent: list[FieldPath] = []
    for path, value in values.items():
        around: Any = changed
        for part in path[:-1]:
            around = around[part]
        if path[-1] == MAYBE:
            del around[path[-1]]
        else:
            around[path[-1]] = None if value == NONE else value
        if path[-1] == MAYBE and value is False:
            absent.append(path[:-1])
    for path in sorted(absent, key=len, reverse=True):
        around = changed
        for part in path[:-1]:
            around = around[part]
        around[path[-1]] = None
    without: Data = _without_none(changed)
    return without


def _without_none(data: Any) -> Any:
    if isinstance(data, dict):
        kept = {name: _without_none(value) for name, value in data.items() if value is not None}
        return {name: value for name, value in kept.items() if value not in ({}, []) or data[name] in ({}, [])}
    if isinstance(data, list):
        return [_without_none(value) for value in data if value is not None]
    return data


def _substituted(data: Any, client: str) -> Any:
    if isinstance(data, dict):
        return {name: _substituted(value, client) for name, value in data.items()}
    if isinstance(data, list):
        return [_substituted(value, client) for value in data]
    return data.replace(f"${{{CLIENT}}}", client) if isinstance(data, str) else data
