"""Carries out `testbed rewind`: a run again up to an instant, and other futures from there."""

import argparse
import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.capture import packed
from analysis.errors import BadInputError
from analysis.files import write_text
from analysis.judge.statement import Statement
from analysis.report.formats import texts_with_unit
from analysis.run_json import NS
from analysis.series import NotMeasuredError
from analysis.watchdog import LIMIT_S, ended_after
from common.arguments import path
from common.counts import plural
from engine.errors import EngineError
from scenarios import schema, tables
from scenarios.checks import problems_of_events
from scenarios.errors import ScenarioError, choices
from scenarios.units import UnitError, parse
from testbed import arguments, own_study
from testbed.pool import as_they_end, pool
from testbed.rewind import bisection, futures, history, page
from testbed.rewind.futures import PAST, Events, Future, FutureResult
from testbed.rewind.history import Past
from testbed.rewind.page import Branch, PageData
from testbed.shared.units import unit
from testbed.shared.vocabulary import Number, of_option

FORMAT: Final = 1
FILE: Final = "rewind.json"
NONE: Final = "none"
DEFAULT_FUTURES: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("run", type=path, help="a run folder (seed-N)")
    instant = parser.add_mutually_exclusive_group(required=True)
    instant.add_argument("--at", metavar="TIME", help="the instant at which futures begin, such as 37.2s")
    until = "a comparison that should hold, in the words of budgets: find the instant after which most futures break it"
    instant.add_argument("--when", metavar="EXPRESSION", help=until)
    parser.add_argument(
        "--property", metavar="EXPRESSION", help="with --at: a comparison that should hold in each future"
    )
    drawn = "futures with other draws from the instant on; 0: one future with the same draws; default: %(default)s"
    parser.add_argument("--futures", type=int, default=DEFAULT_FUTURES, metavar="N", help=drawn)
    changed = f"replaces the events from the instant on: `{NONE}`, or a YAML file with a list `events`"
    parser.add_argument("--events", metavar="FILE", help=changed)
    parser.add_argument(
        "--capture", action="append", default=[], metavar="TAP", help="capture this tap, too; may be repeated"
    )
    arguments.add_into(parser, "results/rewind", "finished futures are kept")


@dataclass(frozen=True)
class RewindOptions:
    """What was asked for: other events from an instant on, how many futures, and what is judged in them.

    `option` of the command line gave the property.
    """

    past: Past
    folder: Path
    count: int
    events: Events | None
    called: str
    captures: tuple[str, ...]
    judged: Statement | None
    option: str
    processes: ProcessPoolExecutor

    def futures(self, at_ns: int) -> list[FutureResult]:
        """Carry out the futures from an instant on."""
        numbers = range(1, self.count + 1) if self.count else [0]
        jobs = {number: self._future(at_ns, number) for number in numbers}
        done = dict(as_they_end(futures.carry_out, jobs, self.processes))
        return [done[number] for number in numbers]

    def again(self) -> FutureResult:
        """Carry out the run itself again; refuse one with other bytes."""
        try:
            end = self._future(self.past.run["duration_ns"], 0)
            [(_, outcome)] = as_they_end(futures.carry_out, {0: end}, self.processes)
        except BadInputError as error:
            raise BadInputError(f"{self.option}: {error}") from None
        futures.check_past(outcome, self.past)
        return outcome

    def fails(self, outcome: FutureResult) -> bool | None:
        """Whether a future breaks the property; None where it does not tell."""
        try:
            return self._breaks(outcome)
        except NotMeasuredError:
            return None

    def why_unknown(self, outcome: FutureResult) -> str | None:
        """Say why a future does not tell whether it breaks the property; None where it tells."""
        try:
            self._breaks(outcome)
        except NotMeasuredError as error:
            return f"seed {self.past.run['seed']}: {error}"
        return None

    def _breaks(self, outcome: FutureResult) -> bool:
        measured, bound = self.numbers(outcome)
        assert self.judged is not None  # noqa: S101 (only asked then)
        if measured is None or bound is None:
            raise NotMeasuredError(next(iter(outcome.unknown.values())))
        return not self.judged.keeps(self.judged.bounds[0], measured, bound)

    def numbers(self, outcome: FutureResult) -> tuple[Number, Number]:
        """Return what a future gave, and its bound."""
        assert self.judged is not None  # noqa: S101 (only asked then)
        return outcome.numbers[self.judged.measure], outcome.numbers[self.judged.bounds[0].text]

    def _future(self, at_ns: int, redraw: int) -> Future:
        is_past = at_ns >= self.past.run["duration_ns"]
        changed = "" if self.events is None else f",events={self.called}"
        named = PAST if is_past else f"at={at_ns / NS:.9g}s,redraw={redraw}{changed}"
        events = None if is_past or self.events is None else [event for event in self.events if event["at_ns"] >= at_ns]
        expressions = self.judged.expressions if self.judged else ()
        return Future(self.past, at_ns, redraw, events, named, self.captures, self.folder, expressions)


def main(options: argparse.Namespace) -> int:
    """Print what became of each future; return 0, or 1 when the property broke in one of them.

    Where none broke it and one does not tell, return 2.

    With --when: print the instant; return 0.

    Raises:
        BadInputError, EngineError, ScenarioError: something is wrong with the order, or a run failed.
    """
    past = history.read(options.run)
    end_ns = past.run["duration_ns"]
    at_ns = None if options.at is None else _instant(options.at, end_ns)
    with pool() as processes:
        return _carried_out(_order(options, past, at_ns or 0, processes), end_ns, at_ns, options.again)


def _carried_out(order: RewindOptions, end_ns: int, at_ns: int | None, command: str) -> int:
    own = order.again()
    print(f"{order.past.folder}: carried out again, with the same bytes", flush=True)
    if at_ns is None:
        return _when(order, own, end_ns, command)
    outcomes = order.futures(at_ns)
    for outcome in outcomes:
        print(_line(order, outcome))
    _write(order, {"at_s": at_ns / NS, "futures": [_data(order, outcome) for outcome in outcomes]})
    _show(order, own, outcomes, at_ns, command)
    failed = [order.fails(outcome) for outcome in outcomes] if order.judged else []
    return 1 if True in failed else 2 if None in failed else 0


def _when(order: RewindOptions, own: FutureResult, end_ns: int, command: str) -> int:
    """Find the point of no return."""
    if why := order.why_unknown(own):
        raise EngineError(f"--when: {order.past.folder} does not tell: {why}; allowed: a property that the run breaks")
    if not order.fails(own):
        raise EngineError(f"--when: the property holds in {order.past.folder}; allowed: a property that the run breaks")
    share_at: dict[int, float] = {}

    def share_failed(at_ns: int) -> float:
        outcomes = order.futures(at_ns)
        failed = [fails for outcome in outcomes if (fails := order.fails(outcome)) is not None]
        if not failed:
            why = order.why_unknown(outcomes[0])
            raise EngineError(f"--when: no future from {at_ns / NS:.3f} s tells: {why}; allowed: what futures tell")
        share_at[at_ns] = sum(failed) / len(failed)
        left_out = f"; {len(outcomes) - len(failed)} more do not tell" if len(failed) < len(outcomes) else ""
        print(
            f"from {at_ns / NS:.3f} s: {100 * share_at[at_ns]:.0f} % of {len(failed)} futures fail{left_out}",
            flush=True,
        )
        return share_at[at_ns]

    instant = bisection.search(end_ns, share_failed)
    if instant.open_ns is None:
        print("Half of the futures or more fail from the beginning: no instant of the run decides.")
    else:
        print(f"The point of no return lies between {instant.open_ns / NS:.3f} s and {instant.lost_ns / NS:.3f} s.")
    shares = [{"at_s": at_ns / NS, "failed": share} for at_ns, share in sorted(share_at.items())]
    open_s = None if instant.open_ns is None else instant.open_ns / NS
    _write(order, {"open_s": open_s, "lost_s": instant.lost_ns / NS, "shares": shares})
    from_ns = instant.open_ns or 0
    _show(order, own, order.futures(from_ns), from_ns, command, instant.lost_ns / NS, sorted(share_at.items()))
    return 0


def _show(
    order: RewindOptions,
    own: FutureResult,
    outcomes: list[FutureResult],
    at_ns: int,
    command: str,
    lost_s: float | None = None,
    shares_at: Sequence[tuple[int, float]] = (),
) -> None:
    """Write the page, and what was captured late; print where the page is."""
    branches = [
        Branch(
            f"future {number}",
            outcome.folder,
            order.fails(outcome) if order.judged else None,
            "" if order.judged is None else _shown(order, order.judged, outcome),
            outcome.same_pkts,
            list(_late(order, outcome, at_ns)),
        )
        for number, outcome in enumerate(outcomes, 1)
    ]
    drawn = "its paths and its kernel draw other numbers" if order.count else "it draws the same numbers"
    events = {None: "the events are the same", NONE: "no further event happens"}
    holds = order.judged.id if order.judged else None
    otherwise = f"{drawn}, and {events.get(order.called or None, 'other events happen')}"
    shares = [(instant_ns / NS, share) for instant_ns, share in shares_at]
    shown = PageData(
        own.folder, order.past.run["cell"], at_ns / NS, lost_s, holds, otherwise, branches, shares, command
    )
    with ended_after(LIMIT_S, "testbed rewind: the page"):
        print(f"Page: {page.write(order.folder, shown)}")


def _late(order: RewindOptions, outcome: FutureResult, at_ns: int) -> Iterator[Path]:
    """Write and yield, of the taps that were asked for, the captures from the instant on."""
    origin_ns = json.loads((outcome.folder / "run.json").read_text())["origin_ns"]
    for capture in futures.captures_at(outcome.folder, order.captures):
        late = order.folder / "late" / outcome.folder.parent.name / f"{packed.place(capture)}{packed.SUFFIX}"
        futures.write_late(capture, origin_ns + at_ns, late)
        yield late


def _shown(order: RewindOptions, judged: Statement, outcome: FutureResult) -> str:
    """Give what was measured, with its unit, or why that is not known, for a page."""
    if why := order.why_unknown(outcome):
        return why
    return texts_with_unit([order.numbers(outcome)[0] or 0.0], unit(judged.measure))[0]


def _written(number: Number) -> str:
    return "not known" if number is None else f"{number:.6g}"


def _order(options: argparse.Namespace, past: Past, from_ns: int, processes: ProcessPoolExecutor) -> RewindOptions:
    if options.when is not None and options.property is not None:
        raise EngineError("--property: found with --when, which names the property; allowed: with --at")
    if options.futures < 0:
        raise EngineError(f"--futures: found {options.futures}; allowed: a whole number, at least 0")
    option, wanted = ("--when", options.when) if options.when is not None else ("--property", options.property)
    taps = list(past.run["network"]["taps"])
    for tap in options.capture:
        if tap not in taps:
            raise EngineError(f"--capture: found {tap!r}; allowed: {choices(taps, tap)}")
    events, called = _events(options.events, past, from_ns)
    name = f"{past.run['experiment']}-{past.run['cell']}-seed-{past.run['seed']}"
    return RewindOptions(
        past,
        own_study.folder_of(options.into, name),
        options.futures,
        events,
        called,
        tuple(options.capture),
        None if wanted is None else of_option(wanted, option),
        option,
        processes,
    )


def _instant(text: str, end_ns: int) -> int:
    try:
        at_ns = parse(text, "time")
    except UnitError as error:
        raise EngineError(f"--at: {error}; allowed: a time such as 37.2s") from None
    if at_ns >= end_ns:
        raise EngineError(f"--at: found {text!r}, not before the end; allowed: an instant before {end_ns / NS:g}s")
    return at_ns


def _events(file: str | None, past: Past, from_ns: int) -> tuple[Events | None, str]:
    """Return the events that a file has, in base units and none before an instant, and a name for them.

    Raises:
        ScenarioError: the file is wrong; the message names line and field.
    """
    if file is None:
        return None, ""
    if file == NONE:
        return [], NONE
    document = tables.read(Path(file))
    whole = schema.load_schema("scenario")
    rules = {"type": "object", "additionalProperties": False, "required": ["events"]}
    rules["properties"] = {"events": whole["properties"]["events"]}
    if wrong := schema.problems(document, rules):
        raise ScenarioError(wrong)
    events: Events = schema.in_base_units(document.data, rules)["events"]
    wrong = problems_of_events(document, past.run)
    wrong += [
        document.problem(("events", index, "at"), f"found {entry['at']!r}, before --at", f"{from_ns / NS:g}s or later")
        for index, (entry, event) in enumerate(zip(document.data["events"], events, strict=True))
        if event["at_ns"] < from_ns
    ]
    if wrong:
        raise ScenarioError(wrong)
    return events, hashlib.sha256(json.dumps(events).encode()).hexdigest()[:8]


def _line(order: RewindOptions, outcome: FutureResult) -> str:
    says = f"{outcome.folder}: {plural(outcome.same_pkts, 'packet')} before the instant as in the run"
    if order.judged is None:
        return says
    if why := order.why_unknown(outcome):
        return f"{says}; whether it keeps {order.judged.id} is unknown: {why}"
    measured, bound = order.numbers(outcome)
    verdict = "breaks" if order.fails(outcome) else "keeps"
    return f"{says}; it {verdict} {order.judged.id} ({measured} {order.judged.bounds[0].sign} {bound})"


def _data(order: RewindOptions, outcome: FutureResult) -> dict[str, object]:
    numbers = {name: None if value in (None, float("inf")) else value for name, value in outcome.numbers.items()}
    failed = order.fails(outcome) if order.judged else None
    return {
        "folder": str(outcome.folder),
        "same_pkts": outcome.same_pkts,
        "numbers": numbers,
        "failed": failed,
        "unknown": order.why_unknown(outcome) if order.judged else None,
    }


def _write(order: RewindOptions, outcome: dict[str, object]) -> None:
    document = {"format": FORMAT, "run": str(order.past.folder), "futures_planned": order.count, **outcome}
    write_text(order.folder / FILE, json.dumps(document, indent=1, allow_nan=False) + "\n")
