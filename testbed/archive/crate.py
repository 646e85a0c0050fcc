"""An archive as its reader finds it: unpacked within bounds, each file compared with its sum."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from common import archives
from common.archives import ArchiveError
from engine.errors import EngineError
from images.cache import tree_digest
from testbed.crates import METADATA, SIGNATURE

RUNS = Path("runs")
EXPERIMENTS = Path("experiments")
STUDIES = Path("workflows/studies")
KUNIT = Path("kunit.json")

_SUM = re.compile(r"[0-9a-f]{64}")
_FEW = 5


@dataclass(frozen=True)
class Crate:
    """An unpacked archive: `name` as the user gave it, `sums` by the path of each file."""

    name: Path
    folder: Path
    sums: dict[str, str]

    def runs(self) -> list[str]:
        """List the archived runs, STUDY/EXPERIMENT/CELL/seed-N."""
        files = (self.folder / RUNS).glob("*/*/*/seed-*/run.json")
        return sorted(file.parent.relative_to(self.folder / RUNS).as_posix() for file in files)

    def read(self, file: Path) -> dict[str, Any]:
        """Read a JSON object of the archive.

        Raises:
            EngineError: it is missing, damaged or exceeds the bounds of `common.archives`.
        """
        try:
            data = archives.read_json(self.folder / file, str(file))
        except ArchiveError as error:
            raise EngineError(f"{self.name}: {error}") from None
        if not isinstance(data, dict):
            raise EngineError(f"{self.name}: {file}: found {type(data).__name__}; allowed: an object")
        return data


@contextmanager
def opened(name: Path) -> Iterator[Crate]:
    """Copy or unpack an archive to a folder of its own, and compare every file with its sum.

    Raises:
        EngineError: it is damaged, exceeds a bound, has a file without a sum or a sum without a file, or a file has
            changed.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-crate-") as place:
        folder = Path(place)
        try:
            (archives.copy_folder if name.is_dir() else archives.unpack)(name, folder)
        except ArchiveError as error:
            raise EngineError(str(error)) from None
        crate = Crate(name, folder, {})
        crate.sums.update(_sums(crate))
        _compare(crate)
        yield crate


def _sums(crate: Crate) -> Iterator[tuple[str, str]]:
    """Yield the path and the sum of each file that the metadata list."""
    graph = crate.read(Path(METADATA)).get("@graph")
    seen = set()
    for entity in graph if isinstance(graph, list) else []:
        if not isinstance(entity, dict) or not isinstance(entity.get("@id"), str):
            raise EngineError(f"{crate.name}: {METADATA}: found an entry without @id; allowed: objects with one")
        if "sha256" not in entity:
            continue  # a file without a sum is found among the files
        name, digest = unquote(entity["@id"]), entity["sha256"]
        if not (isinstance(digest, str) and _SUM.fullmatch(digest)):
            raise EngineError(f"{crate.name}: {METADATA}: {name}: found no SHA-256; allowed: 64 hexadecimal digits")
        if name in seen:
            raise EngineError(f"{crate.name}: {METADATA}: {name} has two sums; allowed: one")
        seen.add(name)
        yield name, digest


def _compare(crate: Crate) -> None:
    there = tree_digest(crate.folder)
    for name in (METADATA, SIGNATURE):  # the first has the sums of all other files, the second signs the first
        there.pop(name, None)
    _refuse(crate, "found files without a sum", there.keys() - crate.sums.keys())
    _refuse(crate, "found sums of files that are missing", crate.sums.keys() - there.keys())
    _refuse(crate, "changed since they were archived", {name for name in there if there[name] != crate.sums[name]})


def _refuse(crate: Crate, what: str, names: set[str]) -> None:
    if names:
        raise EngineError(f"{crate.name}: {what}: {listed(names)}")


def listed(names: set[str] | list[str]) -> str:
    """Name the first few of many."""
    some = sorted(names)
    return ", ".join(some[:_FEW]) + (f" and {len(some) - _FEW} more" if len(some) > _FEW else "")
