"""The folder of a finished run: settings, counters and tables, read only as far as a question needs."""

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

import polars as pl

from analysis import run_json
from analysis.documents import Fields, read_made
from analysis.errors import BadInputError
from analysis.run_json import NS, Flow
from analysis.series import TOLERANCE_S, NeverHappenedError, NotMeasuredError, Series
from analysis.table_cache import TableCache
from common import sums

MOST_BYTES: Final = 600_000_000
"""What one question may need of a run's packets. With what is kept beside it, the whole takes less than 1 GB."""

WHERE: Final = {"bottleneck-in": "before", "bottleneck-out": "behind"}

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R", bound="RunFolder")


def keep(make: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """Cache what a method returns, by its arguments."""

    @wraps(make)
    def keeping(self: R, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.cache.get((self.folder, make.__name__, args), lambda: make(self, *args, **kwargs))

    return keeping


class RunFolder:
    """The folder of a finished run.

    What is made of its tables is cached in `cache`, which runs may share.
    """

    def __init__(self, folder: Path, cache: TableCache | None = None) -> None:
        self.folder = folder
        self.cache = cache or TableCache()
        self.settings = run_json.load(folder)
        self.summary: Fields = read_made(folder, "summary.json")
        self._tables: dict[str, Path] = {}  # those whose sums have been compared

    @property
    def ends_s(self) -> float:
        """End of the run: as planned, or earlier when all flows had delivered their bytes."""
        ended_ns = self.summary.maybe("ended_ns", int)
        return self.settings.duration_s if ended_ns is None else ended_ns / NS

    def flow(self, name: str) -> Flow:
        """Find the settings of a flow."""
        for flow in self.settings.flows:
            if flow.name == name:
                return flow
        names = ", ".join(flow.name for flow in self.settings.flows)
        raise BadInputError(f"{self.folder}: there is no flow {name!r}; its flows are {names}")

    def table(self, name: str) -> pl.LazyFrame:
        """Scan a table."""
        if name not in self._tables:
            place = f"columns/{name}.parquet"
            if place not in sums.read(self.folder):
                made = f"python -m analysis columns {self.folder}"
                raise BadInputError(f"{self.folder / place}: not yet made; make it with: {made}")
            self._tables[name] = sums.checked(self.folder, place)
        return pl.scan_parquet(self._tables[name])

    def packets(self, bytes_each: int) -> pl.LazyFrame:
        """Scan all packets, for a question that takes `bytes_each` of memory per packet."""
        packets = self.table("packets")
        count = packets.select(pl.len()).collect().item()
        if count * bytes_each > MOST_BYTES:
            raise NotMeasuredError(
                f"the run has {count:,} packets, and this is measured of at most {MOST_BYTES // bytes_each:,}: "
                "let it be shorter, or capture at fewer taps"
            )
        return packets

    def captured(self, tap: str, bytes_each: int) -> pl.LazyFrame:
        """Scan all packets, if the run was captured at this tap of the bottleneck; see `packets`."""
        if tap not in self.settings.captures:
            raise NotMeasuredError(f"this needs a capture {WHERE[tap]} the bottleneck ({tap})")
        return self.packets(bytes_each)

    def until(self, t1: float | None) -> float:
        """Return the end of an interval, by default that of the run."""
        return self.ends_s if t1 is None else t1

    def interval_ns(self, t0: float, t1: float | None) -> tuple[int, int]:
        """Check an interval of the run and return it; t1 is by default the end of the run."""
        t1 = self.until(t1)
        if not (math.isfinite(t0) and math.isfinite(t1)):
            raise NeverHappenedError
        if t1 > self.ends_s + TOLERANCE_S:
            raise NotMeasuredError(f"asked for {t1:g} s, but the run ends at {self.ends_s:g} s")
        if not 0 <= t0 < t1:
            raise NotMeasuredError(f"the interval from {t0:g} s to {t1:g} s is empty")
        return round(t0 * NS), round(t1 * NS)

    def nothing(self, what: str, t0: float, t1: float | None) -> NotMeasuredError:
        """Make the error that says what an interval lacks."""
        return NotMeasuredError(f"{what} from {t0:g} s to {self.until(t1):g} s")

    @keep
    def traced(self, flow: str, column: str, factor: float) -> Series:
        """Read a column that the controller of a flow reports, times a factor."""
        reported = (pl.col("flow") == self.flow(flow).name) & pl.col(column).is_not_null()
        table = self.table("cwnd").filter(reported).select("time_ns", column).collect()
        if not len(table):
            raise NotMeasuredError(f"the controller of flow {flow} reports no {column.rpartition('_')[0]}")
        return self.series_of(table, column, factor)

    def series_of(self, table: pl.DataFrame, column: str, factor: float) -> Series:
        """Make a series of a column over `time_ns`."""
        table = table.filter(pl.col("time_ns").is_between(0, round(self.ends_s * NS))).sort("time_ns")
        values = table[column].cast(pl.Float64).to_numpy() * factor
        return Series(table["time_ns"].to_numpy() / NS, values, self.ends_s)
