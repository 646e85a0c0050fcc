"""A command that waits forever is ended and named."""

import subprocess
import sys

_HANGS = """
import os
from analysis.watchdog import ended_after

with ended_after(0.1, "analysis: columns"):
    os.read(os.pipe()[0], 1)
"""


def test_a_command_that_waits_forever_is_ended() -> None:
    done = subprocess.run([sys.executable, "-c", _HANGS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        3,
        "analysis: columns took more than 0.1 s and was ended; give the command again\n",
    )
