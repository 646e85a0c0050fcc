"""Finds a run that has been carried out already, under whatever name, and gives it one more.

The address of a run is a digest of all that decides the bytes of its folder: run.json with its provenance, but for what
the run is called, and the code of its tables. A store holds no run, only links to folders, named ADDRESS.STATE. The
folders at an address share their files by hard links, and each has a run.json of its own, and packets of its own to
keep or to remove; a run is gone with the last of them. A link counts as long as the sums in its folder are those of
the moment when it got its address.
"""

import json
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from common import files, sums
from engine import handover
from engine.finished import completed, damage, made_of
from engine.run import folder_of
from images.cache import digest_of
from scenarios.run_files import FAILED, OF_RUN

PLACE: Final = "TESTBED_STORE"
"""Environment variable: the folder of the store that runs are taken from and added to."""
_NAMES: Final = ("study", "experiment", "cell", "cell_values", "size", "title")
_OF_MAKER: Final = ("provenance", "origin_ns")
_DIGITS_OF_STATE: Final = 16


class Store:
    """A store, as runs see it whose tables come from code with the digest `tables`."""

    def __init__(self, folder: Path, tables: str) -> None:
        self._folder = folder
        self._tables = tables

    def add(self, run: dict[str, Any], into: Path) -> None:
        """Give a finished run, below the folder `into`, its address; remove links in its part that no longer count."""
        address, folder = self._address(completed(run)), folder_of(into, run)
        part = self._part(address)
        part.mkdir(parents=True, exist_ok=True)
        place = os.path.relpath(folder.resolve(), part.resolve())
        own = part / f"{address}.{_state(folder, place)}"
        if own.is_symlink():  # as for most runs of a repeated command
            return
        for link in filter(Path.is_symlink, part.iterdir()):
            if _target(link) is None:
                link.unlink(missing_ok=True)
        with suppress(FileExistsError):
            own.symlink_to(place)

    def give(self, run: dict[str, Any], into: Path, needed: Collection[str]) -> Path | None:
        """Let a run have its folder below `into` from one at its address; return that, or None if none will do.

        `needed` are files that not every folder has, by their paths there: packets.
        """
        run = completed(run)
        address, folder = self._address(run), folder_of(into, run)
        partial = folder.with_name(f".{folder.name}.given.0.partial")  # of no process: the next to come removes it
        for link in sorted(filter(Path.is_symlink, self._part(address).glob(f"{address}.*"))):
            handover.remove(partial)
            found = _target(link)
            if found and {*needed} <= sums.known(found).keys() and _shares(partial, found, run):
                _replace(folder, partial)
                return found
        handover.remove(partial)
        return None

    def _address(self, run: dict[str, Any]) -> str:
        return digest_of([self._tables, {name: value for name, value in made_of(run).items() if name not in _NAMES}])

    def _part(self, address: str) -> Path:
        return self._folder / address[:2]


def _target(link: Path) -> Path | None:
    """Return the folder to which a link of a store leads, if it still counts."""
    try:
        place = link.readlink()
    except FileNotFoundError:  # another process has just removed it
        return None
    folder = Path(os.path.normpath(link.parent / place))
    return folder if _state(folder, str(place)) == link.suffix[1:] else None


def _state(folder: Path, place: str) -> str:
    """Return what changes with the files in a folder, whose place is in the link; nothing if it has no sums."""
    try:
        return digest_of([place, sums.digest(folder / sums.FILE)])[:_DIGITS_OF_STATE]
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _shares(partial: Path, found: Path, run: dict[str, Any]) -> bool:
    """Let a folder share the files of a run that is there, with a run.json of its own; tell whether none is damaged."""
    try:
        shutil.copytree(found, partial, copy_function=os.link)
        made = json.loads(sums.checked(partial, "run.json").read_text())
        for name in OF_RUN:  # to write to one would change the other's
            (partial / name).unlink()
        shutil.copy(found / "summary.json", partial)  # its age tells that the code of the tables is that of now
        (partial / "run.json").write_text(json.dumps(run | {name: made[name] for name in _OF_MAKER}, indent=1))
        sums.write(partial, sums.read(partial) | {"run.json": sums.digest(partial / "run.json")})
    except (OSError, ValueError):  # it is being replaced or damaged, or on another file system
        return False
    return not damage(partial)


def _replace(folder: Path, partial: Path) -> None:
    """Give a folder its name, instead of what has it, and of what a failure left there."""
    aside = folder.with_name(f".{folder.name}.old.0.partial")
    handover.remove(aside)
    with suppress(FileNotFoundError):
        folder.rename(aside)
    files.give_name(partial, folder)
    handover.remove(aside)
    handover.remove(folder.with_name(f"{FAILED}{folder.name}"))
