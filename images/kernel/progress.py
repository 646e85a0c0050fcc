# SPDX-License-Identifier: MIT
"""How far the compilation of a guest kernel is: in files, which `make` prints one by one."""

from __future__ import annotations

import os

from common.estimate import about, left_s
from images import index
from images.run import Say, Tell

FILES = {index.BOOT: 784, index.DEBUG: 841, index.LAB: 1284}
"""How many are compiled for each kind of kernel, which the locked source and the configuration decide."""
COMPILED = "\n  CC "
"""Begins the line of each."""

_CPU_S_A_FILE = 0.5  # two machines took 0.37 and 0.7
_TRUST_FILES = 40  # counts as much as so many files that have been compiled


def expected_s(kind: str) -> float:
    """Return what the kernel's compilation is expected to take before it has begun."""
    return FILES[kind] * _pace_s()


def _pace_s() -> float:
    return _CPU_S_A_FILE / len(os.sched_getaffinity(0))


def telling(kind: str, before: str, say: Say) -> Tell:
    """Return what says how far `make` is, which an earlier one may have begun that printed `before`."""
    had = before.count(COMPILED)

    def tell(printed: str, _: str, took_s: float) -> None:
        done = printed.count(COMPILED)
        left = max(0, FILES[kind] - had - done)
        seconds = left_s(left, done, took_s, _pace_s(), _TRUST_FILES)
        say(f"compiling, {had + done} of {FILES[kind]} files done, {about(seconds)} left" if left else "linking")

    tell("", "", 0)
    return tell
