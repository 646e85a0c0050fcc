# Prints a line such as "runs 12/60, 34 %, about 2 min left" for each further percent of the work.
import logging
import shutil
import socket
import subprocess
import threading
import time

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

FORKS = []


class Progress(threading.Thread):
    """Watches the run folders of the due jobs and prints their progress.

    What a run takes is its weight times the wall time per weight that runs of its experiment took so far, or else all runs.
    """

    def __init__(self, jobs):
        super().__init__(daemon=True)
        self.started = time.time()
        self.weights = {}
        self.jobs = {}
        for job in jobs:
            for folder, weight in weights_of_runs(job.wildcards).items():
                self.weights[folder] = weight
                self.jobs[folder] = job.output[0]
        self.waiting = set(self.weights)
        self.took_s = {}
        self.percent = 0

    def run(self):
        while self.waiting:
            time.sleep(2)
            done = {folder for folder in self.waiting if self.is_done(folder)}
            self.took_s |= {folder: wall_s for folder in done if (wall_s := self.wall_s(folder))}
            self.waiting -= done
            if self.took_s:
                self.tell()

    def is_done(self, folder):
        """Tell whether a run, or else its job, has ended since this Snakemake started; it may have failed."""
        return any(self.is_new(file) for file in (f"{folder}/summary.json", self.jobs[folder]))

    def is_new(self, file):
        try:
            return os.stat(file).st_mtime >= self.started
        except FileNotFoundError:
            return False

    def wall_s(self, folder):
        """Return what a run took; None if nothing says so, as of one that failed."""
        try:
            return json.loads(Path(folder, "summary.json").read_text()).get("wall_s")
        except FileNotFoundError:
            return None

    def pace(self, folders):
        """Return the wall time per weight of runs that are done."""
        return sum(self.took_s[folder] for folder in folders) / sum(self.weights[folder] for folder in folders)

    def left_s(self):
        """Return what the waiting runs will take together."""
        done = {}
        for folder in self.took_s:
            done.setdefault(experiment_of(folder), []).append(folder)
        paces = {experiment: self.pace(folders) for experiment, folders in done.items()}
        other = self.pace(self.took_s)
        return sum(self.weights[folder] * paces.get(experiment_of(folder), other) for folder in self.waiting)

    def tell(self):
        """Print the line if it has changed."""
        done_s, left_s = sum(self.took_s.values()), self.left_s()
        percent = int(100 * done_s / (done_s + left_s))
        if percent <= self.percent:
            return
        self.percent = percent
        seconds = (time.time() - self.started) * left_s / done_s
        estimate = f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
        done = len(self.weights) - len(self.waiting)
        print(
            f"runs {done}/{len(self.weights)}, {self.percent} %, {estimate}",
            file=sys.stderr,
            flush=True,
        )


def experiment_of(folder):
    """Return the folder of a run's experiment."""
    return folder.rsplit("/", 2)[0]


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


def start_forks(due):
    """Start what carries out runs in forks (testbed/forks.py), so that no job waits for Python and its libraries."""
    place = Path(".snakemake/testbed.forks")
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(place))
        place.chmod(0o600)
        listening.listen(workflow.cores)
        programs = {name for job in due for cell in batch_of(job.wildcards).cells for name in cell["programs"]}
        python = [sys.executable, "-P", "-W", "ignore::DeprecationWarning"]
        words = [*python, "-m", "testbed.forks", *sorted(programs)]
        FORKS.append(subprocess.Popen(words, stdin=listening, env={**os.environ, "OMP_NUM_THREADS": "1"}))
    os.environ.update(TESTBED_FORKS=str(place))


def end_forks():
    """End it, so that this process knows what CPU time it took."""
    for process in FORKS:
        process.terminate()
        process.wait()


def is_worth_a_line(record):
    """Tell whether a log record says more than that a job starts or ends, which the progress line shows better."""
    return record.levelno > logging.INFO or getattr(record, "event", LogEvent.JOB_STARTED) != LogEvent.JOB_STARTED


onstart:
    if workflow.local_exec:
        # For the sake of clusters, Snakemake limits the jobs that it starts per second, and for that checks all waiting
        # jobs again a second after each job: after 200 jobs, that took a fifth of a processor.
        workflow.scheduler.job_rate_limiter = None
        os.environ.update(TESTBED_PIPELINE=str(os.getpid()))  # runs end with it, even if it is killed
    logger.addFilter(is_worth_a_line)
    for results in folders_of_results():
        remove_unplanned(results)
    due = [job for job in workflow.dag.needrun_jobs() if job.rule.name == "runs"]
    if due:
        Progress(due).start()
        if workflow.local_exec:
            start_forks(due)
