"""Shows the progress of the runs."""

import json
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

_LOOK_S: Final = 2


class Progress(threading.Thread):
    """Watches run folders and prints a line such as "runs 12/60, 34 %, about 2 min left" for each further percent.

    `runs` has, by the folder of a run, its weight and the file that its job leaves at the end. What a run takes is its
    weight times the wall time per weight that runs of its experiment took so far, or else all runs.
    """

    def __init__(self, runs: Mapping[str, tuple[float, str]], started_s: float) -> None:
        super().__init__(daemon=True)
        self._started_s = started_s
        self._runs = runs
        self._waiting = set(runs)
        self._took_s: dict[str, float] = {}
        self._percent = 0

    def run(self) -> None:
        """Look every other second, until all runs have ended."""
        while self._waiting:
            time.sleep(_LOOK_S)
            if line := self.look(time.time()):
                print(line, file=sys.stderr, flush=True)

    def look(self, now_s: float) -> str | None:
        """Return the line at an instant (s since 1970); None if it says nothing new."""
        done = {folder for folder in self._waiting if self._has_ended(folder)}
        self._took_s |= {folder: wall_s for folder in done if (wall_s := _wall_s(folder))}
        self._waiting -= done
        if not self._took_s:
            return None
        done_s, left_s = sum(self._took_s.values()), self._left_s()
        percent = int(100 * done_s / (done_s + left_s))
        if percent <= self._percent:
            return None
        self._percent = percent
        seconds = (now_s - self._started_s) * left_s / done_s
        estimate = f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
        return f"runs {len(self._runs) - len(self._waiting)}/{len(self._runs)}, {percent} %, {estimate}"

    def _has_ended(self, folder: str) -> bool:
        """Tell whether a run, or else its job, has ended since this pipeline started; it may have failed."""
        return any(self._is_new(Path(file)) for file in (f"{folder}/summary.json", self._runs[folder][1]))

    def _is_new(self, file: Path) -> bool:
        try:
            return file.stat().st_mtime >= self._started_s
        except FileNotFoundError:
            return False

    def _left_s(self) -> float:
        """Return what the waiting runs will take together."""
        done: dict[str, list[str]] = {}
        for folder in self._took_s:
            done.setdefault(_experiment(folder), []).append(folder)
        paces = {experiment: self._pace(folders) for experiment, folders in done.items()}
        of_all = self._pace(self._took_s)
        return sum(self._runs[folder][0] * paces.get(_experiment(folder), of_all) for folder in self._waiting)

    def _pace(self, folders: Iterable[str]) -> float:
        """Return the wall time per weight of runs that are done."""
        return sum(self._took_s[folder] for folder in folders) / sum(self._runs[folder][0] for folder in folders)


def _wall_s(folder: str) -> float | None:
    """Return what a run took; None if nothing says so, as of one that failed."""
    try:
        wall_s: float | None = json.loads(Path(folder, "summary.json").read_text()).get("wall_s")
    except FileNotFoundError:
        return None
    return wall_s


def _experiment(folder: str) -> str:
    """Return the folder of a run's experiment."""
    return folder.rsplit("/", 2)[0]
