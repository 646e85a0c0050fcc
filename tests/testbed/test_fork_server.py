import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import fork_client

ROOT = Path(__file__).parents[2]


def test_a_fork_has_the_streams_of_its_caller_and_gives_it_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("forks")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(str(place))
        listening.listen()
        started = subprocess.Popen([sys.executable, "-m", "testbed.fork_server"], cwd=ROOT, stdin=listening.fileno())
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {fork_client.PLACE: str(place), "PATH": programs}

    def call(*words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-IS", str(ROOT / "testbed/fork_client.py"), *words]
        return subprocess.run(command, input=said, capture_output=True, text=True, env=environment, check=False)

    listed = call("plan", "--json", str(ROOT / "workflows/studies/icccn/fig2b.yaml"), "--size", "quick")
    assert '"cell": "single"' in listed.stdout
    assert (listed.returncode, listed.stderr) == (0, "")
    read = call("plan", "--json", "/dev/stdin", said=(ROOT / "workflows/studies/icccn/fig2b.yaml").read_text())
    assert '"cell": "single"' in read.stdout
    refused = call("run", "none.yaml", "--size", "quick", "--cell", "it's here\nand there")
    assert "none.yaml" in refused.stderr
    assert (refused.returncode, refused.stdout) == (2, "")
    started.terminate()
    assert started.wait() < 0
    alone = call("plan", "--json", str(ROOT / "workflows/studies/icccn/fig2b.yaml"), "--size", "quick")
    assert (alone.returncode, alone.stdout) == (0, listed.stdout)
