"""Where the evidence of a claim lies: run, captures, table, scenario, paper, and the packets around an instant."""

import ast
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from analysis.files import whole
from analysis.report.results import Result
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from analysis.settings import NS
from scenarios import sums

FOLDER: Final = "evidence"  # of the report: small files, which a published site has, too
SINGLE: Final = "single"
_TABLE: Final = "metrics.csv"
_INSTANTS: Final = frozenset(("first_time_above", "first_time_below", "time_of_max", "first"))
_AROUND: Final = 8  # packets before an instant, and as many behind it


@dataclass(frozen=True)
class Link:
    """A name and an address, relative to the report."""

    name: str
    href: str


@dataclass(frozen=True)
class Packet:
    """A packet that came to the bottleneck at an instant, s; its wait, ms, is None if it was dropped."""

    time_s: float
    flow: str
    waited_ms: float | None


@dataclass(frozen=True)
class Evidence:
    """What stands in the row below a claim; `command` makes the run again, and keeps its captures."""

    run: Link | None
    captures: list[Link]
    files: list[Link]
    doi: str
    command: str
    instant_s: float | None
    packets: list[Packet]


class Source:
    """The evidence of one experiment: small files go into `out`, links lead from the report in `home`."""

    def __init__(self, experiment: Result, results: Path, out: Path, home: Path) -> None:
        self._experiment = experiment
        self._out = out
        self._home = home.resolve()
        self._runs = results / "runs"
        self._ran: list[dict[str, Any]] = experiment.data["runs"]
        self.files = list(self._copied())

    def of(self, claim: Mapping[str, Any]) -> Evidence:
        """Give the evidence of a claim: that of its cell in the first seed, or of all cells where it names none."""
        run = self._run_of(claim)
        only = len({run_of["cell"] for run_of in self._ran}) == 1
        cell = run["cell"] if run and (claim.get("cell") or only) else None
        folder = self._folder(cell, run["seed"]) if run and cell else self._folder()
        instant_s = _instant(claim, run["seed"]) if run and cell else None
        doi = self._experiment.paper.get("doi", "")
        return Evidence(
            run=self._link(f"seed {run['seed']}" if run and cell else "all runs", folder),
            captures=[self._to(file.stem, file) for file in sorted(folder.glob("pcap/*.pcap"))] if cell else [],
            files=self.files,
            doi=doi,
            command=command_of(run, str(self._experiment.data["experiment"].get("scenario")), "runs") if run else "",
            instant_s=instant_s,
            packets=[] if instant_s is None or not cell else self._packets(cell, run["seed"] if run else 1, instant_s),
        )

    def _run_of(self, claim: Mapping[str, Any]) -> dict[str, Any] | None:
        return next((run for run in self._ran if run["cell"] == claim.get("cell")), self._ran[0] if self._ran else None)

    def _folder(self, cell: str = "", seed: int | None = None) -> Path:
        own: Path = self._runs / self._experiment.study / self._experiment.data["experiment"]["runs_of"]
        return own / cell / f"seed-{seed}" if cell else own

    def _link(self, name: str, folder: Path) -> Link | None:
        return self._to(name, folder, "/") if folder.is_dir() else None

    def _to(self, name: str, path: Path, end: str = "") -> Link:
        return Link(name, quote(relpath(path.resolve(), self._home)) + end)

    def _copied(self) -> Iterator[Link]:
        """Copy the small files beside the report; a browser shows the YAML ones as text."""
        entry = self._experiment.data["experiment"]
        sources = {"scenario": entry.get("scenario"), "claims": entry.get("claims_file")}
        folder = self._experiment.folder
        assert folder is not None  # noqa: S101 (only measured experiments have a page)
        table = sums.checked(folder, _TABLE) if _TABLE in sums.known(folder) else None
        for name, source in {"numbers (CSV)": table, **sources}.items():
            if source and Path(source).is_file():
                shown = Path(FOLDER, self._experiment.id, Path(source).name + ".txt" * (name in sources))
                with whole(self._out / shown) as temporary:
                    shutil.copyfile(source, temporary)
                yield Link(name, str(shown))

    def _packets(self, cell: str, seed: int, instant_s: float) -> list[Packet]:
        """Give the packets that came to the bottleneck around an instant; none where the run has no such captures."""
        try:
            run = _known(self._runs).get(self._experiment.data["experiment"]["runs_of"], cell, seed)
            return list(_around(run, instant_s))
        except NotMeasuredError:
            return []


@cache
def _known(runs: Path) -> Runs:
    if not runs.is_dir():
        raise NotMeasuredError(f"{runs}: there is no such folder")
    return Runs(runs)


def command_of(run: Mapping[str, Any], scenario: str, into: str = "") -> str:
    """Give the command that makes one run again; into another folder, its captures stay there."""
    options = [f"--seed {run['seed']}"]
    if run["cell"] != SINGLE:
        options.append(f"--cell {run['cell']}")
    if run["size"] != "full":
        options.append(f"--size {run['size']}")
    return " ".join(["testbed run", scenario, *options, *([f"--into {into}"] if into else [])])


def _instant(claim: Mapping[str, Any], seed: int) -> float | None:
    """Give the instant that a claim measures, s of scenario time; None for other numbers, and where it never came."""
    if not claim.get("measured") or not claim.get("measure"):
        return None
    top = ast.parse(claim["measure"].strip(), mode="eval").body
    is_instant = isinstance(top, ast.Call) and isinstance(top.func, ast.Attribute) and top.func.attr in _INSTANTS
    value = claim["measured"]["by_seed"].get(str(seed)) if is_instant else None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _around(run: Run, instant_s: float) -> Iterator[Packet]:
    came = run.passages.sort("time_ns")
    first = int((came["time_ns"] < instant_s * NS).sum())
    for row in came.slice(max(0, first - _AROUND), 2 * _AROUND).iter_rows(named=True):
        waited = None if row["left_ns"] is None else (row["left_ns"] - row["time_ns"]) / 1e6
        yield Packet(row["time_ns"] / NS, row["flow"] or "other", waited)
