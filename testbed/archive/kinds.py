"""The kinds of files that an archive has, and what `verify` compares of each; no archive has any other file."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from analysis.experiment_files import METRICS, VERDICTS
from common import sums
from engine.errors import EngineError
from engine.images import PROJECT
from scenarios.run_files import OF_RUN
from testbed.archive.completeness import FILES
from testbed.archive.crate import EXPERIMENTS, RUNS, Crate, listed

FIGURE: Final = tuple(name for name in FILES if name not in (METRICS, VERDICTS))
REPORT: Final = "pages of the report"
PROJECT_FILES: Final = (
    *("Snakefile", "README.md", "LICENSE", "CITATION.cff", "requirements.lock", "workflows/config.yaml"),
)
PROJECT_FOLDERS: Final = (
    *("LICENSES", "docs", "workflows/rules", "workflows/schemas", "workflows/profiles"),
    *("scenarios/schemas", "analysis/claims/schemas"),
)
_RUN: Final = "runs/<study>/<experiment>/<cell>/seed-<n>"


@dataclass(frozen=True)
class Kind:
    """Files of the paths `places`, in which <word> stands for one name and ** for any below, and what checks them.

    Of `here`, whether they are files of the project, which are compared with this checkout's.
    """

    name: str
    places: tuple[str, ...]
    check: str
    here: bool = False

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = (re.sub(r"<\w+>", "[^/]+", re.escape(place).replace(r"\*\*", ".+")) for place in self.places)
        return re.compile("|".join(parts))

    def has(self, name: str) -> bool:
        """Whether a file is of this kind, by its path in the archive."""
        return bool(self._pattern.fullmatch(name))


KINDS: Final = (
    Kind(
        "descriptions of runs",
        (f"{_RUN}/run.json",),
        "resolved again from the archived scenario; of a repeated run, what it was made with, too",
    ),
    Kind(
        "summaries of runs",
        (f"{_RUN}/summary.json",),
        "of a repeated run, with what the repetition counted; not how long it took",
    ),
    Kind(
        "captures and traces",
        (f"{_RUN}/pcap/**", f"{_RUN}/traces/**"),
        "with the SHA-256 that the run recorded; of a repeated run, with those of the repetition",
    ),
    Kind(
        "tables of metrics",
        ("experiments/<experiment>/metrics.csv",),
        "with metrics computed from repeated runs and archived captures",
    ),
    Kind(
        "verdicts",
        ("experiments/<experiment>/verdicts.json",),
        "with verdicts computed so, once all runs are there; those of KUnit cases from the archived outcomes; what the "
        "runs were made with, with the archived runs; not the host that measured, nor when",
    ),
    Kind(
        "figures",
        tuple(f"experiments/<experiment>/{name}" for name in FIGURE),
        "with figures drawn from all runs, once they are there; places in pictures to a hundredth of a pixel",
    ),
    Kind(
        "outcomes of KUnit cases",
        ("kunit.json",),
        "with `--all`, kernel, modules and cases with those of a repetition; the log, which decides nothing, never",
    ),
    Kind(
        "tables over runs",
        ("tables/<table>",),
        "with tables made from all runs of all experiments, once they are there; not times of hosts and commits",
    ),
    Kind(REPORT, ("report/**",), "never: not vouched for, and a line says so"),
    Kind(
        "files of studies",
        ("workflows/studies/**",),
        "with this checkout's; scenarios and claims are read for all of the above",
        here=True,
    ),
    Kind(
        "files of the project",
        (*PROJECT_FILES, *(f"{folder}/**" for folder in PROJECT_FOLDERS)),
        "with this checkout's",
        here=True,
    ),
)


def kind_of(name: str) -> Kind | None:
    """Return the kind of a file, by its path in the archive; None for a file that no archive has."""
    return next((kind for kind in KINDS if kind.has(name)), None)


def check(crate: Crate) -> None:
    """Refuse an archive with a file of no kind, or with an experiment or a run that lacks files.

    Raises:
        EngineError: it has one.
    """
    if foreign := [name for name in crate.sums if kind_of(name) is None]:
        raise EngineError(f"{crate.name}: found files that no archive has: {listed(foreign)}")
    experiments = {name.split("/")[1] for name in crate.sums if name.startswith(f"{EXPERIMENTS}/")}
    runs = {"/".join(name.split("/")[:5]) for name in crate.sums if name.startswith(f"{RUNS}/")}
    due = {f"{EXPERIMENTS}/{experiment}/{file}" for experiment in experiments for file in FILES}
    due |= {f"{run}/{file}" for run in runs for file in OF_RUN}
    if lacking := due - crate.sums.keys():
        raise EngineError(f"{crate.name}: lacks {listed(lacking)}")


def below(folder: Path) -> list[Path]:
    """List the files below a folder of the project, by their paths there, but the hidden ones."""
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path for path in files if not any(part.startswith((".", "__pycache__")) for part in path.parts)]


def other_than_here(crate: Crate) -> list[str]:
    """List the files of the project of which archive and checkout have other bytes, or only one has any."""
    here = {*PROJECT_FILES, *(f"{top}/{path.as_posix()}" for top in PROJECT_FOLDERS for path in below(PROJECT / top))}
    here |= {name for name in crate.sums if (kind := kind_of(name)) and kind.here}
    return [name for name in sorted(here) if crate.sums.get(name) != _digest(PROJECT / name)]


def _digest(file: Path) -> str | None:
    return sums.digest(file) if file.is_file() else None


def told(crate: Crate, compared: Collection[str]) -> str:
    """Say of each kind how many files were not compared, but for the report, of which a line of its own tells."""
    counts: Counter[str] = Counter()
    for name in crate.sums.keys() - set(compared):
        kind = kind_of(name)
        assert kind is not None  # noqa: S101 (the archive was checked)
        counts[kind.name] += kind.name != REPORT
    return ", ".join(f"{counts[kind.name]} {kind.name}" for kind in KINDS if counts[kind.name])
