"""The library for notebooks: `from testbed import Run, Results, Scenario, Observation`.

Tables are Polars frames, or pandas' for who has pandas. All words of claims are methods of `Run` with the same names.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from analysis.claims.question import Question
from analysis.documents import Fields
from analysis.errors import BadInputError
from analysis.experiment_files import VERDICTS
from analysis.figures import style
from analysis.figures.kinds.time_series import TimeSeries
from analysis.observer.description import lines
from analysis.observer.standalone.report import observe
from analysis.run import Run as AnalysedRun
from analysis.runs import Failure, Runs
from analysis.table_cache import TableCache
from analysis.tables.of_results import OVER_RUNS
from analysis.tables.over_runs import FOLDER, write_tables
from common import sums
from scenarios.resolve import COMPLETE, resolve
from testbed import arguments
from testbed.need import columns_since, needed

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]


class Run(AnalysedRun):
    """A finished run: `Run("runs/mine/mine-rate-step/single/seed-1")`.

    The words of docs/reference/claims.md are its methods, such as `run.throughput("ledbat", 10, 60)`; those without
    parentheses there are its properties, such as `run.queue_ms`. A word that gives a series gives one with `times`
    (s) and `values`. What the captures and traces do not tell raises NotMeasuredError with the reason.
    """

    def __init__(self, folder: str | Path, cache: TableCache | None = None) -> None:
        super().__init__(Path(folder), cache)

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table of docs/reference/tables.md, such as packets; `table` scans it."""
        made = sorted(Path(place).stem for place in sums.read(self.folder) if Path(place).match("columns/*.parquet"))
        if made and table not in made:
            raise BadInputError(f"{self.folder}: frame: found {table!r}; allowed: {', '.join(made)}")
        return self.table(table).collect()

    def pandas(self, table: str) -> "pd.DataFrame":
        """Return a table for pandas, which has to be installed with pyarrow."""
        return self.frame(table).to_pandas()

    def figure(self, *panels: str) -> "Figure":
        """Draw panels over time, one below the other, such as `run.figure("rate", "queue")`."""
        return Figure([self], panels)


class Figure:
    """A figure over time, of one or several runs of an experiment. A notebook shows it; `save` writes it."""

    def __init__(self, runs: Sequence[AnalysedRun], panels: Sequence[str]) -> None:
        here = runs[0].folder
        ask = Question(_These(runs), runs[0].settings.experiment, {})
        self._drawn = TimeSeries(Fields(here, {"panels": list(panels)}, "figure"), ask, [])
        self.caption = self._drawn.caption()
        """What the reader has to know, and what the figure leaves out."""

    def svg(self, width: int = style.WIDE) -> str:
        """Return the figure as SVG, for a page of so many pixels."""
        from analysis.figures import svg  # needs the renderer, which takes a second to load

        return svg.draw(self._drawn.specify(width, interactive=False), self._drawn.alternative())

    def save(self, file: str | Path) -> None:
        """Write the figure as SVG."""
        Path(file).write_text(self.svg(), encoding="utf-8")

    def _repr_html_(self) -> str:
        return f"{self.svg()}<p>{self.caption}</p>"


class Results:
    """A folder of results: `Results("results/quick")`, or any folder with run folders in `runs/`."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / "runs").is_dir():
            raise BadInputError(f"{self.folder}: found no folder `runs` in it; allowed: a folder of results, with runs")
        self._cache = TableCache()

    def frame(self, table: str) -> pl.DataFrame:
        """Return a table over all runs: runs, flows, queues, events or claims; it is made if it is missing or old."""
        names = [one.name for one in OVER_RUNS]
        if table not in names:
            raise BadInputError(f"frame: found {table!r}; allowed: {', '.join(names)}")
        file = self.folder / FOLDER / f"{table}.parquet"
        made_ns = file.stat().st_mtime_ns if file.exists() else 0
        read = (f"runs/*/*/*/seed-*/{sums.FILE}", f"experiments/*/{VERDICTS}")
        if any(each.stat().st_mtime_ns >= made_ns for pattern in read for each in self.folder.glob(pattern)):
            self.tabulate()
        return pl.read_parquet(sums.checked(file.parent, file.name))

    def pandas(self, table: str) -> "pd.DataFrame":
        """Return a table over all runs for pandas, which has to be installed with pyarrow."""
        return self.frame(table).to_pandas()

    def tabulate(self) -> None:
        """Make the tables over all runs again where runs or verdicts are newer."""
        write_tables(self.folder)

    def runs(self, experiment: str = "*", cell: str = "*") -> Iterator[Run]:
        """Yield the runs that succeeded, by folder; names may have `*`."""
        for folder in sorted(self.folder.glob(f"runs/*/{experiment}/{cell}/seed-*")):
            yield Run(folder, self._cache)

    def run(self, experiment: str, cell: str = "single", seed: int = 1) -> Run:
        """Return one run."""
        found = [run for run in self.runs(experiment, cell) if run.settings.seed == seed]
        if len(found) == 1:
            return found[0]
        asked = f"run: found {len(found)} of {experiment}, cell {cell}, seed {seed}"
        there = [folder.parts[-3:] for folder in sorted(self.folder.glob("runs/*/*/*/seed-*"))]
        allowed = [" ".join(names[1:]) for names in there if names[0] == experiment]
        raise BadInputError(
            f"{self.folder}: {asked}; allowed: {', '.join(allowed or dict.fromkeys(names[0] for names in there))}"
        )

    def figure(self, experiment: str, *panels: str, cell: str = "*") -> Figure:
        """Draw panels over time of an experiment's runs: cells side by side, seeds as bands."""
        runs = list(self.runs(experiment, cell))
        if not runs:
            raise BadInputError(f"{self.folder}: found no run of {experiment}; allowed: an experiment with runs")
        return Figure(runs, panels)


class Scenario:
    """A scenario file: `Scenario("mine/rate-step.yaml").run(seeds=3)`."""

    def __init__(self, file: str | Path) -> None:
        self.file = Path(file)

    @property
    def cells(self) -> list[str]:
        """The names of its cells."""
        return [cell.name for cell in arguments.cells(self.file, COMPLETE, [])]

    def run(self, seeds: int | Sequence[int] = 1, cells: Sequence[str] = (), into: str | Path = "results") -> Results:
        """Carry out runs that are not finished, one after the other: seeds 1 to `seeds`, or those listed.

        They lie in `INTO/runs`, as `testbed run --into INTO/runs` leaves them. Raises EngineError for a run that fails.
        """
        results = Path(into)
        listed = range(1, seeds + 1) if isinstance(seeds, int) else seeds
        arguments.check_seeds(seeds if isinstance(seeds, int) else len(seeds))
        for seed in listed:
            arguments.check_seed(seed)
        since = columns_since(results)
        for cell in arguments.cells(self.file, COMPLETE, list(cells)):
            for seed in listed:
                needed(resolve(cell, seed), results / "runs", since=since)
        made = Results(results)
        made.tabulate()
        return made


class Observation:
    """What `testbed observe` finds in files from anywhere: `Observation("sender.pcapng", "receiver.pcapng")`.

    Its page lies in the folder `into`, by default `observed/NAME` after the first file. Raises BadInputError for a file
    that is not read.
    """

    def __init__(self, file: str | Path, *more: str | Path, into: str | Path | None = None) -> None:
        files = [Path(each) for each in (file, *more)]
        self.page = observe(files, Path(into or Path("observed", files[0].name.partition(".")[0])))
        """The page, index.html."""

    @property
    def lines(self) -> list[str]:
        """What the command prints: who each sender is, and why."""
        return lines(self.page.parent)

    def frame(self, table: str) -> pl.DataFrame:
        """Return `flows`, a row for each flow and file, or `series`, what passed over time."""
        allowed = ("flows", "series")
        if table not in allowed:
            raise BadInputError(f"frame: found {table!r}; allowed: {', '.join(allowed)}")
        return pl.read_csv(self.page.parent / f"{table}.csv", infer_schema_length=None)

    def figure(self, flow: str) -> "Picture":
        """Return the picture of a flow, such as flow-1, which a notebook shows."""
        known = sorted(file.stem for file in self.page.parent.glob("flow-*.svg") if not file.stem.endswith("-narrow"))
        if flow not in known:
            raise BadInputError(
                f"figure: found {flow!r}; allowed: {', '.join(known) or 'nothing, as no flow is described'}"
            )
        return Picture((self.page.parent / f"{flow}.svg").read_text(encoding="utf-8"))


class Picture(str):
    """An SVG, which a notebook shows."""

    def _repr_svg_(self) -> str:
        return self


class _These(Runs):
    """Runs of one experiment that somebody chose, instead of those below a folder."""

    def __init__(self, runs: Sequence[AnalysedRun]) -> None:
        self._chosen = {(run.settings.cell, run.settings.seed): run for run in runs}

    def by_cell_and_seed(self, experiment: str) -> dict[tuple[str, int], AnalysedRun]:  # noqa: ARG002
        """Return those that were chosen."""
        return self._chosen

    def failed(self, experiment: str) -> list[Failure]:  # noqa: ARG002
        """Return none: only runs that succeeded can be chosen."""
        return []
