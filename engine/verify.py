"""Verifies an archive of results: its files are unchanged, and its runs give the same bytes again."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from engine import images
from engine.errors import EngineError
from engine.run import execute, run_folder
from images.cache import file_digest
from scenarios import scenario_files
from scenarios.resolve import Cell, expand, resolve

# folders of an archive, which engine.archive writes
RUNS = "runs"
STUDIES = Path("workflows/studies")
_METADATA = "ro-crate-metadata.json"
_OF_THE_ENGINE = (
    "backend",
    "origin_ns",
    "implementations",
    "provenance",
    "agent",
    "hosts",
    "lead",
    "sizes",
)  # what the engine adds to a resolved scenario


@dataclass(frozen=True)
class Outcome:
    """One run carried out again: which of its files differ, and which parts of its provenance."""

    run: str
    files: int
    different: list[str]
    made_with_another: list[str]
    kind: str = "captures and traces"

    def __str__(self) -> str:
        """Describe it in a line."""
        made = f" (made with another {', '.join(self.made_with_another)})" if self.made_with_another else ""
        if not self.different:
            return f"{self.run}: identical, {self.files} {self.kind}{made}"
        return f"{self.run}: DIFFERS in {', '.join(self.different)}{made}"


def verify(crate: Path, chosen: Sequence[str] = (), everything: bool = False) -> Iterator[Outcome]:
    """Check the crate's files, then repeat runs: `chosen` ones, all, or the first of each experiment.

    Raises:
        EngineError: the crate is damaged, lacks a chosen run, or has a scenario that means something else today.
    """
    with _folder(crate) as folder, tempfile.TemporaryDirectory(prefix="testbed-verify-") as place:
        _check_files(crate, folder)
        _check_images(crate)
        runs = {path.parent.relative_to(folder / RUNS).as_posix(): path.parent for path in _run_files(folder)}
        for name in _choose(crate, list(runs), chosen, everything):
            yield _repeat(folder, runs[name], name, Path(place))


@contextmanager
def _folder(crate: Path) -> Iterator[Path]:
    if crate.is_dir():
        yield crate
        return
    with tempfile.TemporaryDirectory(prefix="testbed-crate-") as folder:
        try:
            shutil.unpack_archive(crate, folder, "zip")
        except (shutil.ReadError, OSError) as error:
            raise EngineError(f"{crate}: neither a folder nor a zip file ({error})") from None
        yield Path(folder)


def _check_files(crate: Path, folder: Path) -> None:
    """Compare every file with its digest in the metadata, if it has one."""
    try:
        entities = json.loads((folder / _METADATA).read_text())["@graph"]
        digests = {entity["@id"]: entity["sha256"] for entity in entities if "sha256" in entity}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EngineError(f"{crate}: {_METADATA} is missing or damaged ({error})") from None
    for name, digest in digests.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise EngineError(f"{crate}: {name!r} lies outside of the archive")
        if not path.is_file():
            raise EngineError(f"{crate}: {name} is missing")
        if file_digest(path) != digest:
            raise EngineError(f"{crate}: {name} has changed since it was archived")


def _check_images(crate: Path) -> None:
    try:
        images.load()
    except EngineError as error:
        packed = f"those that {crate} was made with, if they were packed: `python -m images unpack FILE`"
        raise EngineError(f"{error}; or take {packed}") from None


def _run_files(folder: Path) -> list[Path]:
    return sorted((folder / RUNS).glob("*/*/*/seed-*/run.json"))


def _choose(crate: Path, runs: list[str], chosen: Sequence[str], everything: bool) -> list[str]:
    unknown = [name for name in chosen if name not in runs]
    if unknown or not runs:
        few = ", ".join(runs[:3]) or "none"
        raise EngineError(f"{crate}: no run {', '.join(unknown)}; it has {len(runs)}, such as {few}")
    if everything:
        return runs
    first = {name.split("/")[1]: name for name in reversed(runs)}
    return list(chosen) or sorted(first.values())


def _repeat(folder: Path, archived: Path, name: str, place: Path) -> Outcome:
    try:
        run = json.loads((archived / "run.json").read_text())
        summary = json.loads((archived / "summary.json").read_text())
        before: dict[str, str] = summary["digests"]
        seed, size, cell_name = run["seed"], run["size"], run["cell"]
    except (OSError, ValueError, KeyError) as error:
        raise EngineError(f"{name}: run.json or summary.json lacks what a run is repeated from ({error})") from None
    if run.get("backend") != "virtual":
        raise EngineError(
            f"{name}: carried out on the backend {run.get('backend')}; only virtual runs repeat to the byte"
        )
    study, experiment, *_ = name.split("/")
    cell = _cell(folder / STUDIES / study, experiment, cell_name, size)
    today = resolve(cell, seed)
    changed = [key for key in today if today[key] != run.get(key)]
    changed += [key for key in run if key not in today and key not in _OF_THE_ENGINE]
    if changed:
        raise EngineError(f"{name}: its scenario means something else in this version: {', '.join(changed)}")
    after: dict[str, str] = execute(cell, seed, place)["digests"]
    made = json.loads((run_folder(place, cell, seed) / "run.json").read_text())["provenance"]
    return Outcome(
        run=name,
        files=len(before),
        different=sorted(file for file in {*before, *after} if before.get(file) != after.get(file)),
        made_with_another=differences(run["provenance"], made),
    )


def _cell(study: Path, experiment: str, name: str, size: str) -> Cell:
    for file in scenario_files(study):
        if yaml.safe_load(file.read_text()).get("experiment") == experiment:
            for cell in expand(file, size):
                if cell.name == name:
                    return cell
    raise EngineError(f"{study}: no scenario of {experiment} with a cell {name!r}")


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Names of the parts of a provenance that are not the same."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
