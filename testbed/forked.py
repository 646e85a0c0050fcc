"""Hands a command of `testbed` to `testbed.forks`, if the pipeline has started that, or becomes that command.

It becomes it also where `testbed.forks` has ended.
As `python -IS testbed/forked.py COMMAND ...` it loads next to nothing.
"""

import os
import signal
import socket
import sys
from collections.abc import Sequence

PLACE = "TESTBED_FORKS"
"""Environment variable: the socket of `testbed.forks`."""


def main(words: list[str]) -> int:
    """Return the status of the command; 1 if nobody knows it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as forks:
        if PLACE not in os.environ or forks.connect_ex(os.environ[PLACE]):
            os.execvp("testbed", ["testbed", *words])  # noqa: S606 - what a shell would find
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fork gets it, too, and ends
        hand_over(forks, words, [0, 1, 2])
        return status(forks)


def hand_over(forks: socket.socket, words: Sequence[str], streams: Sequence[int]) -> None:
    """Send a command and its standard streams over a connection to `testbed.forks`."""
    socket.send_fds(forks, [os.fsencode("\0".join(words))], streams)


def status(forks: socket.socket) -> int:
    """Wait for the status of the command that a connection carries; 1 if nobody knows it."""
    try:
        said = forks.recv(1)
    except ConnectionResetError:
        return 1
    return said[0] if said else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
