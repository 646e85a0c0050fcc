"""Carries out commands of `testbed` in forks of one process, which has loaded what they need.

A job of the pipeline computes for seconds. Starting Python, loading libraries, reading descriptions and comparing
images took it as long again. The pipeline starts `python -m testbed.forks` with a listening socket as standard input;
`testbed/forked.py` connects. It ends with the pipeline.
"""

import os
import select
import signal
import socket
import sys
from contextlib import suppress

from testbed import cli
from testbed.run import load

_MOST_BYTES = 1 << 20  # of a command
_STREAMS = (0, 1, 2)


def serve(listening: socket.socket) -> int:
    """Fork for each command, which returns its status from here, and tell its caller; return at the pipeline's end."""
    pipeline = os.pidfd_open(os.getppid())
    callers: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor of the fork
    while True:
        ready, _, _ = select.select([pipeline, listening.fileno(), *callers], [], [])
        if pipeline in ready:
            return 0
        for descriptor in callers.keys() & ready:
            fork, caller = callers.pop(descriptor)
            status = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
            os.close(descriptor)
            with caller, suppress(OSError):  # it may be gone
                caller.send(bytes([status if status >= 0 else 128 - status]))
        if listening.fileno() in ready:
            caller, _ = listening.accept()
            fork = os.fork()
            if fork == 0:
                for other in (listening, *(one for _, one in callers.values())):
                    other.close()
                return _carry_out(caller)
            callers[os.pidfd_open(fork)] = (fork, caller)


def _carry_out(caller: socket.socket) -> int:
    """Carry out the command that a caller sends, with the caller's streams."""
    with caller:
        words, streams, _, _ = socket.recv_fds(caller, _MOST_BYTES, len(_STREAMS))
    for stream, place in zip(streams, _STREAMS, strict=True):
        os.dup2(stream, place)
        os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["testbed", *os.fsdecode(words).split("\0")]
    return cli.main()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the forks
    load()
    sys.exit(serve(socket.socket(fileno=0)))
