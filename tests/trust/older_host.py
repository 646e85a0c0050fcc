"""`older_host.py PROGRAM [ARGUMENT...]` executes a program as on Linux before 5.11, without Syscall User Dispatch.

A filter answers as that Linux does: prctl() does not know the option and gives EINVAL.
"""

import ctypes
import errno
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
PR_SET_SYSCALL_USER_DISPATCH, NR_PRCTL = 59, 157  # of x86-64
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # <linux/bpf_common.h>: of 32 bits, with a constant
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER, FIRST_ARGUMENT = 0, 16  # where struct seccomp_data has them

FILTER = (  # (code, steps if equal, steps if not, constant)
    (LOAD, 0, 0, NUMBER),
    (JUMP_IF_EQUAL, 0, 3, NR_PRCTL),
    (LOAD, 0, 0, FIRST_ARGUMENT),
    (JUMP_IF_EQUAL, 0, 1, PR_SET_SYSCALL_USER_DISPATCH),
    (RETURN, 0, 0, ERRNO | errno.EINVAL),
    (RETURN, 0, 0, ALLOW),
)


class Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


prctl = ctypes.CDLL(None, use_errno=True).prctl
program = Program(len(FILTER), b"".join(struct.pack("HBBI", *step) for step in FILTER))
for words in ((PR_SET_NO_NEW_PRIVS, 1), (PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program))):
    arguments = [ctypes.c_ulong(word) if isinstance(word, int) else word for word in (*words, 0, 0, 0)[:5]]
    if prctl(*arguments):
        raise OSError(ctypes.get_errno(), "the filter was refused")
os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606  the program of the command line
