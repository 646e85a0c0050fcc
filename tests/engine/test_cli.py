"""The commands as other programs of a shell's pipeline meet them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

STUDY = "workflows/studies/explained"


@pytest.mark.parametrize(
    "command", [["testbed.cli", "plan", f"{STUDY}/ten-minutes.yaml"], ["analysis.__main__", "plan", STUDY]]
)
def test_a_command_whose_output_nobody_reads_ends_quietly(command: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    module, *words = command
    program = f"import sys; from {module} import main; sys.exit(main({words!r}))"
    try:
        done = subprocess.run([sys.executable, "-c", program], stdout=write, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(write)
    assert (done.stderr, done.returncode) == (b"", 128 + signal.SIGPIPE)
