# SPDX-License-Identifier: MIT
"""How system calls reach a guest's kernel: in the host process that makes them, or by way of a stub process.

The second is what guests do. The first is several times as fast, where the host has what it takes:
docs/explanation/backends.md.
"""

import ctypes
import os

IN_PROCESS = "TESTBED_IN_PROCESS"
"""Environment variable: with 1, system calls reach a guest's kernel in the host process that makes them."""

# from the host's headers: <linux/prctl.h>, <linux/auxvec.h>, <asm/hwcap2.h>
_PR_SET_SYSCALL_USER_DISPATCH, _PR_SYS_DISPATCH_OFF = 59, 0
_AT_HWCAP2, _HWCAP2_FSGSBASE = 26, 1 << 1


def in_process() -> bool:
    """Tell whether it is asked for. A guest whose host lacks something for it then ends with a message."""
    return os.environ.get(IN_PROCESS) == "1"


def kernel_option() -> str:
    """Return the option of the guest's kernel."""
    return "inproc=on" if in_process() else "inproc=off"


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
