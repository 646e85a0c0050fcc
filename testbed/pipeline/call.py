"""What a call of the pipeline does before its first job starts, and after the last one has succeeded."""

from __future__ import annotations

import logging
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from common.counts import plural
from common.end_with_parent import PIPELINE
from common.estimate import about
from engine.store import PLACE
from scenarios.resolve import QUICK
from scenarios.run_files import FAILED
from testbed import fork_client, unplanned
from testbed.batches import Cell, weight
from testbed.pipeline.jobs import Jobs
from testbed.pipeline.plan import REPRODUCE
from testbed.pipeline.progress import RunsProgress, expected_s

_REFERENCE: Final = "workflows/reference"


class Call:
    """A call of Snakemake, whose `workflow` knows its jobs. `store` is where these find runs of other names."""

    def __init__(self, workflow: Any, jobs: Jobs, store: str) -> None:
        self._workflow = workflow
        self._jobs = jobs
        self._store = store
        self._forks: subprocess.Popen[bytes] | None = None
        self._started_s = time.time()

    def begin(self) -> None:
        """Set aside runs that no scenario plans any more, show progress, and start what carries out runs."""
        logger.addFilter(_is_worth_a_line)
        os.environ[PLACE] = self._store
        local = self._workflow.local_exec
        if local:
            # For the sake of clusters, Snakemake limits the jobs that it starts per second, and for that checks all
            # waiting jobs again a second after each job: after 200 jobs, that took a fifth of a processor.
            self._workflow.scheduler.job_rate_limiter = None
            os.environ[PIPELINE] = str(os.getpid())  # runs end with it, even if it is killed
        for results in self._folders_of_results():
            plan = self._jobs.plans[results]
            for experiment in plan.experiments:
                unplanned.set_aside(Path(results), [Path(plan.folder(experiment))], plan.runs(experiment))
        needed = list(self._workflow.dag.needrun_jobs())
        due = [job for job in needed if job.rule.name == "runs"]
        print(self._cost(due), file=sys.stderr, flush=True)
        if due:
            weights = [(job, self._jobs.weights(job.wildcards).items()) for job in due]
            runs = {run: (weight, job.output[0]) for job, its_runs in weights for run, weight in its_runs}
            builds = [job.output[0] for job in needed if job.rule.name == "program"]
            reports = [job for job in needed if job.rule.name == "report"]
            first = {marker: page for job in reports for marker, page in self._jobs.first_page(job.wildcards).items()}
            RunsProgress(runs, builds, self._workflow.cores, time.time(), first).start()
            if local:
                self._start_forks({name for job in due for name in self._jobs.batch(job.wildcards).programs()})

    def end(self) -> None:
        """Print what came out and what it took.

        Raises:
            WorkflowError: runs that are measured here have failed; the measurements without them name them.
        """
        if self._forks:
            self._forks.terminate()
            self._forks.wait()  # then this process knows what CPU time it took
        took = ["--since", str(self._started_s), "--cores", str(self._workflow.cores), "--cpu", str(_cpu_s())]
        for results in self._folders_of_results():
            command = [sys.executable, "-P", "-m", "analysis", "summary", "--results", results, *took]
            is_quick = self._jobs.plans[results].size == QUICK
            subprocess.run([*command, *_beside_reference(results, is_quick=is_quick)], check=True)
        jobs = [job for job in self._workflow.dag.jobs if job.rule.name == "runs"]
        folders = [Path(folder) for job in jobs for folder in self._jobs.weights(job.wildcards)]
        failed = sum(folder.with_name(f"{FAILED}{folder.name}").exists() for folder in folders)
        if failed:
            raise WorkflowError(f"{failed} of {len(folders)} runs failed; the next call tries them again.")

    def _cost(self, due: Iterable[Any]) -> str:
        """Say what all runs of this call are, what of them is kept, and what the others will take."""
        all_runs = self._runs(job for job in self._workflow.dag.jobs if job.rule.name == "runs")
        left = {folder: cell for folder, cell in self._runs(due).items() if not self._jobs.is_kept(folder)}
        asked = ", ".join(self._workflow.dag_settings.targets) or REPRODUCE
        said = f"{asked}: {_amount(all_runs)}"
        if len(left) < len(all_runs):
            said += f"; done and kept, if as they were: {plural(len(all_runs) - len(left), 'run')}"
        if left:
            takes = about(expected_s(sum(map(weight, left.values())), self._workflow.cores))
            said += f"; to do: {_amount(left)}, {takes} on {plural(self._workflow.cores, 'core')}"
        return said

    def _runs(self, jobs: Iterable[Any]) -> dict[str, Cell]:
        """Return the run folders of jobs, and the cell of each run."""
        return {folder: cell for job in jobs for folder, cell in self._jobs.runs(job.wildcards).items()}

    def _folders_of_results(self) -> list[str]:
        """Return the folders of results that the jobs belong to."""
        jobs = self._workflow.dag.jobs
        return sorted({job.wildcards.results for job in jobs if "results" in job.wildcards.keys()})  # noqa: SIM118

    def _start_forks(self, programs: Iterable[str]) -> None:
        """Start what carries out runs in forks, so that no job waits for Python and its libraries."""
        place = Path(".snakemake/testbed.forks")
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(str(place))
            place.chmod(0o600)
            listening.listen(self._workflow.cores)
            self._forks = fork_client.start_server(listening, programs)
        os.environ[fork_client.PLACE] = str(place)


def _beside_reference(results: str, *, is_quick: bool) -> list[str]:
    """Return the arguments that show the reference set beside results, and how to go on from there."""
    if not Path(_REFERENCE, "set.json").exists():
        return []
    compare = f"python -m analysis diff --results {results} --reference {_REFERENCE}"
    lines = [f"Each number beside the reference set's: {compare}"]
    lines += ["Verdicts, with the seeds that decide: make reproduce"] * is_quick
    return ["--reference", _REFERENCE, *(f"--next={line}" for line in lines)]


def _amount(runs: Mapping[str, Cell]) -> str:
    """Say how many runs there are, and for how long they last together."""
    hours = sum(cell["virtual_s"] for cell in runs.values()) / 3600
    return f"{plural(len(runs), 'run')} of {hours:.1f} virtual hours"


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Tell whether a log record says more than that a job starts or ends, which the progress line shows better."""
    event: LogEvent = getattr(record, "event", LogEvent.JOB_STARTED)
    return record.levelno > logging.INFO or event != LogEvent.JOB_STARTED


def _cpu_s() -> float:
    """Return the CPU time of this process and of all that have ended below it, in s."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))
