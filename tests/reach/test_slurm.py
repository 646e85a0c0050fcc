"""The Slurm profile against the Slurm of this machine, or against one of two nodes that is started for the tests.

The bytes of a run must not depend on who started it, nor on how often its job was ended.
"""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.images import PROJECT
from images.cache import default_root
from tests.reach import slurm

EXPERIMENT = "icccn-fig2a-ledbat-vs-tcp"
TWO_RUNS = "icccn-fig2a-utilization-baselines"
"""What the experiment's claims need besides: two runs in a job."""
SNAKEMAKE = str(Path(sys.executable).parent / "snakemake")
PAGE = (PROJECT / "docs/howto/clusters.md").read_text()
BUILT = ("kernels", "modules", "rootfs", "sources", "tools", "downloads")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("snakemake_executor_plugin_slurm") is None,
    reason="snakemake-executor-plugin-slurm is not installed in this environment",
)


def _slurm_answers() -> bool:
    if shutil.which("sinfo") is None:
        return False
    return subprocess.run(["sinfo"], capture_output=True, timeout=10, check=False).returncode == 0


@pytest.fixture(scope="module", autouse=True)
def _a_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if _slurm_answers():
        yield
        return
    lacking = slurm.missing()
    if lacking:
        pytest.skip(f"no Slurm answers here (sinfo), and {lacking}")
    with slurm.running(tmp_path_factory.mktemp("slurm")):
        yield


def _checkout(folder: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", PROJECT, folder], check=True)
    for compiled in PROJECT.glob("analysis/capture/*.so"):
        shutil.copy(compiled, folder / "analysis" / "capture")
    return folder


def _on_slurm() -> list[str]:
    """The options of the page's command, and those that it has for a Slurm without accounting."""
    partitions = subprocess.run(["sinfo", "--noheader", "--format=%P"], capture_output=True, text=True, check=True)
    [said] = re.findall(r"^\.venv/bin/snakemake (.*) -- reproduce$", PAGE.replace("\\\n", ""), re.MULTILINE)
    [without_accounting] = re.findall(r"`(--slurm-no-account .*?)`", PAGE.replace("\n", " "))
    named = said.replace("=NAME", f"={partitions.stdout.split()[0].rstrip('*')}")
    return [*named.split(), *without_accounting.split()]


def _command(*options: str) -> list[str]:
    return ["timeout", "--kill-after=10", "1200", SNAKEMAKE, *options, "--config", "size=quick"]


def _environment(cache: Path) -> dict[str, str]:
    return os.environ | {"TESTBED_CACHE": str(cache)}


def _bytes(folder: Path) -> dict[str, bytes]:
    """Captures and traces of the experiment at size quick."""
    runs = folder / "results" / "quick" / "runs"
    kept = [path for path in runs.rglob("*") if path.suffix in (".parquet", ".csv")]
    return {str(path.relative_to(runs)): path.read_bytes() for path in kept}


def _jobs() -> dict[str, dict[str, str]]:
    """What Slurm knows of its jobs, by their numbers."""
    command = ["scontrol", "--oneliner", "show", "jobs"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    jobs = [dict(re.findall(r"(\S+?)=(\S*)", line)) for line in told.splitlines() if "JobId=" in line]
    return {job["JobId"]: job for job in jobs}


def test_a_run_is_the_same_on_a_cluster(tmp_path: Path) -> None:
    local, cluster = _checkout(tmp_path / "local"), _checkout(tmp_path / "cluster")
    command = [*_command("--cores", "all"), "--", EXPERIMENT]
    subprocess.run(command, cwd=local, env=_environment(default_root()), check=True)
    # a cache that does not know these sources: its index is written before the first job, and not by one
    cache = tmp_path / "cache"
    cache.mkdir()
    for kind in BUILT:
        (cache / kind).symlink_to(default_root() / kind)
    (tmp_path / "short-jobs.yaml").write_text("jobs: {runs: 1, virtual_seconds: 20000}\n")
    command = [*_command(*_on_slurm(), "--configfile", str(tmp_path / "short-jobs.yaml")), "--", EXPERIMENT]
    before = _jobs()
    subprocess.run(command, cwd=cluster, env=_environment(cache), check=True)
    assert _bytes(local)
    assert _bytes(local) == _bytes(cluster)
    made = len(list(cluster.glob("results/quick/runs/*/*/job-*.done")))
    jobs = [job for number, job in _jobs().items() if number not in before]
    # the runs, then metrics and report
    assert len(jobs) == made + 2
    assert {(job["NumCPUs"], job["MinMemoryNode"]) for job in jobs} == {("1", "2000M")}
    assert (cache / "images").is_dir()


def _jobs_of_two_runs(before: Collection[str]) -> list[dict[str, str]]:
    return [job for number, job in _jobs().items() if number not in before and TWO_RUNS in job["Comment"]]


def _cancel(job: str) -> None:
    subprocess.run(["scancel", job], check=True)


def _exceed_its_limit(job: str) -> None:
    """Keep the job from going on until its time is over: a minute, the least that Slurm knows."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            own = f"SLURM_JOB_ID={job}\0".encode() in (process / "environ").read_bytes()
            if own and b"testbed\0run\0" in (process / "cmdline").read_bytes():
                os.kill(int(process.name), signal.SIGSTOP)
    subprocess.run(["scontrol", "update", f"JobId={job}", "TimeLimit=1"], check=True)


def _kill(job: str) -> None:
    """As when a node fails: neither the job nor its script says anything."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"SLURM_JOB_ID={job}\0".encode() in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)


@pytest.mark.skipif(
    importlib.util.find_spec("snakemake_executor_plugin_cluster_generic") is None,
    reason="snakemake-executor-plugin-cluster-generic is not installed in this environment",
)
def test_a_job_that_is_killed_under_a_scheduler_without_a_plugin_is_submitted_again(tmp_path: Path) -> None:
    folder, before = _checkout(tmp_path / "checkout"), _jobs()
    command = [*_command("--workflow-profile", "profiles/cluster-generic"), "--", EXPERIMENT]
    with subprocess.Popen(command, cwd=folder, env=_environment(default_root())) as snakemake:
        killed = None
        while killed is None and snakemake.poll() is None:
            time.sleep(0.2)
            states = {number: job["JobState"] for number, job in _jobs().items() if number not in before}
            killed = next((number for number, state in states.items() if state == "RUNNING"), None)
        assert killed is not None
        _kill(killed)
        assert snakemake.wait() == 0
    assert _jobs()[killed]["JobState"] in ("FAILED", "CANCELLED")
    assert _bytes(folder)


@pytest.mark.parametrize(("end", "state"), [(_cancel, "CANCELLED"), (_exceed_its_limit, "TIMEOUT")])
def test_a_job_that_is_ended_keeps_what_it_had_finished(end: Callable[[str], None], state: str, tmp_path: Path) -> None:
    folder, before = _checkout(tmp_path / "checkout"), _jobs()
    command = [*_command(*_on_slurm()), "--", EXPERIMENT]
    with subprocess.Popen(command, cwd=folder, env=_environment(default_root())) as snakemake:
        first = None
        while first is None and snakemake.poll() is None:
            time.sleep(0.2)  # the cluster's time is that of the host
            first = next(folder.glob(f"results/quick/runs/*/{TWO_RUNS}/*/seed-*/summary.json"), None)
        assert first is not None
        made_ns = first.stat().st_mtime_ns
        (asked,) = (job for job in _jobs_of_two_runs(before) if job["JobState"] == "RUNNING")
        end(asked["JobId"])
        assert snakemake.wait() == 0
    assert first.stat().st_mtime_ns == made_ns
    logs = folder.glob(f"results/quick/logs/runs/*/{TWO_RUNS}/job-*.log")
    assert any("finished before, and kept" in log.read_text() for log in logs)
    *_, ended, again = _jobs_of_two_runs(before)
    assert (ended["JobState"], again["JobState"]) == (state, "COMPLETED")
    assert again["TimeLimit"] > asked["TimeLimit"]
