"""The properties that a hunt tries to break: a folder of files, and the one that a command line gives."""

import copy
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.claims.comparisons import compare
from analysis.claims.syntax import NEVER
from analysis.errors import BadInputError
from analysis.judge.statement import names_of, of_text
from analysis.series import NotMeasuredError
from scenarios import implementations, schema
from scenarios.errors import ScenarioError, choices
from scenarios.implementations import Implementation
from scenarios.load import read as load_document
from scenarios.units import QUANTITIES, parse
from testbed.hunt.arena import MAYBE, Arena, written
from testbed.hunt.scenario import Data, of_client
from testbed.shared.panel import CLIENT
from testbed.shared.vocabulary import COMPARISON, WORDS, Number, of_option

FOLDER: Final = Path(__file__).with_name("properties")
SCHEMA: Final = Path(__file__).with_name("schema.yaml")
OTHER: Final = "other"
ALONE, BESIDE = "alone", "beside"
BASELINE: Final = "baseline"
RENO: Final = "reno"
"""Stands for what RFC 5681 gives; its run is beside each scenario that a property of it covers."""
_IMPLEMENTATION_OF_RENO: Final = "tcp-reno"
OWN: Final = "property"
"""The name of the property of a command line."""
BASE_S: Final = 660
"""So long a base delay lives (RFC 6817, section 4.2: ten minutes, and the current one)."""
LONG_S: Final = 600
MOST_GROWN_MS: Final = 10
"""A part of the shortest target; what a route is longer counts as a queue until the base delay is forgotten."""
MIDDLE: Final = "duration / 2"
OUTAGE: Final = "100%"
PAUSE: Final = "8s"
"""From one write to the next, as `after-pause` reckons with."""
FULL_BITS: Final = 12_000
MANY_PKTS: Final = 1_000
MANY_ROUNDS: Final = 20
"""A slowdown of LEDBAT++, with what follows until it is as fast as before, is shorter."""
OF_SCENARIOS: Final = (
    "of_marks",
    "of_settled",
    "of_long",
    "of_pauses",
    "of_outage",
    "of_fast",
    "of_rounds",
    "of_reached",
)
_BROKEN, _WORST, _KEPT = 1.0, 2.0, 0.999
_QUANTITIES: Final = {"rate": "rate", "buffer": "packets"}


@dataclass(frozen=True)
class Property:
    """A property: `measured` and `bound` are expressions. `comparison` describes the run that `other` stands for."""

    name: str
    says: str
    otherwise: str
    holds: str
    measured: str
    sign: str
    bound: str
    comparison: dict[str, Any] | None
    instant: str
    flows: str | None
    families: list[str] | None
    transports: list[str] | None
    of_path: bool
    of_version: bool
    of_marks: bool
    of_settled: bool
    of_long: bool
    of_pauses: bool
    of_outage: bool
    of_fast: bool
    of_rounds: bool
    of_reached: list[str]
    not_families: list[str]
    because: str

    @property
    def expressions(self) -> list[str]:
        """What has to be measured in each run of the client."""
        return [self.measured, self.instant, *([] if self.comparison else [self.bound])]

    @property
    def is_always_compared(self) -> bool:
        """Whether the run beside is there in each scenario, not in turn with others."""
        return bool(self.comparison and self.comparison.get("client") == RENO)

    @property
    def is_against_another(self) -> bool:
        """Whether `other` is another implementation's run, which says all about the path."""
        return bool(self.comparison and "client" in self.comparison)

    def applies_to(self, about: Implementation, against_version: bool) -> bool:
        """Whether it applies to an implementation, which is compared with an earlier version or not."""
        fits = {"family": self.families, "transport": self.transports}
        if (self.of_version and not against_version) or about.get("family") in self.not_families:
            return False
        return all(allowed is None or about.get(field) in allowed for field, allowed in fits.items())

    def covers(self, data: Data) -> bool:
        """Whether a scenario is one of those that the property is about."""
        if self.of_marks and not data["bottleneck"].get("params", {}).get("ecn"):
            return False
        if self.of_long and parse(data["duration"], "time") < LONG_S * 10**9:
            return False
        if self.of_pauses and data["flows"][0].get("writes", {}).get("every") != PAUSE:
            return False
        if self.of_outage and not _has_outage(data):
            return False
        if self.of_fast and _needed_pkts(data) < MANY_PKTS:
            return False
        if self.of_rounds and parse(data["duration"], "time") / 4e9 < MANY_ROUNDS * _round_trip_s(data):
            return False
        if self._grows_slowly(data) and not _is_reached(data):
            return False
        if self.of_settled and _grown_ms(data) > MOST_GROWN_MS:
            return False
        return self.flows is None or (self.flows == ALONE) == (len(data["flows"]) == 1)

    def _grows_slowly(self, data: Data) -> bool:
        if not self.of_reached:
            return False
        [client] = data["matrix"][CLIENT]
        return implementations.known()[client].get("family") in self.of_reached

    def other(self, data: Data, baseline: str) -> Data | None:
        """Return the scenario of the run beside; None if there is none."""
        if self.comparison is None:
            return None
        changed: Data = copy.deepcopy(data) | copy.deepcopy(self.comparison.get("set", {}))
        for field, factor in self.comparison.get("scale", {}).items():
            on_it = [event for event in changed.get("events", ()) if event["on"] == "bottleneck"]
            for place in (changed["bottleneck"], *on_it):
                if field in place:
                    quantity = QUANTITIES[_QUANTITIES[field]]
                    place[field] = written(quantity.parse(place[field]) * factor, quantity)
        whose = self.comparison.get("client")
        if whose is None:
            return changed
        beside = {BASELINE: baseline, RENO: _IMPLEMENTATION_OF_RENO}
        return of_client(changed, beside[whose] if whose in beside else str(data["flows"][1]["implementation"]))

    def badness(self, measured: Number, bound: Number) -> float | None:
        """Say how near a run is to breaking it: more than 1 where it does, at most 2; None where nothing is known."""
        if measured is None or bound is None:
            return None
        try:
            is_kept = compare(measured, self.sign, bound, by_name=NEVER in (self.measured, self.bound))
        except NotMeasuredError:
            return None
        is_most = self.sign.startswith("<")
        low, high = (measured, bound) if is_most else (bound, measured)
        if is_kept:
            return min(_KEPT, _ratio(low, high))
        return max(math.nextafter(_BROKEN, _WORST), min(_WORST, _ratio(low, high)))

    def bound_of(self, numbers: dict[str, Number], other: Number) -> Number:
        """Return the bound for what was measured in a run and, by `measured`, in the run beside."""
        if self.comparison is None:
            return numbers[self.bound]
        if other is None:
            return None
        with suppress(NotMeasuredError):
            return expressions.arithmetic(self.bound, {OTHER: other})
        return None


def _grown_ms(data: Data) -> float:
    """Return by how much the forward path is longer at the end than at its shortest in the last `BASE_S`, ms."""
    since_ns = parse(data["duration"], "time") - BASE_S * 10**9
    changes = [
        (parse(event["at"], "time"), parse(event["delay"]["forward"], "time"))
        for event in data.get("events", ())
        if "forward" in event.get("delay", {})
    ]
    known = [(0, parse(data["delay"]["forward"], "time")), *sorted(changes)]
    first = max(place for place, (at_ns, _) in enumerate(known) if at_ns <= max(since_ns, 0))
    return (known[-1][1] - min(delay_ns for _, delay_ns in known[first:])) / 10**6


def _has_outage(data: Data) -> bool:
    return any(event.get("loss", {}).get("forward") == OUTAGE for event in data.get("events", ()))


def _round_trip_s(data: Data) -> float:
    """Return the first round-trip time without a queue."""
    return sum(parse(delay, "time") for delay in data["delay"].values()) / 1e9


def _needed_pkts(data: Data) -> float:
    """Return how many full packets in flight fill the link at first."""
    return parse(data["bottleneck"]["rate"], "rate") * _round_trip_s(data) / FULL_BITS


def _is_reached(data: Data) -> bool:
    """Whether a window that grows by a packet in each round trip fills a tenth of the link well before the middle."""
    return parse(data["duration"], "time") / 2e9 / _round_trip_s(data) >= 2 * _needed_pkts(data) / 10


def _ratio(low: float, high: float) -> float:
    """Return low / high for what should be in that order, above 1 where it is not; numbers need not be positive."""
    if math.isinf(high):
        return 0.0
    if math.isinf(low):
        return _WORST
    if low <= 0 and low < high:
        return 1 / (1 + math.log10(1 + high - low))
    return low / high if high > 0 else _WORST


def covering(candidates: Sequence[Property], place: Arena) -> list[Property]:
    """Return the properties that cover some scenario of an arena.

    Raises:
        BadInputError: none does.
    """
    others = [flow for flow in place.document.data["flows"] if flow["name"] != CLIENT]
    possible = {ALONE: all(MAYBE in flow for flow in others), BESIDE: bool(others)}
    fitting = [prop for prop in candidates if prop.flows is None or possible[prop.flows]]
    if not fitting:
        found = f"found an arena in whose scenarios the client is {'never' if others else 'always'} alone"
        raise BadInputError(
            f"--arena: {found}; allowed: one to which {choices([each.name for each in candidates])} applies"
        )
    return fitting


def load_all(about: Implementation, *, against_version: bool = False) -> list[Property]:
    """Read all properties that apply to an implementation. Raises BadInputError as `load` does."""
    return [prop for prop in map(load, sorted(FOLDER.glob("*.yaml"))) if prop.applies_to(about, against_version)]


def load(path: Path) -> Property:
    """Read and check a property. Raises BadInputError that names line and field of everything that is wrong."""
    try:
        document, data = schema.checked(path, SCHEMA)
        instant = data.get("instant", MIDDLE)
        if problem := expressions.problem(instant, ()):
            raise ScenarioError([document.problem(("instant",), problem, "an expression in the words of claims")])
        try:
            return _property(path.stem, data, instant)
        except ValueError as error:
            raise ScenarioError([document.problem(("holds",), str(error), WORDS)]) from None
    except ScenarioError as error:
        raise BadInputError(str(error)) from None


def of_expression(text: str) -> Property:
    """Make a property of the comparison that a command line gives.

    Raises:
        BadInputError: it is none; the message says what was found.
    """
    of_option(text, "--property")
    says = {
        "says": f"{text}.",
        "otherwise": f"breaks {text}",
        "holds": text,
        "of_path": False,
        "because": "The command line asks for it.",
    }
    return _property(OWN, schema.with_defaults(says, load_document(SCHEMA).data), MIDDLE)


def _property(name: str, data: dict[str, Any], instant: str) -> Property:
    comparison = data.get("other")
    form = replace(COMPARISON, words={*COMPARISON.words, OTHER}) if comparison else COMPARISON
    statement = of_text(data["holds"], form)
    measured, [sided] = statement.measure, statement.bounds
    sign, bound = sided.sign, sided.text
    if comparison and names_of(bound) != {OTHER}:
        raise ValueError(f"found the bound {bound!r}, which is not made of {OTHER!r} and numbers alone")
    if OTHER in names_of(measured):
        raise ValueError(f"found {OTHER!r} on the left side")
    told = ("says", "otherwise", "holds", "of_path", "of_version", "because", *OF_SCENARIOS)
    texts = {field: data[field] for field in told}
    return Property(
        name,
        measured=measured,
        sign=sign,
        bound=bound,
        comparison=comparison,
        instant=instant,
        flows=data.get("flows"),
        families=data.get("families"),
        transports=data.get("transports"),
        not_families=data.get("not_families", []),
        **texts,
    )
