"""What the pipeline shows of runs, and which of them it removes."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from common.estimate import about
from testbed import unplanned
from testbed.pipeline.progress import RunsProgress

RECORDED = Path(__file__).parent / "data/quick-runs.csv"


def ended(folder: str, at_s: float, cpu_s: float) -> None:
    summary = Path(folder, "summary.json")
    summary.parent.mkdir(parents=True, exist_ok=True)
    summary.write_text(f'{{"cpu_s": {cpu_s}}}')
    os.utime(summary, (at_s, at_s))


def test_the_progress_tells_from_its_first_line_what_is_left(tmp_path: Path) -> None:
    marker, page, program = (tmp_path / name for name in ("job.done", "made-for-x", "program.json"))
    weights = {"x/a/seed-1": 3000.0, "x/a/seed-2": 9000.0, "y/a/seed-1": 18000.0, "y/a/seed-2": 30000.0}
    runs = {f"{tmp_path}/{name}": (weight, str(marker)) for name, weight in weights.items()}
    first, _, third, _ = runs
    progress = RunsProgress(runs, [str(program)], 2, 1000, {str(page): "x.html"})
    ended(first, 999, 9)  # by an earlier pipeline
    assert progress.look(1000) == ["runs 0/4, programs built 0/1, 0 %, about 3 min left"]  # 200 CPU s, and a build
    assert progress.look(1001) == []
    for file, at_s in ((program, 1002), (page, 1010)):
        file.touch()
        os.utime(file, (at_s, at_s))
    ended(first, 1010, 20)
    lines = progress.look(1010)
    assert lines[0] == "the first figure is there, while the rest runs: x.html"
    assert lines[1] == "runs 1/4, 7 %, about 3 min left"  # its experiment takes twice as long as expected
    assert progress.look(1020) == []
    assert progress.look(1071) == ["runs 1/4, 7 %, about 8 min left"]  # long silence, and little done meanwhile
    ended(third, 1072, 60)
    assert progress.look(1072) == ["runs 2/4, 33 %, about 2 min left"]
    marker.touch()  # the two others failed
    assert progress.look(1080) == ["runs 4/4, 100 %, then the report"]


def test_minutes_without_a_run_do_not_make_hours_of_an_hour(tmp_path: Path) -> None:
    """Before the first run of `make reproduce` from an empty cache, the debug kernel takes both cores for minutes."""
    runs = {f"{tmp_path}/x/a/seed-{n}": (1000.0, "job.done") for n in range(2000)}
    progress = RunsProgress(runs, [], 2, 1000)
    first, later = (seconds(progress.look(at_s)[0]) for at_s in (1000, 1150))
    assert later < 2 * first


def test_a_look_asks_for_a_few_runs_of_each_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 600 runs in six jobs, thirty files; on a shared file system each is a request to its server."""
    runs = {f"{tmp_path}/x/a/seed-{n}": (1.0, f"{tmp_path}/job-{n // 100}.done") for n in range(600)}
    progress = RunsProgress(runs, [], 2, 1000)
    asked: list[Path] = []
    stat = Path.stat

    def counted(file: Path) -> os.stat_result:
        asked.append(file)
        return stat(file)

    monkeypatch.setattr(Path, "stat", counted)
    progress.look(1000)
    assert len(asked) == 6 * (1 + 4)
    for n in (0, 2, 3, 4, 5, 6, 299):  # the second failed
        ended(f"{tmp_path}/x/a/seed-{n}", 1001, 1)
    assert "runs 6/600" in progress.look(1062)[0]
    (tmp_path / "job-2.done").touch()
    (tmp_path / "job-0.done").touch()
    assert "runs 200/600" in progress.look(1130)[0]


def seconds(line: str) -> float:
    hours, minutes, rest = re.search(r"about (?:(\d+) h)? ?(?:(\d+) min)?(?:(\d+) s)? left", line).groups()  # type: ignore[union-attr]
    return 3600 * int(hours or 0) + 60 * int(minutes or 0) + int(rest or 0)


def test_a_recorded_quick_is_estimated_within_a_factor_of_two_from_the_first_line(tmp_path: Path) -> None:
    """Its runs as they came, each with the CPU time that it took, by the clock of two cores that nobody else uses."""
    rows = [line.split(",") for line in RECORDED.read_text().splitlines()[1:]]
    due = [
        (f"{tmp_path}/{name}/cell/seed-{n}", float(weight), float(cpu_s))
        for n, (name, weight, cpu_s) in enumerate(rows)
    ]
    runs = {folder: (weight, f"{folder}.done") for folder, weight, _ in due}
    progress, now_s = RunsProgress(runs, [], 2, 1000), 1000.0
    end_s = now_s + sum(cpu_s for *_, cpu_s in due) / (2 * 0.65)
    told = [(now_s, line) for line in progress.look(now_s)]
    for folder, _, cpu_s in due:
        now_s += cpu_s / (2 * 0.65)
        ended(folder, now_s, cpu_s)
        told += [(now_s, line) for line in progress.look(now_s)]
    ratios = [seconds(line) / (end_s - at_s) for at_s, line in told if end_s - at_s > 30]
    assert len(ratios) > 50
    assert 1 / 2 < min(ratios) <= max(ratios) < 2, ratios


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "about 5 s"), (41, "about 40 s"), (89, "about 90 s"), (100, "about 2 min"), (3600, "about 1 h")],
)
def test_a_time_is_said_in_round_numbers(number: float, words: str) -> None:
    assert about(number) == words


FOLDERS = ("runs", unplanned.UNUSED)


def test_runs_that_no_scenario_plans_lie_aside_until_one_does(tmp_path: Path) -> None:
    own = tmp_path / "runs/study/one"
    for name in ("single/seed-1", "single/seed-2", "single/seed-3", "single/failed-seed-4", "other/seed-1"):
        (own / name).mkdir(parents=True)
    (tmp_path / "runs/study/two/single/seed-1").mkdir(parents=True)  # of a study that is not configured
    planned = {own / "single/seed-1", own / "single/seed-2"}
    unplanned.set_aside(tmp_path, [own], planned)
    found = [sorted(str(run.relative_to(tmp_path / top)) for run in tmp_path.glob(f"{top}/*/*/*/*")) for top in FOLDERS]
    used = ["study/one/single/seed-1", "study/one/single/seed-2", "study/two/single/seed-1"]
    unused = ["study/one/other/seed-1", "study/one/single/failed-seed-4", "study/one/single/seed-3"]
    assert found == [used, unused]
    unplanned.set_aside(tmp_path, [own], planned | {own / "single/seed-3"})
    assert (own / "single/seed-3").is_dir()
