"""Runs one module of the project inside the guest: ``python3 -I -S start.py MODULE``.

-I and -S keep the interpreter's start free of site processing; what is needed of it is done here.
"""

import runpy
import sys

# later ones first: a module of the project wins over one of the root file system
sys.path[:0] = ["/opt/testbed", "/usr/lib/python3/dist-packages"]

if __name__ == "__main__":
    runpy.run_module(sys.argv[1], run_name="__main__")
