"""What the arguments of a command may name."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from common.arguments import path
from engine.errors import EngineError
from images.cache import Store, default_root
from images.errors import ImageError
from images.given import check_started, folder_of
from scenarios import homes, implementations
from scenarios.errors import choices
from scenarios.implementations import Implementation
from scenarios.resolve import Cell, expand
from scenarios.schema import load_schema


def add_into(parser: argparse.ArgumentParser, default: str, kept: str = "finished runs are kept") -> None:
    """Add where a command leaves its results; `kept` says what remains of them if it is interrupted."""
    parser.add_argument(
        "--into", type=path, metavar="FOLDER", default=Path(default), help="where results go; default: %(default)s"
    )
    parser.set_defaults(kept=kept)


def elsewhere(folders: Sequence[Path]) -> list[str]:
    """Let implementations lie in these folders, commits and archives (images/given.py); return their names.

    Raises:
        EngineError: one has no implementation, or the name of another; a commit or archive is not what it should be;
            a program of one does not start.
        ScenarioError: the description of one is wrong.
    """
    store = Store(default_root(), partial(print, file=sys.stderr))
    try:
        unpacked = {folder: folder_of(folder, store) for folder in folders}
        names = [homes.add(home) for home in unpacked.values()]
        for folder, home in unpacked.items():
            check_started(str(folder), home, store)
    except (ImageError, ValueError) as error:
        raise EngineError(f"--implementation: {error}") from None
    for name in names:
        if implementations.folders()[name] != homes.elsewhere()[name]:
            raise EngineError(f"--implementation: found {name!r}, which the testbed has; allowed: a name of its own")
    implementations.refuse_wrong(names)
    return names


def with_elsewhere(options: argparse.Namespace) -> list[str]:
    """Return the implementations that a command names, then those of --implementation."""
    named: list[str] = options.implementation
    names = [*named, *(name for name in options.elsewhere if name not in named)]
    if not names:
        raise EngineError("found no implementation; allowed: names, or --implementation FOLDER")
    return names


def only(name: str | None, elsewhere: Sequence[str], says: str = "") -> str:
    """Return the one implementation of a command: its name, or that of --implementation; `says` begins the message.

    Raises:
        EngineError: there is none, or several are elsewhere.
    """
    if name is None and len(elsewhere) != 1:
        raise EngineError(f"{says}found no name; allowed: one, or one --implementation FOLDER")
    return elsewhere[0] if name is None else name


def known(names: Sequence[str]) -> dict[str, Implementation]:
    """Return all implementations, these among them.

    Raises:
        EngineError: one of these does not exist.
        ScenarioError: its description is wrong.
    """
    everything = implementations.known()
    for name in names:
        if name not in everything:
            implementations.refuse_wrong([name])
            raise EngineError(f"unknown implementation {name!r}; allowed: {choices(sorted(everything), name)}")
    return everything


def senders(names: Sequence[str]) -> dict[str, Implementation]:
    """Return all implementations, these among them, each of which can send.

    Raises:
        EngineError: one of these does not exist or cannot send.
    """
    everything = known(names)
    for name in names:
        if "sender" not in everything[name]["roles"]:
            raise EngineError(f"{name} cannot send; allowed: an implementation with role sender")
    return everything


def check_seeds(seeds: int) -> None:
    """Refuse a number of runs that no scenario may have. Raises EngineError."""
    most = most_seeds()
    if not 1 <= seeds <= most:
        raise EngineError(f"--seeds: found {seeds}; allowed: a whole number, at least 1, at most {most}")


def check_seed(seed: object) -> None:
    """Refuse what is no seed of a run. Raises EngineError."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise EngineError(f"--seed: found {seed!r}; allowed: a whole number, at least 0")


def most_seeds() -> int:
    """Return how many runs of a cell a scenario may have."""
    most: int = load_schema("scenario")["properties"]["seeds"]["properties"]["complete"]["maximum"]
    return most


def cells(scenario: Path, size: str, names: list[str]) -> list[Cell]:
    """Return the cells of these names; all, if there are none.

    Raises:
        EngineError: the scenario has no such cell.
    """
    known = {cell.name: cell for cell in expand(scenario, size)}
    for name in names:
        if name not in known:
            raise EngineError(f"{scenario}: no cell {name!r}; it has: {', '.join(known)}")
    return [known[name] for name in names or known]
