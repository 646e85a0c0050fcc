#!/usr/bin/python3 -ISB
"""The first program of the project in a guest, on each backend: ``start.py MODULE [ARGUMENT...]`` runs a module of it.

-I and -S keep the interpreter's start free of site processing; what is needed of it is done here.
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

# earlier ones win: a module of the project before one of the root file system
sys.path[:0] = ["/opt/testbed", "/usr/lib/python3/dist-packages"]

if __name__ == "__main__":
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    runpy.run_module(sys.argv[1], run_name="__main__")
