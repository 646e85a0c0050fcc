"""Carries out commands of `testbed` in forks of one process, which has loaded what they need.

A job of the pipeline computes for seconds. Starting Python, loading libraries, reading descriptions and comparing
images took it as long again. `testbed.fork_client` starts `python -m testbed.fork_server PROGRAM...`, with the programs
that runs need and with a listening socket as standard input, and connects. The server ends with the pipeline. A fork
ends without taking Python and its libraries down, which took 0.1 s.
"""

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.process import BaseProcess

from testbed import cli
from testbed.run import load

_FORK = get_context("fork")
_MOST_BYTES = 1 << 20  # of a command
_STREAMS = (0, 1, 2)


def serve(listening: socket.socket) -> None:
    """Fork for each command, and tell its caller the status; return at the pipeline's end."""
    pipeline = os.pidfd_open(os.getppid())
    callers: dict[int, tuple[BaseProcess, socket.socket]] = {}  # by what is ready once the fork has ended
    while True:
        ready, _, _ = select.select([pipeline, listening.fileno(), *callers], [], [])
        if pipeline in ready:
            return
        for descriptor in callers.keys() & ready:
            fork, caller = callers.pop(descriptor)
            fork.join()
            status = fork.exitcode or 0
            fork.close()
            with caller, suppress(OSError):  # it may be gone
                caller.send(bytes([status if status >= 0 else 128 - status]))
        if listening.fileno() in ready:
            caller, _ = listening.accept()
            others = [listening, *(one for _, one in callers.values())]
            fork = _FORK.Process(target=_carry_out, args=[caller, others])
            fork.start()
            callers[fork.sentinel] = (fork, caller)


def _carry_out(caller: socket.socket, others: Sequence[socket.socket]) -> None:
    """Carry out the command that a caller sends, with the caller's streams, and end with its status."""
    for other in others:
        other.close()
    with caller:
        words, streams, _, _ = socket.recv_fds(caller, _MOST_BYTES, len(_STREAMS))
    for stream, place in zip(streams, _STREAMS, strict=True):
        if stream != place:  # the first may have the number of the socket that has just been closed
            os.dup2(stream, place)
            os.close(stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["testbed", *os.fsdecode(words).split("\0")]
    sys.exit(cli.main())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the forks
    load(sys.argv[1:])
    gc.freeze()  # forks share what they need not look at
    serve(socket.socket(fileno=0))
