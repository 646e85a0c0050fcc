"""Carries out `testbed hunt`: searches scenarios in which an implementation breaks a property, and shrinks them."""

import argparse
import math
import sys
import time
from typing import Final

from analysis.watchdog import LIMIT_S, ended_after
from common.arguments import path
from common.counts import plural
from engine.errors import EngineError
from scenarios.errors import choices
from scenarios.implementations import Implementation
from scenarios.units import UnitError, parse
from testbed import arguments, own_study
from testbed.hunt import arena, corpus, evidence, measure, pages, read_properties, search
from testbed.hunt.evidence import FindingEvidence
from testbed.hunt.hunt import Hunt, expressions
from testbed.hunt.read_properties import Property
from testbed.shared.panel import STANDARD

SECOND: Final = "tcp-reno"
"""What shows for `STANDARD` whether the path is at fault; for all others, that does."""
RUNS: Final = "runs"
LEAST_RUNS: Final = 2
_TELL_EVERY_S: Final = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "implementation", nargs="?", help="the implementation under test; default: that of --implementation"
    )
    own = "a comparison that should hold, in the words of budgets; replaces the built-in properties"
    parser.add_argument("--property", metavar="EXPRESSION", help=own)
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="check only this built-in property; may be repeated"
    )
    parser.add_argument(
        "--arena",
        type=path,
        metavar="FILE",
        help="a scenario of ranges to search; default: homes, long lives, marks, fast paths, outages, pauses",
    )
    parser.add_argument(
        "--corpus",
        type=path,
        metavar="FILE",
        help="a scenario, with cases, in which the hunt begins; default: none",
    )
    parser.add_argument(
        "--baseline",
        help=f"control that shows whether the path is at fault, or an earlier version; default: {STANDARD}",
    )
    budget = f"length of the hunt: a time (2h, 30min, 90s) or a number of runs (500{RUNS}); default: %(default)s"
    parser.add_argument("--budget", metavar="LENGTH", default="10min", help=budget)
    parser.add_argument("--seed", type=int, metavar="N", default=1, help="seed of the search; default: %(default)s")
    parser.add_argument(
        "--search",
        choices=search.SEARCHES,
        default=search.SEARCHES[0],
        help="how scenarios are chosen; default: %(default)s",
    )
    arguments.add_into(parser, "results/hunt", "measured numbers are kept; the same command continues")


def main(options: argparse.Namespace) -> int:
    """Search; return 0 when no property was broken, 1 when one was.

    Everything is kept in the folder --into/<the implementation>; no run that it knows is carried out again.

    Raises:
        BadInputError, EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    client = arguments.only(options.implementation, options.elsewhere)
    baseline = options.baseline or (SECOND if client == STANDARD else STANDARD)
    known = arguments.senders([client, baseline])
    if client == baseline:
        raise EngineError(f"--baseline: found {baseline!r}, the implementation under test; allowed: another one")
    place = arena.read(options.arena or arena.DEFAULT, client)
    further = [] if options.arena else arena.further(client)
    first = corpus.read(options.corpus, client) if options.corpus else []
    applicable = read_properties.covering(_properties(options, known[client]), place)
    folder = own_study.folder_of(options.into, client)
    others = {name for each in (place, *further, *first) for name in each.implementations}
    made_of = measure.made_of({client, baseline, *others})
    budget = _Budget(options.budget)
    folder.mkdir(parents=True, exist_ok=True)
    runs = measure.MeasuredRuns(folder, expressions(applicable), made_of, has_room=budget.has_room)
    hunt = Hunt(
        place,
        applicable,
        client,
        baseline,
        runs,
        options.seed,
        options.search,
        lambda: budget.left(len(runs.requested)),
        [each.scenario({}, client) for each in first],
        further,
    )
    runs.progress = _Progress(hunt, budget)
    findings: list[FindingEvidence] = []
    for finding in hunt.new_findings():
        findings.append(evidence.keep(finding, len(findings) + 1, hunt.question(finding.prop), folder))
        print(f"found: {client} {finding.prop.otherwise}: {findings[-1].survival}", file=sys.stderr, flush=True)
        pages.write(folder, hunt, findings, options.again)
    with ended_after(LIMIT_S, "testbed hunt: the page"):
        page = pages.write(folder, hunt, findings, options.again)
    print(pages.summary(hunt, findings, page))
    return int(bool(findings))


def _properties(options: argparse.Namespace, about: Implementation) -> list[Property]:
    own, only = options.property, options.only
    if own is not None and only:
        raise EngineError("--only: found beside --property; allowed: one of them")
    if own is not None:
        return [read_properties.of_expression(own)]
    known = {prop.name: prop for prop in read_properties.load_all(about, against_version=bool(options.baseline))}
    for name in only:
        if name not in known:
            raise EngineError(f"--only: found {name!r}; allowed: {choices(list(known), name)}")
    return [prop for name, prop in known.items() if not only or name in only]


class _Budget:
    """How long a hunt goes on: a time, or a number of runs."""

    def __init__(self, text: str) -> None:
        self._started_s = time.monotonic()
        self._runs = int(number) if (number := text.removesuffix(RUNS)) != text and number.strip().isdecimal() else None
        self._limit_s = 0.0 if self._runs is not None else _seconds(text)
        if self._runs is not None and self._runs < LEAST_RUNS:
            raise EngineError(
                f"--budget: found {text!r}; allowed: at least {LEAST_RUNS}{RUNS}, a scenario and one beside it"
            )

    @property
    def _passed_s(self) -> float:
        return time.monotonic() - self._started_s

    def left(self, runs: int) -> float:
        """Return how many more runs the search may begin after some: infinity until a time is over."""
        if self._runs is None:
            return math.inf if self._passed_s < self._limit_s else 0
        return self._runs - runs

    def has_room(self, runs: int) -> bool:
        """Whether there is room for so many runs in all: while a time is not over, for any number."""
        return self._passed_s < self._limit_s if self._runs is None else runs <= self._runs

    def left_s(self, runs: int) -> float:
        """Return the time that is left (s) after some runs, at least one, if more of them are as fast."""
        if self._runs is None:
            return max(0.0, self._limit_s - self._passed_s)
        return max(0.0, self._passed_s / runs * (self._runs - runs))


def _seconds(text: str) -> float:
    try:
        hours = text.removesuffix("h")
        seconds = float(hours) * 3600 if hours != text else parse(text, "time") / 1e9
    except (UnitError, ValueError):
        seconds = math.nan
    if not 0 < seconds < math.inf:
        allowed = f"a time above 0 such as 2h, 30min, 90s, or a number of runs such as 500{RUNS}"
        raise EngineError(f"--budget: found {text!r}; allowed: {allowed}")
    return seconds


class _Progress:
    """Prints a line at times while a batch runs."""

    def __init__(self, hunt: Hunt, budget: _Budget) -> None:
        self._hunt, self._budget = hunt, budget
        self._told_s = time.monotonic()

    def __call__(self, done: int, due: int) -> None:
        now_s = time.monotonic()
        if now_s - self._told_s < _TELL_EVERY_S:
            return
        self._told_s = now_s
        before = len(self._hunt.runs.requested) - (due - done)  # those of this step have been asked for
        print(
            f"{plural(len(self._hunt.trials), 'scenario')}, {plural(len(self._hunt.findings), 'finding')}; "
            f"runs {done}/{due} of this step; "
            f"{_left(self._budget.left_s(before))}",
            file=sys.stderr,
            flush=True,
        )


def _left(seconds: float) -> str:
    """Say how long the hunt still goes on."""
    if seconds == 0:
        return "the budget is used up"
    left = f"{math.ceil(seconds / 60)} min" if seconds > 90 else f"{seconds:.0f} s"
    return f"about {left} left"
