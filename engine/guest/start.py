#!/usr/bin/python3 -ISB
"""Runs a module of the project in a guest, on every backend: ``start.py MODULE [ARGUMENT...]``.

-I and -S skip the interpreter's site processing; this file sets up the part that is needed.
"""

import os
import runpy
import sys

ENVIRONMENT = {
    "PATH": "/opt/tools:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/tmp",  # noqa: S108  the guest's own
    "TERM": "xterm",
    "LANG": "C.UTF-8",
    "SHELL": "/bin/bash",
}

# the project's modules win over those of the root file system
sys.path[:0] = ["/opt/testbed", "/usr/lib/python3/dist-packages"]

if __name__ == "__main__":
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    runpy.run_module(sys.argv[1], run_name="__main__")
