"""Works on several things at once, each process on one at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from analysis.errors import BadInputError
from common.end_with_parent import end_with
from common.sums import DamagedError

Thing = TypeVar("Thing")


def each(work: Callable[[Thing], object], things: Sequence[Thing], processes: int) -> None:
    """Call `work` with each of some things; an error keeps none of the others from being worked on.

    Raises BadInputError with all problems, one per line.
    """
    wrong = list(_wrong(work, things, min(processes, len(things))))
    if wrong:
        raise BadInputError("\n".join(wrong))


def _wrong(work: Callable[[Thing], object], things: Sequence[Thing], processes: int) -> Iterator[str]:
    if processes < 2:
        for thing in things:
            try:
                work(thing)
            except (BadInputError, DamagedError) as error:
                yield str(error)
        return
    # a fork would copy the libraries without their threads
    with ProcessPoolExecutor(processes, get_context("spawn"), end_with, (os.getpid(),)) as pool:
        for done in [pool.submit(work, thing) for thing in things]:
            try:
                done.result()
            except (BadInputError, DamagedError) as error:
                yield str(error)
