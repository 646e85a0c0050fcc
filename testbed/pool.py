"""Works on the jobs of a command in processes, one for each CPU; `testbed.jobs` carries out runs in forks instead."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import TypeVar

from common.end_with_parent import end_with

Key = TypeVar("Key")
Job = TypeVar("Job")
Result = TypeVar("Result")


def pool() -> ProcessPoolExecutor:
    """Return processes for several calls of `as_they_end`; each loads the libraries once."""
    # a fork would copy the libraries without their threads
    return ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn"), end_with, (os.getpid(),))


def as_they_end(
    work: Callable[[Job], Result], jobs: Mapping[Key, Job], kept: ProcessPoolExecutor | None = None
) -> Iterator[tuple[Key, Result]]:
    """Yield what came of each job, as they end, in `kept` processes or in processes of their own.

    A job that is left when its reader stops is not begun, and `kept` processes do no more work then.
    """
    if not jobs:
        return
    processes = kept or pool()
    waiting: set[Future[Result]] = set()
    try:
        keys: dict[Future[Result], Key] = {processes.submit(work, job): key for key, job in jobs.items()}
        waiting = set(keys)
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from ((keys[future], future.result()) for future in ended)
    finally:
        if waiting or not kept:
            processes.shutdown(cancel_futures=True)
