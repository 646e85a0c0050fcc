"""Carries out the runs of a command, on as many CPUs as there are."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import TypeVar

from scenarios.pipeline import end_with

Key = TypeVar("Key")
Job = TypeVar("Job")
Result = TypeVar("Result")


def as_they_end(work: Callable[[Job], Result], jobs: Mapping[Key, Job]) -> Iterator[tuple[Key, Result]]:
    """Yield what came of each job, as they end. A job that is left when its reader stops is not begun."""
    if not jobs:
        return
    # a fork would copy the libraries without their threads
    processes = min(len(os.sched_getaffinity(0)), len(jobs))
    pool = ProcessPoolExecutor(processes, get_context("spawn"), end_with, (os.getpid(),))
    try:
        keys: dict[Future[Result], Key] = {pool.submit(work, job): key for key, job in jobs.items()}
        waiting = set(keys)
        while waiting:
            ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from ((keys[future], future.result()) for future in ended)
    finally:
        pool.shutdown(cancel_futures=True)
