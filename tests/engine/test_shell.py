"""Mininet's command line in a guest, as a person at a terminal has it."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.trust.canary import Canary

PATIENCE_S = 60


class Terminal:
    """The other end of a pseudo-terminal: types and reads."""

    def __init__(self, command: list[str]) -> None:
        self._end, theirs = pty.openpty()
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)

    def read_until(self, text: str) -> str:
        """Everything up to `text`, which must come in time."""
        seen, deadline = "", time.monotonic() + PATIENCE_S
        while text not in seen:
            ready, _, _ = select.select([self._end], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"waited for {text!r}, saw {seen!r}"
            try:
                seen += os.read(self._end, 4096).decode(errors="replace")
            except OSError:  # the guest is gone
                break
        return seen

    def type(self, line: str) -> None:
        os.write(self._end, line.encode())


@pytest.mark.parametrize("version", [4, 6])
def test_pingall_ping_by_name_ss_and_ctrl_c(scenario: Path, tmp_path: Path, version: int) -> None:
    scenario.write_text(f"{scenario.read_text()}ip: {version}\n")
    canary = Canary(tmp_path / "home")  # links to it lie in the guest's folder when that is removed
    terminal = Terminal([str(Path(sys.executable).parent / "testbed"), "shell", str(scenario)])
    terminal.read_until("mininet> ")
    terminal.type("pingall\n")
    assert "0% dropped" in terminal.read_until("mininet> ")
    terminal.type("s1 ping -c 1 d1\n")
    answer = terminal.read_until("mininet> ")
    assert 50 <= float(re.search(r"time=([0-9.]+) ms", answer)[1]) < 60  # type: ignore[index]
    terminal.type("d1 iperf3 -s -D\n")
    terminal.read_until("mininet> ")
    terminal.type("s1 iperf3 -c d1 -t 30 -i 0 &\n")
    terminal.read_until("mininet> ")
    terminal.type(f"s1 ss -ti -{version}\n")
    assert "cubic" in terminal.read_until("mininet> ")
    terminal.type("s1 ping d2\n")
    terminal.read_until("bytes from")
    terminal.type("\x03")
    terminal.read_until("mininet> ")
    for number, target in enumerate(canary.targets):
        terminal.type(
            f"sh ln -s {target} /results/{number}; mkdir /results/in-{number}; ln -s {target} /results/in-{number}\n"
        )
        terminal.read_until("mininet> ")
    terminal.type("exit\n")
    terminal.read_until("Power down")
    assert terminal.process.wait(PATIENCE_S) == 0
    canary.assert_intact()


@pytest.mark.parametrize("given", ["<<< pingall", "<&-"])
def test_input_that_would_be_lost_is_refused(scenario: Path, given: str) -> None:
    command = ["bash", "-c", f'"$0" shell "$1" {given}', f"{Path(sys.executable).parent}/testbed", str(scenario)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "standard input: found no terminal; allowed: a terminal, or `testbed exec` for a script" in done.stderr
