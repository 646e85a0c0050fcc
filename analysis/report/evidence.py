"""Where the evidence of a claim lies: run, captures, table, scenario, paper, and the packets around an instant."""

import ast
import json
import math
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from analysis.capture import packed
from analysis.errors import BadInputError
from analysis.experiment_files import METRICS
from analysis.files import whole, write_text
from analysis.report.formats import printed_digits
from analysis.report.named_numbers import INSTANTS
from analysis.report.results import ExperimentResult, is_look_there, state_of
from analysis.run import Run
from analysis.run_json import NS
from analysis.runs import Runs
from analysis.series import NotMeasuredError
from common import sums
from common.counts import plural
from scenarios import homes
from scenarios.cell_names import SINGLE
from scenarios.resolve import COMPLETE, QUICK
from scenarios.run_files import OF_RUN

FOLDER: Final = "evidence"  # of the report: small files, which a published site has, too
_REFERENCE: Final = "reference.json"
_OF_REFERENCE: Final = ("ended", "runs", "commit", "made_from", "versions", "claims")
_MOST: Final = 4  # cells that a row names one by one
_AROUND: Final = 8  # packets before an instant, and as many behind it


@dataclass(frozen=True)
class Link:
    """A name and an address, relative to the report."""

    name: str
    href: str


@dataclass(frozen=True)
class BottleneckPacket:
    """A packet that came to the bottleneck at an instant, s; its wait, ms, is None if it was dropped."""

    time_s: float
    flow: str
    waited_ms: float | None


@dataclass(frozen=True)
class PaperPlace:
    """Where a paper says what a claim repeats: place, digits as printed, and sentences that state its finding."""

    name: str
    printed: str
    paper: Mapping[str, Any]  # what identifies it
    quotes: list[Mapping[str, Any]]  # verbatim, each with its source


@dataclass(frozen=True)
class Kept:
    """A run of a list: its seed, its folder if that is here, and what it keeps there."""

    seed: int
    folder: Link | None
    columns: Link | None
    captures: list[Link]


@dataclass(frozen=True)
class Captures:
    """The captures that a run keeps; `of` names it where a row has several."""

    of: str
    files: list[Link]


@dataclass(frozen=True)
class CellRuns:
    """All runs of a cell: the command that makes the first one again, and where its captures are then."""

    cell: str
    runs: list[Kept]
    command: str
    captures: str


@dataclass(frozen=True)
class Evidence:
    """What stands in the row below a claim; its commands make the run again, and keep its packets."""

    runs: list[Link] = field(default_factory=list)
    all_runs: list[Link] = field(default_factory=list)  # lists of the runs of each seed, with their files
    captures: list[Captures] = field(default_factory=list)
    files: list[Link] = field(default_factory=list)
    logs: list[Link] = field(default_factory=list)
    place: PaperPlace | None = None
    commands: list[str] = field(default_factory=list)
    full_commands: list[str] = field(default_factory=list)  # where runs are of another size
    instant_s: float | None = None
    packets: list[BottleneckPacket] = field(default_factory=list)


def of_run(folder: Path | None, home: Path, scenario: str = "") -> Evidence:
    """Give the evidence in a run's folder, for a page in the folder `home`; nothing where there is no such folder.

    A `scenario`, by its path from `home`, adds the command that makes the run again, for whoever stands in `home`.
    """
    if folder is None or not folder.is_dir():
        return Evidence()
    # a tap's log only counts packets, as summary.json does
    logs = [file for file in sorted(folder.glob("logs/*")) if not file.name.startswith("tcpdump.")]
    logs_with_text = [file for file in logs if file.is_file() and file.stat().st_size]
    files = [file for name in OF_RUN if (file := folder / name).exists()]
    cell, seed = folder.parent.name, folder.name.rpartition("-")[2]  # also of failed-seed-1
    run = {"cell": cell, "seed": seed, "size": COMPLETE}
    return Evidence(
        runs=[link(folder.name.replace("-", " "), folder, home)],
        captures=[Captures("", kept) for kept in [_captures(folder, home)] if kept],
        files=[link(file.name, file, home) for file in files],
        logs=[link(file.name.removesuffix(".log"), file, home) for file in logs_with_text],
        commands=[command_of(run, scenario, "again")] if scenario else [],
    )


def link(name: str, path: Path, home: Path) -> Link:
    """Link a file or folder from a page in the folder `home`."""
    return Link(name, quote(relpath(path.resolve(), home.resolve())) + "/" * path.is_dir())


def _captures(run: Path, home: Path) -> list[Link]:
    return [link(packed.place(file), file, home) for file in packed.kept(run)]


class Source:
    """The evidence of one experiment: small files go into `out`, links lead from the report in `home`.

    `experiments` are all that are shown; claims may read runs of several. `reference` is the experiment's file of the
    reference set, as far as there is one.
    """

    def __init__(
        self,
        experiment: ExperimentResult,
        experiments: Iterable[ExperimentResult],
        results: Path,
        out: Path,
        home: Path,
        reference: Mapping[str, Any] | None = None,
    ) -> None:
        self._experiment = experiment
        self._out = out
        self._home = home.resolve()
        self._runs = results / "runs"
        self._ran = {}  # by experiment and cell: in its first seed
        self._amounts = {}  # by experiment and cell: of seeds
        self._simulated = {}  # by the experiment whose runs it shows
        for runs_of, (shown, runs) in simulated([*experiments, experiment]).items():
            self._simulated[runs_of] = shown
            for cell, of_cell in runs.items():
                self._ran[runs_of, cell], self._amounts[runs_of, cell] = of_cell[0], len(of_cell)
        self.files = [*self._copied(), *self._of_reference(reference or {})]

    def of(self, claim: Mapping[str, Any]) -> Evidence:
        """Give the evidence of a claim: that of the cells that it reads, in the first seed."""
        read = [(experiment, cell) for experiment, cell in claim.get("reads", [])]
        evidence = Evidence(files=self.files, place=_place(claim, self._experiment))
        if not read:
            command = "testbed kunit" if claim.get("kunit") else ""
            return replace(evidence, commands=[command] if command else [])
        if any(run not in self._ran for run in read):
            return replace(evidence, commands=[self._making(read, claim)])
        sizes = {self._ran[run]["size"] for run in read}
        captures = [
            Captures(self._name(run) if len(read) > 1 else "", files)
            for run in (read if len(read) <= _MOST else read[:1])
            if (files := _captures(self._of_run(run), self._home))
        ]
        evidence = replace(evidence, all_runs=self._lists(read), captures=captures)
        if len(read) > _MOST:
            full_commands = [] if sizes == {COMPLETE} else self._all({COMPLETE})
            return replace(evidence, runs=self._folders(read), commands=self._all(sizes), full_commands=full_commands)
        evidence = replace(
            evidence,
            runs=[one for run in read if (one := self._link(run))],
            commands=[self._command(run) for run in read],
            full_commands=[] if sizes == {COMPLETE} else [self._command(run, COMPLETE) for run in read],
        )
        return evidence if len(read) > 1 else self._looked_into(evidence, claim, read[0])

    def _looked_into(self, evidence: Evidence, claim: Mapping[str, Any], read: tuple[str, str]) -> Evidence:
        """Add the packets around an instant to the evidence of one run."""
        seed = self._ran[read]["seed"]
        instant_s = _instant(claim, seed)
        packets = [] if instant_s is None else self._packets(*read, seed, instant_s)
        return replace(evidence, instant_s=instant_s, packets=packets)

    def _making(self, read: Sequence[tuple[str, str]], claim: Mapping[str, Any]) -> str:
        """Give the command that makes what is missing at size complete: the one run that a claim asks for, or all."""
        missing = next(run for run in read if run not in self._ran)
        if read == [missing] and claim.get("cell") == missing[1] and missing[0] in self._simulated:
            return command_of({"cell": missing[1], "seed": 1, "size": COMPLETE}, self._scenario(missing[0]), "runs")
        return self._all({COMPLETE})[0]

    def _all(self, sizes: set[str]) -> list[str]:
        return [command_of_all([self._experiment.id], sizes)]

    def _command(self, read: tuple[str, str], size: str = "") -> str:
        run = self._ran[read]
        return command_of({**run, "size": size or run["size"]}, self._scenario(read[0]), "runs")

    def _scenario(self, experiment: str) -> str:
        return str(self._simulated[experiment].data["experiment"].get("scenario"))

    def _link(self, read: tuple[str, str]) -> Link | None:
        folder = self._of_run(read)
        return link(self._name(read), folder, self._home) if folder.is_dir() else None

    def _name(self, read: tuple[str, str]) -> str:
        """Name a run, with no more than a reader of this page needs."""
        experiment, cell = read
        own = self._experiment.data["experiment"]["runs_of"]
        parts = [
            experiment if experiment != own else "",
            cell if cell != SINGLE else "",
            f"seed {self._ran[read]['seed']}",
        ]
        return ", ".join(filter(None, parts))

    def _folders(self, read: Iterable[tuple[str, str]]) -> list[Link]:
        """Link the folders of experiments of which a claim reads many cells."""
        cells = Counter(experiment for experiment, _ in read)
        folders = {experiment: self._folder(experiment) for experiment in cells}
        return [
            link(plural(cells[experiment], "cell") + f" of {experiment}", folder, self._home)
            for experiment, folder in folders.items()
            if folder.is_dir()
        ]

    def _lists(self, read: Iterable[tuple[str, str]]) -> list[Link]:
        """Link the lists of all runs that a claim reads: a list an experiment, at its first cell."""
        first: dict[str, str] = {}
        amounts: Counter[str] = Counter()
        for experiment, cell in read:
            first.setdefault(experiment, cell)
            amounts[experiment] += self._amounts[experiment, cell]
        own = self._experiment.data["experiment"]["runs_of"]
        return [
            Link(
                plural(amounts[experiment], "run") + (f" of {experiment}" if experiment != own else ""),
                f"{list_of(experiment)}#{quote(cell)}",
            )
            for experiment, cell in first.items()
        ]

    def _folder(self, experiment: str, *below: str) -> Path:
        return self._runs.joinpath(self._simulated[experiment].study, experiment, *below)

    def _of_run(self, read: tuple[str, str]) -> Path:
        return self._folder(*read, f"seed-{self._ran[read]['seed']}")

    def _copied(self) -> Iterator[Link]:
        """Copy the small files beside the report; a browser shows the YAML ones as text."""
        entry = self._experiment.data["experiment"]
        sources = {"scenario": entry.get("scenario"), "claims": entry.get("claims_file")}
        folder = self._experiment.folder
        assert folder is not None  # noqa: S101 (only measured experiments have a page)
        table = sums.checked(folder, METRICS) if METRICS in sums.known(folder) else None
        for name, source in {"numbers (CSV)": table, **sources}.items():
            if source and Path(source).is_file():
                shown = Path(FOLDER, self._experiment.id, Path(source).name + ".txt" * (name in sources))
                with whole(self._out / shown) as temporary:
                    shutil.copyfile(source, temporary)
                yield Link(name, str(shown))

    def _of_reference(self, kept: Mapping[str, Any]) -> Iterator[Link]:
        """Write what the reference set has of each claim, seed by seed, and what it was made from."""
        if kept:
            shown = Path(FOLDER, self._experiment.id, _REFERENCE)
            told = {name: kept[name] for name in _OF_REFERENCE if name in kept}
            told["claims"] = {name: _as_shown(claim) for name, claim in kept["claims"].items()}
            write_text(self._out / shown, json.dumps(told, indent=1, ensure_ascii=False) + "\n")
            yield Link("reference set (JSON)", str(shown))

    def _packets(self, experiment: str, cell: str, seed: int, instant_s: float) -> list[BottleneckPacket]:
        """Give the packets that came to the bottleneck around an instant; none where the run has no such captures."""
        try:
            run = _known(self._runs).get(experiment, cell, seed)
            return list(_around(run, instant_s))
        except (BadInputError, NotMeasuredError):
            return []


def _as_shown(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Give a claim of the reference set with the verdict that its card has; one seed only agrees or differs."""
    return {**kept, "verdict": state_of({**kept, "is_look": is_look_there(kept)})}


_known = cache(Runs)


def simulated(
    experiments: Iterable[ExperimentResult],
) -> dict[str, tuple[ExperimentResult, dict[str, list[dict[str, Any]]]]]:
    """Give what ran, by the experiment that simulates it: one that shows it, and its runs by cell, each seed once."""
    known: dict[str, tuple[ExperimentResult, dict[str, dict[int, dict[str, Any]]]]] = {}
    for shown in experiments:
        runs_of = shown.data["experiment"]["runs_of"]
        first, by_cell = known.get(runs_of, (shown, {}))
        known[runs_of] = (shown if shown.id == runs_of else first, by_cell)
        for run in shown.data["runs"]:
            by_cell.setdefault(run["cell"], {})[run["seed"]] = run
    return {
        runs_of: (shown, {cell: [run for _, run in sorted(by_seed.items())] for cell, by_seed in by_cell.items()})
        for runs_of, (shown, by_cell) in known.items()
    }


def list_of(experiment: str) -> str:
    """Give the page that lists the runs of an experiment."""
    return f"runs-{experiment}.html"


def listed(
    runs_of: str, shown: ExperimentResult, by_cell: Mapping[str, Sequence[dict[str, Any]]], runs: Path, home: Path
) -> list[CellRuns]:
    """List the runs of an experiment, with what their folders below `runs` keep, for a page in the folder `home`."""
    scenario = str(shown.data["experiment"].get("scenario"))
    place = Path(shown.study, runs_of)
    return [
        CellRuns(
            cell,
            [_kept(run, runs / place / cell / f"seed-{run['seed']}", home) for run in of_cell],
            command_of(of_cell[0], scenario, "runs"),
            str(Path("runs", *folder.parts[-4:], packed.FOLDER)),
        )
        for cell, of_cell in by_cell.items()
        for folder in [runs / place / cell / f"seed-{of_cell[0]['seed']}"]
    ]


def _kept(run: Mapping[str, Any], folder: Path, home: Path) -> Kept:
    columns = folder / "columns"
    tables = plural(len(list(columns.glob("*.parquet"))), "table")
    return Kept(
        run["seed"],
        link(f"seed {run['seed']}", folder, home) if folder.is_dir() else None,
        link(tables, columns, home) if columns.is_dir() else None,
        _captures(folder, home),
    )


def command_of(run: Mapping[str, Any], scenario: str, into: str = "") -> str:
    """Give the command that makes one run again; into another folder, its captures stay there.

    It names the implementations that lie outside the project, where this process knows of any.
    """
    options = ["--seed", str(run["seed"])]
    if run["cell"] != SINGLE:
        options += ["--cell", run["cell"]]
    if run["size"] != COMPLETE:
        options += ["--size", run["size"]]
    if into:
        options += ["--into", into]
    return shlex.join(["testbed", "run", scenario, *options, *homes.named()])


def command_of_all(experiments: Sequence[str], sizes: set[str]) -> str:
    """Give the command that makes experiments again with runs of their size; without any, all of them."""
    is_quick = sizes == {QUICK}
    if not experiments:
        return "make quick" if is_quick else "make reproduce"
    return f"snakemake --cores all {' '.join(experiments)}{' --config size=quick' if is_quick else ''}"


def _place(claim: Mapping[str, Any], experiment: ExperimentResult) -> PaperPlace | None:
    """Say where the paper has it; None where there is no paper."""
    paper = experiment.paper
    if "year" not in paper:
        return None
    name = f"{experiment.study_name} {paper['year']}, {claim.get('source') or experiment.artefact}"
    own = claim.get("finding") if "role" not in claim else None  # a setting is no finding
    quotes = [quote for quote in experiment.quotes if own in quote.get("findings", [])]
    return PaperPlace(name, printed_digits(claim), paper, quotes)


def _instant(claim: Mapping[str, Any], seed: int) -> float | None:
    """Give the instant that a claim measures, s of scenario time; None for other numbers, and where it never came."""
    if not claim.get("measured") or not claim.get("measure"):
        return None
    top = ast.parse(claim["measure"].strip(), mode="eval").body
    is_instant = isinstance(top, ast.Call) and isinstance(top.func, ast.Attribute) and top.func.attr in INSTANTS
    value = claim["measured"]["by_seed"].get(str(seed)) if is_instant else None
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _around(run: Run, instant_s: float) -> Iterator[BottleneckPacket]:
    came = run.passages.sort("time_ns")
    first = int((came["time_ns"] < instant_s * NS).sum())
    for row in came.slice(max(0, first - _AROUND), 2 * _AROUND).iter_rows(named=True):
        waited = None if row["left_ns"] is None else (row["left_ns"] - row["time_ns"]) / 1e6
        yield BottleneckPacket(row["time_ns"] / NS, row["flow"] or "other", waited)
