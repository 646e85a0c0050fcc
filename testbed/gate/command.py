"""Carries out `testbed gate`: runs an implementation in the scenarios that its budgets name, and judges it."""

import argparse
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from analysis.judge.verdict import UNKNOWN
from analysis.watchdog import LIMIT_S, ended_after
from common.arguments import path
from engine.errors import EngineError
from testbed import arguments, own_study
from testbed.gate import budgets, judge, reports
from testbed.gate.budgets import Budgets
from testbed.gate.judge import STUDY, JudgedBudgets
from testbed.shared.panel import filled, find, points_of
from testbed.shared.rulebooks import FOLDER

DEFAULT: Final = FOLDER / STUDY / "budgets.yaml"
DEFAULT_UDP: Final = DEFAULT.with_name("budgets-udp.yaml")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "budgets", type=path, nargs="?", help="file of budgets; default: the project's own for the client's transport"
    )
    parser.add_argument("--client", metavar="NAME", help="the implementation under test; default: that of the budgets")
    parser.add_argument("--history", type=path, metavar="FILE", help="append all measured numbers as a line of JSON")
    arguments.add_into(parser, "results/gate")


def main(options: argparse.Namespace) -> int:
    """Return 0 when all budgets hold, 1 when one does not, 2 when one is open or cannot be tested.

    Everything is kept in the folder --into/<the client>; runs that nothing has changed for are not repeated.

    Raises:
        BadInputError, EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    history = options.history
    file = options.budgets or default_for(arguments.only(options.client, options.elsewhere))
    wanted = budgets.load(file)
    named = wanted.client if options.client is None else options.client
    client = arguments.only(named, options.elsewhere, f"{file} names no client, and ")
    folder, texts = prepare(wanted, client, options.into, file.parent)
    if history:
        _check_writable(history)
    judgement = carry_out(wanted, client, folder, texts, options.again)
    if judgement is None:
        return UNKNOWN
    if history:
        reports.remember(judgement, history)
    return judgement.status


def default_for(client: str) -> Path:
    """Return the budgets of a client that has no file of its own.

    Raises:
        EngineError, ScenarioError: there is no such client, or it cannot send.
    """
    return DEFAULT_UDP if arguments.senders([client])[client]["transport"] == "udp" else DEFAULT


def prepare(wanted: Budgets, client: str, into: Path, beside: Path) -> tuple[Path, dict[str, str]]:
    """Return the folder `into`/`client` and the scenarios that budgets ask for, to be written there, by their names.

    The budgets name scenarios of the panel, or files by their paths from the folder `beside`.

    Raises:
        EngineError, ScenarioError: something is wrong with them. The message names line and field.
    """
    others = wanted.others()
    files = {budget.scenario: find(budget.scenario, beside, f"{budget.at}scenario") for budget in wanted.budgets}
    if len({file.name for file in files.values()}) < len(files):
        at = wanted.budgets[0].at
        raise EngineError(f"{at}scenario: found a name twice; allowed: {', '.join(files)}")
    arguments.senders([client, *itertools.chain.from_iterable(others.values())])
    chosen: dict[str, list[str]] = {}
    for budget in wanted.budgets:
        if budget.no_worse_than == client:
            raise EngineError(f"{budget.at}no_worse_than: found {client!r}, the client itself; allowed: another one")
        chosen.setdefault(budget.scenario, []).extend(points_of(files[budget.scenario], budget))
    folder = own_study.folder_of(into, client)
    return folder, {
        file.name: filled(file, [client, *others[scenario]], wanted.seeds, chosen[scenario], may_fail="client")
        for scenario, file in files.items()
    }


def carry_out(wanted: Budgets, client: str, folder: Path, texts: Mapping[str, str], again: str) -> JudgedBudgets | None:
    """Run a client in what `prepare` returned, and judge it; None if the pipeline failed.

    Its page names the command that does it `again`.
    """
    with own_study.alone(folder):
        own_study.write(folder, STUDY, texts)
        if own_study.carry_out(folder):
            return None
        with ended_after(LIMIT_S, "testbed gate: the judgement"):
            judgement = judge.judge(wanted, folder, client)
            reports.write(judgement, folder, again)
    return judgement


def _check_writable(history: Path) -> None:
    try:
        history.parent.mkdir(parents=True, exist_ok=True)
        history.open("a").close()
    except OSError as error:
        raise EngineError(f"--history: {history} cannot be written: {error.strerror}") from None
