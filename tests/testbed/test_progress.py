"""What the pipeline shows of runs, and which of them it removes."""

from __future__ import annotations

import os
from pathlib import Path

from testbed import unplanned
from testbed.pipeline.progress import Progress


def ended(folder: str, at_s: int, wall_s: int) -> None:
    summary = Path(folder, "summary.json")
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.write_text(f'{{"wall_s": {wall_s}}}')
    os.utime(summary, (at_s, at_s))


def test_the_progress_tells_by_weight_and_pace_what_is_left(tmp_path: Path) -> None:
    marker = tmp_path / "job.done"
    weights = {"x/a/seed-1": 10.0, "x/a/seed-2": 30.0, "y/a/seed-1": 60.0, "y/a/seed-2": 100.0}
    runs = {f"{tmp_path}/{name}": (weight, str(marker)) for name, weight in weights.items()}
    first, _, third, _ = runs
    progress = Progress(runs, 1000)
    ended(first, 999, 9)  # by an earlier pipeline
    assert progress.look(1001) is None
    ended(first, 1002, 9)
    assert progress.look(1010) == "runs 1/4, 5 %, about 3 min left"  # all take 0.9 s a weight
    assert progress.look(1020) is None
    ended(third, 1030, 6)  # its experiment takes 0.1 s a weight
    assert progress.look(1030) == "runs 2/4, 28 %, about 74 s left"
    marker.touch()  # the two others failed
    assert progress.look(1040) == "runs 4/4, 100 %, about 0 s left"


def test_runs_that_no_scenario_plans_are_removed(tmp_path: Path) -> None:
    own = tmp_path / "runs/study/one"
    for name in ("single/seed-1", "single/seed-2", "single/seed-3", "single/failed-seed-4", "other/seed-1"):
        (own / name).mkdir(parents=True)
    (tmp_path / "runs/study/two/single/seed-1").mkdir(parents=True)  # of a study that is not configured
    unplanned.remove([own], {own / "single/seed-1", own / "single/seed-2"})
    kept = sorted(str(run.relative_to(tmp_path / "runs/study")) for run in tmp_path.glob("runs/*/*/*/*"))
    assert kept == ["one/single/seed-1", "one/single/seed-2", "two/single/seed-1"]
