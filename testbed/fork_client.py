"""Hands a command of `testbed` to the fork server, if the pipeline has started that, or becomes that command.

It becomes it also where the server has ended.
As `python -IS testbed/fork_client.py COMMAND ...` it loads next to nothing.
"""

import os
import signal
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

PLACE = "TESTBED_FORKS"
"""Environment variable: the socket of the fork server."""


def main(words: list[str]) -> int:
    """Return the status of the command; 1 if nobody knows it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as forks:
        if PLACE not in os.environ or forks.connect_ex(os.environ[PLACE]):
            os.execvp("testbed", ["testbed", *words])  # noqa: S606 - what a shell would find
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the fork gets it, too, and ends
        hand_over(forks, words, [0, 1, 2])
        return status(forks)


def start_server(
    listening: socket.socket,
    programs: Iterable[str],
    environment: Mapping[str, str] = os.environ,
    own_group: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start the fork server on a listening socket; its runs need these programs. It may lead a group of processes."""
    import subprocess  # takes long to load

    python = [sys.executable, "-P", "-W", "ignore::DeprecationWarning"]
    command = [*python, "-m", "testbed.fork_server", *sorted(programs)]
    own = {**environment, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdin=listening.fileno(), env=own, start_new_session=own_group)


def hand_over(forks: socket.socket, words: Sequence[str], streams: Sequence[int]) -> None:
    """Send a command and its standard streams over a connection to the fork server."""
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
