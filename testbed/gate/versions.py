"""Carries out `testbed gate versions`: what a gate measures, over the versions of an implementation."""

import argparse

from analysis.judge.verdict import UNKNOWN
from common.arguments import path
from engine.errors import EngineError
from scenarios import implementations
from scenarios.errors import choices
from testbed import arguments, own_study
from testbed.gate import budgets, pictures
from testbed.gate import command as gate


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", help="an implementation that lists versions")
    parser.add_argument("budgets", type=path, nargs="?", help="file of budgets; default: those of `testbed gate`")
    parser.add_argument("--from", dest="first", metavar="VERSION", help="default: the oldest")
    parser.add_argument("--to", dest="last", metavar="VERSION", help="default: the newest")
    arguments.add_into(parser, "results/versions")


def main(options: argparse.Namespace) -> int:
    """Measure what the budgets ask in each version from the first to the last (default: all), and draw it.

    Everything is kept in the folder --into/<the name>; a second call continues there. Returns 0, or 2 when a version
    could not be judged.

    Raises:
        BadInputError, EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    name, first, last = options.implementation, options.first, options.last
    listed = versions_of(name)
    names = list(listed)
    begin, end = place_of(names, first, "--from", 0), place_of(names, last, "--to", len(names) - 1)
    if begin > end:
        raise EngineError(f"--from: found {first}, which comes after {last}; allowed: an older one, or none")
    chosen = {version: listed[version] for version in names[begin : end + 1]}
    file = options.budgets or gate.default_for(chosen[names[end]])
    wanted, into = budgets.load(file), own_study.folder_of(options.into, name)
    prepared = {client: gate.prepare(wanted, client, into, file.parent) for client in chosen.values()}
    again = options.again
    judgements = {
        version: gate.carry_out(wanted, client, *prepared[client], again) for version, client in chosen.items()
    }
    folders = {version: prepared[client][0] for version, client in chosen.items()}
    print(pictures.write(into, name, judgements, folders, again))
    statuses = [UNKNOWN if judgement is None else judgement.status for judgement in judgements.values()]
    return UNKNOWN if UNKNOWN in statuses else 0


def versions_of(name: str) -> dict[str, str]:
    """Return the versions of an implementation, each with the implementation that it is.

    Raises:
        EngineError: it lists none.
    """
    listed = implementations.versions()
    if name not in listed:
        problem = f"{name} lists no versions" if name in implementations.known() else f"unknown implementation {name!r}"
        raise EngineError(f"{problem}; allowed: {choices(sorted(listed), name)}")
    return listed[name]


def place_of(names: list[str], version: str | None, option: str, default: int) -> int:
    """Return the place of a version that an option names.

    Raises:
        EngineError: there is no such version.
    """
    if version is None:
        return default
    if version not in names:
        raise EngineError(f"{option}: found {version!r}; allowed: {choices(names, version)}")
    return names.index(version)
