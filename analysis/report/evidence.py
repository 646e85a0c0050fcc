"""Where the evidence of a claim lies: run, captures, table, scenario, paper, and the packets around an instant."""

import ast
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from analysis.claims.syntax import SINGLE
from analysis.errors import BadInputError
from analysis.files import whole
from analysis.report.formats import printed_digits
from analysis.report.results import Result
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from analysis.settings import NS
from scenarios import sums

FOLDER: Final = "evidence"  # of the report: small files, which a published site has, too
FULL: Final = "full"
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
class Place:
    """Where a paper says what a claim repeats: paper and place, its digits as printed, and its DOI, as far as known."""

    name: str
    printed: str
    doi: str


@dataclass(frozen=True)
class Evidence:
    """What stands in the row below a claim; its commands make the run again, and keep its captures."""

    run: Link | None = None
    captures: list[Link] = field(default_factory=list)
    files: list[Link] = field(default_factory=list)
    logs: list[Link] = field(default_factory=list)
    place: Place | None = None
    command: str = ""
    full_command: str = ""  # where the run is of another size
    instant_s: float | None = None
    packets: list[Packet] = field(default_factory=list)


def of_run(folder: Path | None, home: Path, scenario: str = "") -> Evidence:
    """Give the evidence in a run's folder, for a page in the folder `home`; nothing where there is no such folder.

    A `scenario`, by its path from `home`, adds the command that makes the run again, for whoever stands in `home`.
    """
    if folder is None or not folder.is_dir():
        return Evidence()
    # a tap's log only counts packets, as summary.json does
    logs = [file for file in sorted(folder.glob("logs/*")) if not file.name.startswith("tcpdump.")]
    said = [file for file in logs if file.is_file() and file.stat().st_size]
    files = [file for name in ("run.json", "summary.json") if (file := folder / name).exists()]
    cell, seed = folder.parent.name, folder.name.rpartition("-")[2]  # also of failed-seed-1
    run = {"cell": cell, "seed": seed, "size": FULL}
    return Evidence(
        run=_to(folder.name, folder, home),
        captures=[_to(file.stem, file, home) for file in sorted(folder.glob("pcap/*.pcap"))],
        files=[_to(file.name, file, home) for file in files],
        logs=[_to(file.name.removesuffix(".log"), file, home) for file in said],
        command=command_of(run, scenario, "again") if scenario else "",
    )


def _to(name: str, path: Path, home: Path) -> Link:
    return Link(name, quote(relpath(path.resolve(), home.resolve())) + "/" * path.is_dir())


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
        name = f"seed {run['seed']}" if run and cell else "all runs"
        scenario = str(self._experiment.data["experiment"].get("scenario"))
        return Evidence(
            run=_to(name, folder, self._home) if folder.is_dir() else None,
            captures=[_to(file.stem, file, self._home) for file in sorted(folder.glob("pcap/*.pcap"))] if cell else [],
            files=self.files,
            place=_place(claim, self._experiment),
            command=command_of(run, scenario, "runs") if run else "",
            full_command=command_of({**run, "size": FULL}, scenario, "runs") if run and run["size"] != FULL else "",
            instant_s=instant_s,
            packets=[] if instant_s is None or not cell else self._packets(cell, run["seed"] if run else 1, instant_s),
        )

    def _run_of(self, claim: Mapping[str, Any]) -> dict[str, Any] | None:
        return next((run for run in self._ran if run["cell"] == claim.get("cell")), self._ran[0] if self._ran else None)

    def _folder(self, cell: str = "", seed: int | None = None) -> Path:
        own: Path = self._runs / self._experiment.study / self._experiment.data["experiment"]["runs_of"]
        return own / cell / f"seed-{seed}" if cell else own

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
        except (BadInputError, NotMeasuredError):
            return []


_known = cache(Runs)


def command_of(run: Mapping[str, Any], scenario: str, into: str = "") -> str:
    """Give the command that makes one run again; into another folder, its captures stay there."""
    options = [f"--seed {run['seed']}"]
    if run["cell"] != SINGLE:
        options.append(f"--cell {run['cell']}")
    if run["size"] != FULL:
        options.append(f"--size {run['size']}")
    return " ".join(["testbed run", scenario, *options, *([f"--into {into}"] if into else [])])


def _place(claim: Mapping[str, Any], experiment: Result) -> Place | None:
    """Say where the paper has it; None where there is no paper."""
    paper = experiment.paper
    if "year" not in paper:
        return None
    name = f"{experiment.study_name} {paper['year']}, {claim.get('source') or experiment.artefact}"
    return Place(name, printed_digits(claim), paper.get("doi", ""))


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
