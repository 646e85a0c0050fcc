"""Finds open files that only a message under way keeps, where no process has a descriptor of them.

A process may send a descriptor through a socket and close it. The file then stays open until somebody receives the
message. To peek at the message gives this process a copy of the descriptor and leaves the message where it is.

User-Mode Linux sends descriptors of the guest's memory this way: one message at a time, which is received at once.
"""

import array
import ctypes
import errno
import os
import re
import socket
import stat
from contextlib import closing, suppress
from pathlib import Path

_SYSCALL = ctypes.CDLL(None, use_errno=True).syscall
_PIDFD_GETFD = 438
_NOT_ALLOWED = (errno.EPERM, errno.ENOSYS)  # by this host, for instance by a container's system call filter
_UNDER_WAY = re.compile(r"^scm_fds:\s*([1-9]\d*)", re.MULTILINE)
_MOST_SENT = 253  # descriptors in one message: SCM_MAX_FD in include/net/scm.h
_ROOM_BYTES = socket.CMSG_SPACE(4 * _MOST_SENT) + 1024  # a socket may be made to add who sent it
_SCM_PIDFD = 4  # include/linux/socket.h
_PEEKS = 50  # a message that is sent just after a peek is seen by the next one
_MOST_SOCKETS = 100  # one inside the other


class HiddenError(Exception):
    """Files are under way that cannot be looked at."""


def wait_at(place: str) -> bool:
    """Tell whether files are under way to a socket with this name in /proc, .../fd/N."""
    return _count(place.replace("/fd/", "/fdinfo/")) > 0


def files(place: str, inode: int) -> list[os.stat_result]:
    """Return the status of each file under way to a socket: /proc/PROCESS/task/THREAD/fd/N, with this inode.

    Sockets that are under way themselves are looked into as well. Nothing is found if this host does not allow it.

    Raises:
        HiddenError: there are some that cannot be looked at.
    """
    process, descriptor = place.split("/")[2::4]
    try:
        with closing(_copied(int(process), int(descriptor))) as one:
            if os.fstat(one.fileno()).st_ino == inode:
                return _under_way(one, {inode})
    except OSError as error:
        if error.errno in _NOT_ALLOWED:
            return []
    # it has been closed, or belongs to a thread that shares no descriptors with its process
    with suppress(OSError):
        if os.stat(place).st_ino == inode and wait_at(place):  # noqa: PTH116
            raise HiddenError
    return []


def _copied(process: int, descriptor: int) -> socket.socket:
    held = os.pidfd_open(process)
    try:
        copy = _SYSCALL(_PIDFD_GETFD, held, descriptor, 0)
        if copy < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
    finally:
        os.close(held)
    return socket.socket(fileno=copy)


def _under_way(one: socket.socket, seen: set[int]) -> list[os.stat_result]:
    """Return the status of each file under way to a socket; `seen` are the inodes of sockets looked into."""
    copies = _peeked(one)
    try:
        found = [os.fstat(copy) for copy in copies]
        for copy, status in zip(copies, list(found), strict=True):
            if stat.S_ISSOCK(status.st_mode) and status.st_ino not in seen:
                seen.add(status.st_ino)
                if len(seen) > _MOST_SOCKETS:
                    raise HiddenError
                with closing(socket.socket(fileno=os.dup(copy))) as inner:
                    found += _under_way(inner, seen)
    finally:
        for copy in copies:
            os.close(copy)
    return found


def _peeked(one: socket.socket) -> list[int]:
    """Return copies of all descriptors under way to a socket.

    Only those of the first message can be had. Whoever sends more than one wants to keep files there.
    """
    for _ in range(_PEEKS):
        copies = _first_message(one)
        if _count(f"/proc/self/fdinfo/{one.fileno()}") <= len(copies):
            return copies
        for copy in copies:
            os.close(copy)
    raise HiddenError


def _first_message(one: socket.socket) -> list[int]:
    try:
        flags = socket.MSG_PEEK | socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        _, controls, _, _ = one.recvmsg(1, _ROOM_BYTES, flags)
    except OSError:  # there is none, or nobody can send any more
        return []
    copies: list[int] = []
    for _, kind, data in controls:
        numbers = array.array("i", data[: len(data) // 4 * 4])
        if kind == socket.SCM_RIGHTS:
            copies += numbers
        elif kind == _SCM_PIDFD:
            os.close(numbers[0])
    return copies


def _count(information: str) -> int:
    """Return how many descriptors are under way to a socket, from its file in fdinfo."""
    try:
        found = _UNDER_WAY.search(Path(information).read_text())
    except OSError:  # it has been closed
        return 0
    return int(found[1]) if found else 0
