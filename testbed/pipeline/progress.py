"""Shows the progress of the runs."""

import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from common.estimate import about, left_s

_LOOK_S: Final = 2
_SILENT_S: Final = 60
_AHEAD: Final = 4
"""Runs of a job that are looked at before they have ended: they end one after the other, but for those that fail."""

# What is expected before anything has been measured, from a run of all of `quick` on two cores:
_WEIGHT_A_CPU_S: Final = 300
_CPU_S_A_CORE_AND_S: Final = 0.65
"""CPU time of guests, on each core in a second; captures, measurements and waiting take the rest."""
_BUILD_S: Final = 20
"""Of a program; most are compiled in a few seconds, some in minutes."""

# How much of what is expected has to be measured before that counts as much
_TRUST_WEIGHT: Final = 0.2
_TRUST_S: Final = 30
_TRUST_SHARE: Final = 0.05
"""Of all that is expected: hours are not judged by minutes in which what boots is built, and no run ends."""


class RunsProgress(threading.Thread):
    """Watches run folders and prints a line such as "runs 12/60, 34 %, about 2 min left" for each further percent.

    `runs` has, by the folder of a run, its weight and the file that its job leaves at the end; `builds` are the files
    that builds of programs leave. `first` is the page that appears first, by the file that says that it is there.

    A run takes its weight times the CPU time per weight of its experiment's runs so far, or else of all.
    """

    def __init__(
        self,
        runs: Mapping[str, tuple[float, str]],
        builds: Iterable[str],
        cores: int,
        started_s: float,
        first: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(daemon=True)
        self._started_s = started_s
        self._looked_s = self._said_s = started_s
        self._runs = runs
        self._waiting = set(runs)
        self._jobs: dict[str, list[str]] = {}
        for folder, (_, marker) in runs.items():
            self._jobs.setdefault(marker, []).append(folder)
        self._cpu_s: dict[str, float] = {}
        self._builds = list(builds)
        self._building_s = 0.0
        self._cores = cores
        self._first = dict(first or {})
        self._percent = -1

    def run(self) -> None:
        """Look every other second, until all runs have ended and the first page is there."""
        while True:
            for line in self.look(time.time()):
                print(line, file=sys.stderr, flush=True)
            if not self._waiting and not self._first:
                return
            time.sleep(_LOOK_S)

    def look(self, now_s: float) -> list[str]:
        """Return the lines to print at an instant (s since 1970); none if there is nothing new."""
        done = {folder for marker in [*self._jobs] for folder in self._ended(marker)}
        self._cpu_s |= {folder: cpu_s for folder in done if (cpu_s := _cpu_s(folder))}
        self._waiting -= done
        pages = [page for marker, page in self._first.items() if self._is_new(Path(marker))]
        self._first = {marker: page for marker, page in self._first.items() if page not in pages}
        lines = [f"the first figure is there, while the rest runs: {page}" for page in pages]
        left_cpu_s = self._left_cpu_s()
        percent = int(100 * (1 - left_cpu_s / (left_cpu_s + sum(self._cpu_s.values())))) if self._waiting else 100
        seconds = self._left_s(left_cpu_s, now_s)
        if percent > self._percent or (self._waiting and now_s - self._said_s >= _SILENT_S):
            self._percent, self._said_s = max(percent, self._percent), now_s
            ended = len(self._runs) - len(self._waiting)
            left = f"{about(seconds)} left" if self._waiting else "then the report"
            lines.append(f"runs {ended}/{len(self._runs)}{self._built()}, {self._percent} %, {left}")
        return lines

    def _built(self) -> str:
        done = sum(self._is_new(Path(file)) for file in self._builds)
        return f", programs built {done}/{len(self._builds)}" if done < len(self._builds) else ""

    def _ended(self, marker: str) -> set[str]:
        """Return the runs of a job that have ended, or its job has, since the last look; they may have failed.

        Of thousands that wait, most belong to jobs that have not begun: a shared file system is not asked for each.
        """
        folders = self._jobs[marker]
        if self._is_new(Path(marker)):
            return {*self._jobs.pop(marker)}
        done: set[str] = set()
        for number, folder in enumerate(folders):
            if self._is_new(Path(folder, "summary.json")):
                done.add(folder)
            elif number - len(done) >= _AHEAD - 1:
                break
        self._jobs[marker] = [folder for folder in folders if folder not in done]
        return done

    def _is_new(self, file: Path) -> bool:
        try:
            return file.stat().st_mtime >= self._started_s
        except FileNotFoundError:
            return False

    def _left_s(self, left_cpu_s: float, now_s: float) -> float:
        """Return the time that the waiting runs and builds are expected to take."""
        built = sum(self._is_new(Path(file)) for file in self._builds)
        pace_s = 1 / (self._cores * _CPU_S_A_CORE_AND_S)
        took_s = now_s - self._started_s
        builds_s = (len(self._builds) - built) * _BUILD_S / self._cores
        done_cpu_s = sum(self._cpu_s.values())
        trust_s = max(_TRUST_S, _TRUST_SHARE * (left_cpu_s + done_cpu_s))
        return builds_s + left_s(left_cpu_s, done_cpu_s, took_s, pace_s, trust_s)

    def _left_cpu_s(self) -> float:
        """Return the CPU time that the waiting runs are expected to take together."""
        done: dict[str, list[str]] = {}
        for folder in self._cpu_s:
            done.setdefault(_experiment(folder), []).append(folder)
        paces = {experiment: self._pace(folders, 0) for experiment, folders in done.items()}
        trust = _TRUST_WEIGHT * sum(weight for weight, _ in self._runs.values())
        of_all = self._pace(self._cpu_s, trust)
        return sum(self._runs[folder][0] * paces.get(_experiment(folder), of_all) for folder in self._waiting)

    def _pace(self, folders: Iterable[str], trust: float) -> float:
        """Return the CPU time per weight of runs that are done."""
        done = list(folders)
        weight, cpu_s = sum(self._runs[folder][0] for folder in done), sum(self._cpu_s[folder] for folder in done)
        return left_s(1, weight, cpu_s, 1 / _WEIGHT_A_CPU_S, trust)


def expected_s(weight: float, cores: int) -> float:
    """Return what runs of that weight are expected to take on so many cores, before anything has been measured."""
    return weight / _WEIGHT_A_CPU_S / (cores * _CPU_S_A_CORE_AND_S)


def _cpu_s(folder: str) -> float | None:
    """Return the CPU time that a run took; None if nothing says so, as of one that failed."""
    try:
        cpu_s: float | None = json.loads(Path(folder, "summary.json").read_text()).get("cpu_s")
    except FileNotFoundError:
        return None
    return cpu_s


def _experiment(folder: str) -> str:
    """Return the folder of a run's experiment."""
    return folder.rsplit("/", 2)[0]
