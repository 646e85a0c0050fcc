"""The pipeline's graph, its targets, and what it does when runs are killed, fail or are no longer wanted."""

from __future__ import annotations

import fcntl
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from analysis.tables.files import OF_RESULTS
from images import index
from tests.analysis.listed import unlisted
from tests.workflows.conftest import claims, scenario

ROOT = Path(__file__).parents[2]

ICCCN = {
    "icccn-fig2a-ledbat-vs-tcp",
    "icccn-fig2a-utilization-baselines",
    "icccn-fig2b-ledbat-vs-ledbat",
    "icccn-fig3-top-dt2-b40",
    "icccn-fig3-middle-dt10-b40",
    "icccn-fig3-bottom-dt10-b100",
}

ALL_RUNS = [
    "toy-one/single/seed-1",
    "toy-one/single/seed-2",
    "toy-one/single/seed-3",
    "toy-two/case=a/seed-1",
    "toy-two/case=a/seed-2",
    "toy-two/case=b/seed-1",
    "toy-two/case=b/seed-2",
]


def job_counts(output: str) -> dict[str, int]:
    """Jobs by rule, from the table that a dry run prints."""
    return {rule: int(count) for rule, count in re.findall(r"^(\w[\w-]*) +(\d+)$", output, flags=re.MULTILINE)}


def test_the_graphs_of_both_sizes(pipeline: Any) -> None:
    full, both = (
        job_counts(pipeline("--dry-run", "--quiet", "rules", "--", *targets))
        for targets in (["reproduce"], ["reproduce", "quick"])
    )
    assert full["measurements_due"] >= len(ICCCN)
    assert full["runs"] >= 7
    assert full["report"] == 2  # the first experiment's comes while the others run
    assert both["measurements"] == both["report"] == 2 * both["tables"] == 4
    # EUNICE's Fig. 5, which is too long for a quick look, is all that size quick leaves out
    assert both["measurements_due"] == 2 * full["measurements_due"] - 2
    # One plan for each size, although snakemake was called twice.
    assert pipeline.calls("testbed plan") == ["testbed plan None complete", "testbed plan None quick"]


def test_studies_and_experiments_are_targets(pipeline: Any) -> None:
    counts = job_counts(pipeline("--dry-run", "--quiet", "rules", "--", "icccn", *sorted(ICCCN)))
    assert counts["report"] == counts["measurements"] == 1 + len(ICCCN)
    assert counts["measurements_due"] >= len(ICCCN)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--", "icccn-fig2a-ledbat-vs-tpc"],
            "found 'icccn-fig2a-ledbat-vs-tpc'; allowed: .*icccn-fig2a-ledbat-vs-tcp",
        ),
        (["--", "reproduec"], "found 'reproduec'; allowed: .*did you mean reproduce"),
        (["--", "icccm"], "found 'icccm'; allowed: .*did you mean icccn"),
        (["--config", "size=full"], "'full' is not one of .*complete.*quick"),
        (["--config", "studies=[iccn]"], "studies: found 'iccn'; allowed: .*icccn"),
        (
            ["--config", "size=quick", "--", "eunice-fig5-mean-rate-linear"],
            "seeds.quick is 0 in each of its cells; allowed",
        ),
    ],
)
def test_what_is_unknown_is_refused_with_the_nearest_names(pipeline: Any, arguments: list[str], said: str) -> None:
    assert re.search(said, pipeline(*arguments, code=1))
    assert pipeline.calls("testbed run") == []


def test_a_call_says_what_it_costs_and_what_is_kept(small: Any) -> None:
    two = small.folder / "workflows/studies/toy/two.yaml"
    two.write_text(two.read_text().replace("seeds: {complete: 2}", "seeds: {complete: 2, quick: 0}"))
    assert re.search(r"\nquick: 1 run of 0\.0 virtual hours; to do: 1 run .*, about 5 s on 1 core\n", small("quick"))
    said = r"reproduce: 7 runs of 0\.0 virtual hours; to do: 7 runs"
    assert re.search(said, small(code=-signal.SIGKILL, KILL_AT="toy-two/case=b/2"))
    done = len(small.done_seeds())
    assert 0 < done < 7
    assert f"reproduce: 7 runs of 0.0 virtual hours; done and kept, if as they were: {done} run" in small()
    assert small.done_seeds() == ALL_RUNS


def test_what_decides_no_finding_runs_with_everything(small: Any) -> None:
    study = small.folder / "workflows/studies/toy"
    (study / "three.claims.yaml").write_text(
        "experiment: toy-three\ntitle: A cause\nartefact: none\nfigure: {kind: table}\nclaims: []\n"
    )
    (study / "three.yaml").write_text((study / "one.yaml").read_text().replace("toy-one", "toy-three"))
    small()
    assert small.done_seeds() == ALL_RUNS
    small("everything")
    assert {run.split("/")[0] for run in small.done_seeds()} == {"toy-one", "toy-two", "toy-three"}


def test_module_tests_are_run_for_claims_that_need_them(small: Any) -> None:
    claims = small.folder / "workflows/studies/toy/one.claims.yaml"
    claims.write_text(claims.read_text().replace("measure: jain()", "kunit: true"))
    # a quick look builds no debug kernel
    small("quick")
    calls = small.calls("testbed")
    assert not any("kunit" in call for call in calls)
    assert [call for call in calls if call.startswith("testbed plan")] == ["testbed plan None quick"]
    small("toy-one")
    assert [
        call.split()[:2]
        for call in small.calls()
        if not call.startswith(("analysis", "measured", "testbed run", "testbed plan"))
    ] == [
        ["images", "--debug"],
        ["testbed", "kunit"],
    ]
    assert (small.folder / "results/kunit.json").exists()
    # once it is there, it is used; only the experiment whose claims say so is measured again
    small("quick")
    calls = small.calls()
    assert "testbed kunit None None" in calls
    assert [call for call in calls if call.startswith("measured")] == ["measured workflows/studies/toy/one.claims.yaml"]
    (measure,) = (call for call in calls if call.startswith("analysis measure"))
    assert measure.endswith(
        "--runs results/quick/runs --kunit results/quick/kunit.json --out results/quick/experiments"
    )


def test_everything_is_made_once_and_the_summary_printed(small: Any) -> None:
    output = small()
    assert "SUMMARY OF results\n" in output
    assert small.done_seeds() == ALL_RUNS
    calls = small.calls()
    assert sorted(call for call in calls if call.startswith("testbed run")) == [
        "testbed run case=a [1, 2] complete",
        "testbed run case=b [1, 2] complete",
        "testbed run single [1, 2] complete",
        "testbed run single [3] complete",
    ]
    (report,) = (call for call in calls if call.startswith("analysis report"))
    assert "--draw toy-one toy-two" in report
    for file in (
        "report/index.html",
        "experiments/toy-two/verdicts.json",
        "runs/toy/toy-two/case=b/seed-2/columns/packets.parquet",
    ):
        assert (small.folder / "results" / file).exists(), file
    assert unlisted(small.folder / "results", OF_RESULTS) == []

    assert "Nothing to be done" in small()
    assert small.calls() == []

    # Another scenario text: this experiment again, the other not. A seed that is no longer planned lies aside.
    file = small.folder / "workflows/studies/toy/one.yaml"
    file.write_text(file.read_text().replace("complete: 3", "complete: 2"))
    assert "1 run that no scenario plans now lie in results/unused-runs" in small()
    assert (small.folder / "results/unused-runs/toy/toy-one/single/seed-3/run.json").exists()
    assert unlisted(small.folder / "results", OF_RESULTS) == []
    assert small.calls("testbed run") == ["testbed run single [1, 2] complete"]
    assert "toy-one/single/seed-3" not in small.done_seeds()

    # Quick results lie beside the full ones.
    assert "SUMMARY OF results/quick\n" in small("quick")
    assert small.calls("testbed run")[-1].endswith("quick")
    assert (small.folder / "results/quick/runs/toy/toy-one/single/seed-1").exists()
    assert len(small.done_seeds()) == len(ALL_RUNS) - 1


def test_programs_are_built_for_the_runs_that_use_them(small: Any) -> None:
    two = small.folder / "workflows/studies/toy/two.yaml"
    two.write_text(two.read_text().replace("tcp-reno", "libutp"))
    (small.folder / "cache" / index.names(small.folder)["libutp"]).unlink()
    single, both = (job_counts(small("--dry-run", "--quiet", "rules", *name)) for name in (["--", "toy-one"], []))
    assert "program" not in single
    assert both["program"] == 1


def test_measuring_waits_for_the_experiments_that_the_claims_compare_with(small: Any) -> None:
    first, two = (job_counts(small("--dry-run", "--quiet", "rules", "--", f"toy-{name}")) for name in ("one", "two"))
    assert (first["runs"], two["runs"]) == (2, 4)
    assert two["measurements_due"] == two["measurements"] == 1


def test_an_experiment_may_look_at_the_runs_of_another(small: Any) -> None:
    claims = small.folder / "workflows/studies/toy/look.claims.yaml"
    other = claims.with_name("one.claims.yaml")
    claims.write_text(other.read_text().replace("toy-one", "toy-look") + "runs_of: toy-one\n")
    counts = job_counts(small("--dry-run", "--quiet", "rules", "--", "toy-look", "toy-one"))
    assert (counts["runs"], counts["measurements_due"]) == (2, 2)
    claims.write_text(claims.read_text().replace("runs_of: toy-one", "runs_of: toy-nine"))
    assert "look.claims.yaml:13: runs_of: no scenario has experiment 'toy-nine'; allowed: toy-one" in small(code=1)
    claims.unlink()
    other.unlink()
    assert "workflows/studies/toy/one.yaml: no claims; " in small(code=1)


def test_claims_that_change_are_measured_again_and_no_others(small: Any) -> None:
    small()
    small.calls()
    claims = small.folder / "workflows/studies/toy/one.claims.yaml"
    claims.write_text(claims.read_text().replace("1.00", "0.90"))
    small()
    measured = [call for call in small.calls() if call.startswith(("measured", "testbed run"))]
    assert measured == ["measured workflows/studies/toy/one.claims.yaml"]


def test_wrong_claims_are_told_before_anything_runs(small: Any) -> None:
    claims = small.folder / "workflows/studies/toy/two.claims.yaml"
    claims.write_text(claims.read_text() + "  approximat: true\n")
    output = small(code=1)
    assert "two.claims.yaml:14: claims[0].approximat: unknown field; allowed: " in output
    assert "(did you mean approximate?)" in output
    assert "Traceback" not in output
    assert small.calls("testbed run") == []


COUNT_ROUNDS = """
from snakemake.scheduling.job_scheduler import JobScheduler

schedule = JobScheduler._schedule_reevalutation

def counted(self, delay):
    with open("calls.log", "a") as log:
        print("look again", delay, file=log)
    schedule(self, delay)

JobScheduler._schedule_reevalutation = counted
"""


def test_waiting_jobs_are_not_looked_at_every_second(small: Any) -> None:
    (small.folder / "sitecustomize.py").write_text(COUNT_ROUNDS)
    small("toy-one")
    calls = small.calls()
    assert any(call.startswith("testbed run") for call in calls)
    assert "look again 1" not in calls


LOCKS = {".snakemake/testbed.lock": "in this folder", "results/.testbed.lock": "on results"}


@contextmanager
def waiting(small: Any, lock: str) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """A pipeline that waits for a lock, which is the file yielded beside it."""
    (small.folder / lock).parent.mkdir(exist_ok=True)
    with (small.folder / lock).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.write("process 4711 (`snakemake quick`, since noon)")
        held.flush()
        process = small.start("toy-one")
        said = f"Waiting for process 4711 (`snakemake quick`, since noon), which is at work {LOCKS[lock]}.\n"
        assert said in (process.stdout.readline(), process.stdout.readline())  # the first one names the profile
        yield process, held


@pytest.mark.parametrize("lock", LOCKS)
def test_a_second_pipeline_in_the_same_folder_says_for_whom_it_waits_and_goes_on(small: Any, lock: str) -> None:
    with waiting(small, lock) as (process, held):
        assert small.calls() == []
        held.close()
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert small.done_seeds() == ALL_RUNS[:3]
    said = (small.folder / lock).read_text()
    assert re.fullmatch(rf"process {process.pid} \(`.*snakemake.* toy-one`, since [-0-9]{{10}} [:0-9]{{8}}\)", said)


def test_ctrl_c_ends_the_waiting(small: Any) -> None:
    with waiting(small, ".snakemake/testbed.lock") as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "Interrupted; nothing had begun.\n"
    assert process.returncode == 130
    assert small.calls() == []


def test_a_killed_pipeline_goes_on_where_it_was(small: Any) -> None:
    small("toy-two", code=-9, KILL_AT="toy-two/case=b/2")
    killed = small.calls("testbed run")
    assert small.done_seeds()[-1] == "toy-two/case=b/seed-1" or "testbed run case=a [1, 2] complete" not in killed
    small()
    resumed = small.calls("testbed run")
    finished = [call for call in killed if "case=b" not in call]
    assert "testbed run case=b [1, 2] complete" in resumed
    assert not set(finished) & set(resumed)
    assert small.done_seeds() == ALL_RUNS


def test_a_failed_run_is_told_left_out_and_tried_again(small: Any) -> None:
    output = small(code=1, FAIL_AT="toy-two/case=a/2")
    assert "toy-two/case=a/2: failed: so" in output
    assert "1 of 7 runs failed; the next call tries them again." in output
    assert set(ALL_RUNS) - set(small.done_seeds()) == {"toy-two/case=a/seed-2"}
    for experiment in ("toy-one", "toy-two"):
        assert (small.folder / f"results/experiments/{experiment}/verdicts.json").exists()
    assert "SUMMARY OF results\n" in output
    small.calls()
    small()
    calls = small.calls()
    # what had ended well is kept
    assert {call for call in calls if call.startswith(("testbed run", "kept"))} == {
        "testbed run case=a [1, 2] complete",
        "testbed run case=b [1, 2] complete",
        *(f"kept toy-two/{run}" for run in ("case=a/1", "case=b/1", "case=b/2")),
    }
    assert [call for call in calls if call.startswith("measured")] == ["measured workflows/studies/toy/two.claims.yaml"]
    assert small.done_seeds() == ALL_RUNS
    assert "Nothing to be done" in small()


def test_a_run_that_somebody_removed_is_made_again(small: Any) -> None:
    small("toy-one")
    runs = small.folder / "results/runs/toy"
    shutil.rmtree(runs / "toy-one/single/seed-2")
    small.calls()
    small("toy-one")
    kept = [call for call in small.calls() if call.startswith("kept")]
    assert sorted(kept) == ["kept toy-one/single/1", "kept toy-one/single/3"]
    assert "Nothing to be done" in small("toy-one")
    shutil.rmtree(runs)
    small.calls()
    small("toy-one")
    assert not any(call.startswith("kept") for call in small.calls())
    assert small.done_seeds() == ALL_RUNS[:3]


def test_a_damaged_plan_is_made_again(small: Any) -> None:
    looking = ("--dry-run", "--quiet", "rules", "--", "toy-one")
    before = small(*looking)
    for plan in (small.folder / ".snakemake/plans").iterdir():
        plan.write_text(plan.read_text().replace("toy", "boy"))
    small.calls()
    assert job_counts(small(*looking)) == job_counts(before)
    assert small.calls("testbed plan") == ["testbed plan None complete"]


def test_whole_folders_that_somebody_removed_are_named_and_made_again(small: Any) -> None:
    small()
    results = small.folder / "results"
    files = {file for file in results.rglob("*") if file.is_file()}
    shutil.rmtree(results / "experiments/toy-one")
    shutil.rmtree(results / "runs/toy/toy-two/case=a/seed-2")
    (results / "report/SHA256SUMS").unlink()
    shutil.rmtree(results / "tables")
    told = re.findall(r"^results/(.*)/SHA256SUMS: missing; due again$", small(), flags=re.MULTILINE)
    assert sorted(told) == ["experiments/toy-one", "report", "runs/toy/toy-two/case=a/seed-2"]
    assert files <= set(results.rglob("*"))
    assert "Nothing to be done" in small()


def test_a_wrong_scenario_is_told_before_anything_runs(small: Any) -> None:
    two = small.folder / "workflows/studies/toy/two.yaml"
    two.write_text(two.read_text().replace("buffer: 40p", "buffer: 40"))
    output = small(code=1)
    assert "workflows/studies/toy/two.yaml:4: bottleneck.buffer: found 40, a number without a unit" in output
    assert "Traceback" not in output
    assert small.calls("testbed run") == []


def test_a_study_without_scenarios_is_told(small: Any) -> None:
    (small.folder / "workflows/config.yaml").write_text("studies: [toys]\n")
    assert "workflows/config.yaml: studies: found 'toys'; allowed: toy" in small(code=1)


@pytest.mark.parametrize(
    ("jobs", "calls"),
    [
        # three runs of 1 s; two of 1 s and two of 2 s
        ("{runs: 2}", ["case=a [1, 2]", "case=b [1, 2]", "single [1, 2]", "single [3]"]),
        ("{runs: 4}", ["case=a case=b [1, 2]", "single [1, 2, 3]"]),
        ("{virtual_seconds: 2}", ["case=a [1, 2]", "case=b [1]", "case=b [2]", "single [1, 2]", "single [3]"]),
        ("{virtual_seconds: 6}", ["case=a case=b [1, 2]", "single [1, 2, 3]"]),
    ],
)
def test_jobs_hold_as_many_runs_as_the_configuration_says(small: Any, jobs: str, calls: list[str]) -> None:
    (small.folder / "workflows/config.yaml").write_text(f"studies: [toy]\njobs: {jobs}\n")
    small()
    assert sorted(small.calls("testbed run")) == [f"testbed run {call} complete" for call in calls]
    assert small.done_seeds() == ALL_RUNS


MORE_FLOWS = "".join(f"{{name: f{number}, implementation: tcp-reno, from: s1, to: d1}}, " for number in range(40))


@pytest.mark.parametrize(
    "change", [("10mbit", "100mbit"), ("flows: [", f"flows: [{MORE_FLOWS}")], ids=["rate", "flows"]
)
def test_runs_with_more_packets_or_flows_take_longer(small: Any, change: tuple[str, str]) -> None:
    (small.folder / "workflows/config.yaml").write_text("studies: [toy]\njobs: {virtual_seconds: 6}\n")
    file = small.folder / "workflows/studies/toy/one.yaml"
    text = file.read_text()
    file.write_text(text.replace(*change))
    assert file.read_text() != text
    small("toy-one")
    assert sorted(small.calls("testbed run")) == [f"testbed run single [{seed}] complete" for seed in (1, 2, 3)]


def test_style_of_the_rules() -> None:
    files = [
        ROOT / "Snakefile",
        ROOT / "testbed/pipeline.smk",
        *sorted((ROOT / "workflows/rules").glob("*.smk")),
    ]
    subprocess.run([sys.executable, "-m", "snakefmt", "--check", *map(str, files)], check=True)
    assert not [file for file in files if "lambda" in file.read_text()]


def test_lint(pipeline: Any) -> None:
    text = pipeline("--lint", "text", code=1)
    hints = set(re.findall(r"^ {4}\* (.*):$", text, flags=re.MULTILINE))
    assert hints == {"Specify a conda environment or container for each rule."}, text


def test_with_an_empty_cache_quick_builds_what_its_runs_need_and_nothing_else(pipeline: Any) -> None:
    shutil.rmtree(pipeline.folder / "cache")
    planned = pipeline("--dry-run", "--quiet", "host", "--", "quick")
    built = set(re.findall(r"^ +output: results/sources/images/(\S+)\.json$", planned, re.MULTILINE))
    plans = [file.read_text().splitlines()[1:] for file in (pipeline.folder / ".snakemake/plans").iterdir()]
    cells = [json.loads(line) for lines in plans for line in lines]
    needed = {name for cell in cells if cell["study"] != "today" for name in cell.get("programs", ())}
    assert built == {index.BOOT, *needed}
    assert "rule module_tests" not in planned


def test_what_the_first_experiment_reads_comes_before_the_others_run_too(small: Any) -> None:
    config, study = small.folder / "workflows/config.yaml", small.folder / "workflows/studies/toy"
    config.write_text(f"{config.read_text()}first: toy-two\n")  # its claim reads toy-one
    (study / "long.yaml").write_text(scenario("toy-long", "cases: {long: {duration: 9s}}\n"))
    (study / "long.claims.yaml").write_text(claims("toy-long", "cell: case=long\n  measure: jain()"))
    small()
    calls = small.calls()
    first = next(number for number, call in enumerate(calls) if call.startswith("analysis report"))
    assert first < min(number for number, call in enumerate(calls) if "case=long" in call)


def test_the_first_experiment_and_its_page_come_before_the_others_run(small: Any) -> None:
    config = small.folder / "workflows/config.yaml"
    config.write_text(f"{config.read_text()}first: toy-one\n")
    said = small()
    calls = small.calls()
    reports = [number for number, call in enumerate(calls) if call.startswith("analysis report")]
    others = [number for number, call in enumerate(calls) if "case=" in call]
    assert len(reports) == 2
    assert reports[0] < min(others)
    assert " toy-two" not in calls[reports[0]]
    assert "the first figure is there, while the rest runs: results/report/toy-one.html\n" in said
