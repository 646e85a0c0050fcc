#!/usr/bin/env -S unshare --mount python3 -I -S -B
"""Stands in for the tool `enter` (enter.c) in a guest without hostfs, whose programs lie in the initial RAM disk.

``enter ROOT FILES LOGDIR START_NS PROGRAM [ARGUMENT...]``

The program runs in the guest's own root, whatever ROOT is. It has its own mounts: FILES at /opt/implementation, LOGDIR
at /logs, an empty /tmp. It replaces this process at START_NS (CLOCK_REALTIME; 0: at once).
"""

import os
import subprocess
import sys

sys.path[:0] = ["/opt/testbed"]
from engine.guest.clock import sleep_until  # noqa: E402


def main(_root: str, files: str, logs: str, start_ns: str, *words: str) -> None:
    """Become the program. Does not return."""
    for place in ("/opt/implementation", "/logs"):
        os.makedirs(place, exist_ok=True)
    for mount in (
        ["--bind", files, "/opt/implementation"],
        ["--bind", logs, "/logs"],
        ["-t", "tmpfs", "tmpfs", "/tmp"],  # noqa: S108  the program's own
    ):
        subprocess.run(["mount", *mount], check=True)
    os.chdir("/tmp")  # noqa: S108
    if int(start_ns):
        sleep_until(int(start_ns))
    os.execvp(words[0], words)  # noqa: S606  in place of this process


if __name__ == "__main__":
    main(*sys.argv[1:])
