#!/usr/bin/env -S unshare --mount python3 -I -S -B
"""What the tool `enter` (enter.c) is in a guest without hostfs, where programs lie in the initial RAM disk.

``enter ROOT FILES LOGDIR START_NS PROGRAM [ARGUMENT...]``

The program runs in the guest's own root, whatever ROOT is, with mounts of its own: FILES as /opt/implementation, LOGDIR
as /logs, an empty /tmp. It is started at START_NS (CLOCK_REALTIME; 0: at once) in place of this process.
"""

import os
import subprocess
import sys

sys.path[:0] = ["/opt/testbed"]
from engine.guest.clock import sleep_until  # noqa: E402


def main(_root: str, files: str, logs: str, start_ns: str, *words: str) -> None:
    """Become the program; does not return."""
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
