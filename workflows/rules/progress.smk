# Prints a line such as "runs 12/60, 34 %, about 2 min left" for each further percent of the virtual time.
import fcntl
import logging
import shutil
import threading
import time

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent


class Progress(threading.Thread):
    """Watches the run folders of the due jobs and prints their progress."""

    def __init__(self, jobs):
        super().__init__(daemon=True)
        self.started = time.time()
        self.weights = {}
        self.jobs = {}
        for job in jobs:
            for folder, weight in weights_of_runs(job.wildcards).items():
                self.weights[folder] = weight
                self.jobs[folder] = job.output[0]
        self.whole = sum(self.weights.values())
        self.waiting = set(self.weights)
        self.percent = 0

    def run(self):
        while self.waiting:
            time.sleep(2)
            self.waiting -= {folder for folder in self.waiting if self.is_done(folder)}
            self.tell()

    def is_done(self, folder):
        """Tell whether a run, or else its job, has ended since this Snakemake started; it may have failed."""
        return any(self.is_new(file) for file in (f"{folder}/summary.json", self.jobs[folder]))

    def is_new(self, file):
        try:
            return os.stat(file).st_mtime >= self.started
        except FileNotFoundError:
            return False

    def tell(self):
        """Print the line if it has changed."""
        left = sum(self.weights[folder] for folder in self.waiting)
        share = 1 - left / self.whole
        if int(100 * share) == self.percent:
            return
        self.percent = int(100 * share)
        seconds = (time.time() - self.started) * (1 / share - 1)
        estimate = f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
        done = len(self.weights) - len(self.waiting)
        print(
            f"runs {done}/{len(self.weights)}, {self.percent} %, {estimate}",
            file=sys.stderr,
            flush=True,
        )


def remove_unplanned(results):
    """Remove run folders that no scenario plans any more: they would be measured with the others."""
    for cells in plan(SIZES[results]).values():
        for experiment in {f"{results}/runs/{cell['study']}/{cell['experiment']}" for cell in cells.values()}:
            for folder in (*Path(experiment).glob("*/seed-*"), *Path(experiment).glob("*/failed-seed-*")):
                cell = cells.get(folder.parent.name)
                if cell is None or int(folder.name.rpartition("-")[2]) not in cell["seeds"] + cell["more_seeds"]:
                    print(
                        f"removing {folder}, which {Path(experiment).name} no longer has",
                        file=sys.stderr,
                    )
                    shutil.rmtree(folder)


def refuse_failed_runs():
    """Fail if runs that are measured here have failed; the measurements without them name them."""
    folders = [
        Path(folder) for job in workflow.dag.jobs if job.rule.name == "runs" for folder in run_folders(job.wildcards)
    ]
    failed = sum(folder.with_name(f"failed-{folder.name}").exists() for folder in folders)
    if failed:
        raise WorkflowError(f"{failed} of {len(folders)} runs failed; the next call tries them again.")


def folders_of_results():
    """Return the folders of results that the jobs of this call belong to."""
    return sorted({job.wildcards.results for job in workflow.dag.jobs if "results" in job.wildcards.keys()})


@functools.cache  # keeps the file open, and with it the lock, as long as this process lives
def lock():
    """Refuse to run beside another Snakemake in the same folder.

    Snakemake's own lock outlives a killed process and is switched off in the profile.
    """
    held = open(".snakemake/testbed.lock", "w")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise WorkflowError("Another snakemake is at work in this folder.") from None
    return held


def is_worth_a_line(record):
    """Tell whether a log record says more than that a job starts or ends, which the progress line shows better."""
    return record.levelno > logging.INFO or getattr(record, "event", LogEvent.JOB_STARTED) != LogEvent.JOB_STARTED


onstart:
    lock()
    # For the sake of clusters, Snakemake limits the jobs that it starts per second, and for that checks all waiting
    # jobs again a second after each job: after 200 jobs, that took a fifth of a processor.
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None
    logger.addFilter(is_worth_a_line)
    for results in folders_of_results():
        remove_unplanned(results)
    due = [job for job in workflow.dag.needrun_jobs() if job.rule.name == "runs"]
    if due:
        Progress(due).start()
