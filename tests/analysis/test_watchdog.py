"""A command that waits forever is ended and named, one that wants all memory is refused."""

import os
import resource
import subprocess
import sys
import threading

import pytest

from analysis.errors import BadInputError
from analysis.watchdog import ended_after

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


def test_a_command_that_wants_all_memory_is_refused() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with (
        pytest.raises(BadInputError, match=r"^reading wanted more than 0.25 GiB of memory$"),
        ended_after(600, "reading", 1 << 28),
    ):
        bytearray((os.cpu_count() or 1) << 29)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    finished = threading.Event()
    with (
        pytest.raises(BadInputError, match=r"^reading wanted more than 0.0625 GiB of memory$"),
        ended_after(600, "reading", 1 << 26),
    ):
        for _ in range(16 * (1 + (os.cpu_count() or 1))):  # twice as many as have room for their stacks
            threading.Thread(target=finished.wait).start()
    finished.set()
    asked = "import resource; print(resource.getrlimit(resource.RLIMIT_DATA)[0])"
    with ended_after(600, "reading", 1 << 28):  # processes that are started inside have it, too
        said = subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True).stdout
    assert 0 < int(said) < 1 << 40
