"""What the runs of a product's page are and were made from: whether a reader may trust it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis.documents import read_if_made
from analysis.provenance import distinct
from scenarios.run_files import FAILED

_OF_ONE_RUN: Final = "boot_arguments"  # they name the seed; each run.json has its own


@dataclass(frozen=True)
class Made:
    """The runs of a page, the failed ones among them, the versions that implementations told, and the provenance."""

    runs: int
    failed: int
    versions: dict[str, str]
    provenance: dict[str, list[Any]]


def made_of(folders: Sequence[Path]) -> Made:
    """Read what runs left in their folders, seed-N or failed-seed-N; one that failed early left no provenance."""
    versions: dict[str, str] = {}
    for folder in folders:
        summary = read_if_made(folder, "summary.json")
        versions |= (summary.maybe("versions", dict) if summary else None) or {}
    descriptions = [described for folder in folders if (described := read_if_made(folder, "run.json"))]
    provenance = provenance_of(described.maybe("provenance", dict) or {} for described in descriptions)
    failed = sum(folder.name.startswith(FAILED) for folder in folders)
    return Made(len(folders), failed, dict(sorted(versions.items())), provenance)


def made_below(runs: Path) -> Made:
    """Read what all runs below a folder of runs left."""
    return made_of(runs_below(runs))


def runs_below(runs: Path) -> list[Path]:
    """List the folders of runs, also of failed ones; an unfinished one has a hidden name."""
    return sorted(folder for folder in runs.glob("*/*/*/*seed-*") if not folder.name.startswith("."))


def provenance_of(provenances: Iterable[dict[str, Any]]) -> dict[str, list[Any]]:
    """Collect what runs were made from."""
    return {name: values for name, values in distinct(provenances).items() if name != _OF_ONE_RUN}
