# SPDX-License-Identifier: MIT
"""Steps of a build that do not need each other, side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from images import run

Made = TypeVar("Made")


def at_once(*steps: Callable[[], Made], most: int | None = None) -> list[Made]:
    """Return what the steps return, in their order. Each, or `most` at a time, runs in a thread: commands do the work.

    If one fails, or the user interrupts, the commands of the others are ended, and its error goes on.
    """
    with ThreadPoolExecutor(most or len(steps) or 1) as pool:
        running = [pool.submit(step) for step in steps]
        try:
            ended, _ = wait(running, return_when=FIRST_EXCEPTION)
            for failed in (step for step in ended if step.exception()):
                failed.result()
        except BaseException:
            if threading.current_thread() is threading.main_thread():
                with run.ending():
                    pool.shutdown(cancel_futures=True)
            raise
        return [step.result() for step in running]
