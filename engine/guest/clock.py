"""Waits for absolute instants of virtual time, which nothing that happens before can shift."""

import os
import select
import time
from collections.abc import Collection


def now_ns() -> int:
    """CLOCK_REALTIME, ns."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME)


def sleep_until(at_ns: int) -> None:
    """Return at the instant `at_ns` (CLOCK_REALTIME, ns), or at once if it is past."""
    wait_for((), at_ns)


def wait_for(descriptors: Collection[int], until_ns: int) -> list[int]:
    """Return the descriptors that have become readable, or none at the instant `until_ns` (CLOCK_REALTIME, ns)."""
    timer = os.timerfd_create(time.CLOCK_REALTIME)
    try:
        os.timerfd_settime_ns(timer, flags=os.TFD_TIMER_ABSTIME, initial=until_ns)
        waiting = select.poll()  # select() handles only descriptors below 1024
        for descriptor in (timer, *descriptors):
            waiting.register(descriptor, select.POLLIN)
        readable = [descriptor for descriptor, _ in waiting.poll()]
    finally:
        os.close(timer)
    return [descriptor for descriptor in readable if descriptor != timer]
