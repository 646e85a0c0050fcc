# SPDX-License-Identifier: MIT
"""How system calls reach a guest's kernel: in the host process that makes them, or by way of a stub process.

Both give the same bytes. The first is several times as fast and is what guests do where the host has what it takes:
docs/explanation/backends.md.
"""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

STUBS = "TESTBED_STUBS"
"""Environment variable: with 1, system calls go by way of stub processes on every host."""

# from the host's headers: <linux/prctl.h>, <linux/auxvec.h>, <asm/hwcap2.h>
_PR_SET_SYSCALL_USER_DISPATCH, _PR_SYS_DISPATCH_OFF = 59, 0
_AT_HWCAP2, _HWCAP2_FSGSBASE = 26, 1 << 1


def stubs_wanted() -> bool:
    """Tell whether stub processes are asked for."""
    return os.environ.get(STUBS) == "1"


@contextmanager
def by_stubs(wanted: bool) -> Iterator[None]:
    """Let guests of this process have stub processes, or not where the host can do without."""
    before = os.environ.get(STUBS)
    os.environ[STUBS] = str(int(wanted))
    try:
        yield
    finally:
        del os.environ[STUBS]
        os.environ |= {} if before is None else {STUBS: before}


def kernel_option() -> str:
    """Return the option of the guest's kernel, which itself finds out what the host has."""
    return "inproc=off" if stubs_wanted() else "inproc=auto"


def lacking() -> list[str]:
    """Name what the host lacks for the first; empty if nothing."""
    library = ctypes.CDLL(None)
    library.getauxval.restype = ctypes.c_ulong
    lacks = []
    if not library.getauxval(ctypes.c_ulong(_AT_HWCAP2)) & _HWCAP2_FSGSBASE:
        lacks.append("FSGSBASE (Linux 5.9)")
    if library.prctl(_PR_SET_SYSCALL_USER_DISPATCH, *map(ctypes.c_ulong, (_PR_SYS_DISPATCH_OFF, 0, 0, 0))):
        lacks.append("Syscall User Dispatch (Linux 5.11)")
    return lacks
