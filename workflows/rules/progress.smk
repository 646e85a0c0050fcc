# What is printed and prepared while the pipeline runs (testbed/pipeline.py).
import logging
import socket

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from testbed import fork_client, pipeline

FORK_SERVERS = []


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


def start_fork_server(due):
    """Start what carries out runs in forks, so that no job waits for Python and its libraries."""
    place = Path(".snakemake/testbed.forks")
    place.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(place))
        place.chmod(0o600)
        listening.listen(workflow.cores)
        programs = {name for job in due for cell in batch_of(job.wildcards).cells for name in cell["programs"]}
        FORK_SERVERS.append(fork_client.start_server(listening, programs))
    os.environ[fork_client.PLACE] = str(place)


def end_fork_server():
    """End it, so that this process knows what CPU time it took."""
    for process in FORK_SERVERS:
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
        pipeline.remove_unplanned(Path(results), plan(SIZES[results]).values())
    due = [job for job in workflow.dag.needrun_jobs() if job.rule.name == "runs"]
    if due:
        runs = {
            run: (weight, job.output[0]) for job in due for run, weight in weights_of_runs(job.wildcards).items()
        }
        pipeline.Progress(runs, time.time()).start()
        if workflow.local_exec:
            start_fork_server(due)
