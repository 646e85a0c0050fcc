"""Carries out runs in several forks at once (testbed/fork_server.py), and ends them with this process."""

import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import IO, Final

from analysis.runs import Runs
from common.end_with_parent import PIPELINE
from engine.errors import EngineError, printable
from engine.store import PLACE
from scenarios.cells import PlannedCell
from testbed import fork_client
from testbed.batches import JobBatch, batches, virtual_s

_JOBS_PER_CPU: Final = 4
"""So that no processor waits long for the last job."""
_FAILED: Final = 1  # of `testbed run`
_DYING_S: Final = 1.0
_AGAIN: Final = "repeat the command, finished runs are kept"


@dataclass(frozen=True)
class Job:
    """Runs of one scenario that a fork carries out."""

    scenario: str
    experiment: str
    batch: JobBatch

    def command(self, into: Path, since: Path) -> list[str]:
        """Return the command of `testbed` that makes these runs in the folder `into`, as `carry_out` says."""
        words = [word for cell in self.batch.cells for word in ("--cell", cell["cell"])]
        words += [word for seed in self.batch.seeds for word in ("--seed", str(seed))]
        return ["run", self.scenario, *words, "--columns", "--keep-since", str(since), "--into", str(into)]


def divide(due: Sequence[tuple[PlannedCell, Sequence[int]]]) -> list[Job]:
    """Divide what is due, cells with their seeds, into jobs; the longest come first."""
    share = _JOBS_PER_CPU * _processors()
    runs = sum(len(seeds) for _, seeds in due)
    limits = {
        "runs": math.ceil(runs / share),
        "virtual_seconds": sum(len(seeds) * virtual_s(cell) for cell, seeds in due) / share,
    }
    jobs = [
        Job(scenario, experiment, batch)
        for (scenario, experiment), cells in groupby(due, lambda one: (one[0]["scenario"], one[0]["experiment"]))
        for batch in batches(({**cell, "seeds": list(seeds)} for cell, seeds in cells), limits)
    ]
    return sorted(jobs, key=lambda job: -job.batch.weight)


def carry_out(jobs: Sequence[Job], into: Path, since: Path, store: Path) -> None:
    """Carry out jobs, as many at once as there are processors, and print a line after each run.

    What the store has is not carried out again; `since` is the note on the code of tables. Runs may fail: what is
    judged names those. If interrupted, ends all forks with their guests.

    Raises:
        EngineError: a fork, or what forks, ended before its runs were done or failed.
    """
    if not jobs:
        return
    runs = sum(len(job.batch.runs()) for job in jobs)
    with _forks(set().union(*(job.batch.programs() for job in jobs)), store) as (process, place):
        work = _Work(into, since, runs, process, place)
        with ThreadPoolExecutor(_processors()) as pool:
            try:
                list(pool.map(work.carry_out, jobs))
            except KeyboardInterrupt:
                pool.shutdown(wait=False, cancel_futures=True)
                work.end()
                raise
        ended = _ended(process, is_likely=bool(work.lost))
    if ended is not None:
        raise EngineError(f"the process that carries out runs {_how(ended)}; {_AGAIN}")
    if work.lost:
        raise EngineError(f"{work.lost[0]}; {_AGAIN}")


@contextmanager
def _forks(programs: Iterable[str], store: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Yield the process that forks, and the socket that it listens to. It leads a group of processes, all its forks."""
    # runs end with this process, even if it is killed
    environment = {**os.environ, PIPELINE: str(os.getpid()), PLACE: str(store)}
    with tempfile.TemporaryDirectory(prefix="testbed-forks-") as name, _opened(name) as folder:
        place = f"/proc/self/fd/{folder}/forks"  # a socket's path has 107 bytes at most
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            listening.bind(place)
            listening.listen(_processors())
            process = fork_client.start_server(listening, programs, environment, own_group=True)
        with process:
            try:
                yield process, place
            finally:
                process.terminate()


@contextmanager
def _opened(folder: str) -> Iterator[int]:
    descriptor = os.open(folder, os.O_PATH)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass
class _Work:
    """What is at work, and how many runs of how many are done."""

    into: Path
    since: Path
    runs: int
    process: subprocess.Popen[bytes]
    place: str
    ended: int = 0
    lost: list[str] = field(default_factory=list)
    stopped: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def carry_out(self, job: Job) -> None:
        """Carry out a job, and show why runs failed."""
        with (
            tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as forks,
        ):
            try:
                output = self._begin(job, forks, errors)
            except ConnectionError:  # what forks has ended
                return
            if output is None:
                return
            with output:
                for line in output:
                    self._tell(line.strip())
            status = fork_client.status(forks)
            if not self.stopped:
                self._conclude(job, status, errors)

    def end(self) -> None:
        """End all forks, and begin no more."""
        with self.lock:
            self.stopped = True
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(self.process.pid, signal.SIGTERM)

    def _begin(self, job: Job, forks: socket.socket, errors: IO[str]) -> IO[str] | None:
        """Hand a job over, and return what it says; it ends with the fork."""
        with self.lock:
            if self.stopped:
                return None
            forks.connect(self.place)
            reading, writing = os.pipe()
            with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - standard input
                streams = [nothing.fileno(), writing, errors.fileno()]
                fork_client.hand_over(forks, job.command(self.into, self.since), streams)
            os.close(writing)
        return os.fdopen(reading, encoding="utf-8", errors="replace")

    def _tell(self, line: str) -> None:
        with self.lock:
            self.ended += 1
            print(f"run {self.ended}/{self.runs}: {line}", file=sys.stderr, flush=True)

    def _conclude(self, job: Job, status: int, errors: IO[str]) -> None:
        """Show why runs failed, or all that a fork said if it ended otherwise."""
        errors.seek(0)
        runs = job.batch.runs()
        failed = [
            f"{job.experiment}/{failure.cell}/seed-{failure.seed}: failed: {failure.why}"
            for failure in (Runs(self.into).failed(job.experiment) if self.into.is_dir() else ())
            if f"{failure.cell}/seed-{failure.seed}" in runs
        ]
        well = status == 0 or (status == _FAILED and failed)
        for line in failed if well else errors.read().splitlines():
            print(printable(line), file=sys.stderr, flush=True)
        with self.lock:
            self.ended += len(failed)
            if not well:
                self.lost.append(
                    f"the process with runs of {job.experiment}, {job.batch.cells[0]['cell']}, {_how(status)}"
                )


def _ended(process: subprocess.Popen[bytes], *, is_likely: bool) -> int | None:
    """Return the status of a process that has ended; one that was killed is told so a moment after its forks."""
    with suppress(subprocess.TimeoutExpired):
        return process.wait(_DYING_S if is_likely else 0)
    return None


def _how(status: int) -> str:
    """Say how a process ended, by its status as Python has it or as a shell has it."""
    with suppress(ValueError):  # no signal
        return f"was ended by {signal.Signals(-status if status < 0 else status - 128).name}"
    return f"ended with status {status}"


def _processors() -> int:
    return len(os.sched_getaffinity(0))
