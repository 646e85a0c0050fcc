"""A capture that dumpcap takes while the observer describes it, on the loopback interface of a network of its own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Sends while dumpcap captures, keeps the first page and what it tells, and ends the observer as Ctrl-C does.
WHILE_IT_GROWS = """\
import signal, socket, subprocess, sys, time
from pathlib import Path

into = Path(sys.argv[1])
observer = subprocess.Popen([*sys.argv[2:], "-i", "lo", "--into", into])
server = socket.create_server(("127.0.0.1", 5001))
while not list(into.glob("capture.pcapng")) and observer.poll() is None:
    time.sleep(0.01)
client = socket.create_connection(("127.0.0.1", 5001))
receiver, _ = server.accept()
while not (into / "index.html").exists() and observer.poll() is None:
    client.sendall(bytes(1000))
    receiver.recv(1000)
    time.sleep(0.01)
(into / "while-it-grows.html").write_text((into / "index.html").read_text())
(into / "while-it-grows.json").write_text((into / "observation.json").read_text())
for _ in range(100):
    client.sendall(bytes(1000))
    receiver.recv(1000)
time.sleep(1)  # dumpcap writes what it has once a second
observer.send_signal(signal.SIGINT)
sys.exit(observer.wait())
"""
RELOADS = 'http-equiv="refresh"'


def in_own_network(*command: str) -> subprocess.CompletedProcess[str]:
    words = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def seen(observation: Path) -> dict[str, Any]:
    """What the only capture shows of the only flow."""
    (flow,) = json.loads(observation.read_text())["flows"]
    (sighting,) = flow["seen_in"]
    return dict(sighting)


@pytest.fixture(scope="module", autouse=True)
def _may_capture() -> None:
    if not shutil.which("dumpcap"):
        pytest.skip("dumpcap is not installed, or this user may not run it")
    done = in_own_network("dumpcap", "-q", "-i", "lo", "-a", "duration:0.1", "-w", "/dev/null")
    if done.returncode:
        pytest.skip(f"dumpcap may not capture in a network of its own: {done.stderr.strip()}")


def test_the_page_grows_with_the_capture_until_ctrl_c(tmp_path: Path) -> None:
    observe = [str(Path(sys.executable).parent / "testbed"), "observe"]
    done = in_own_network(sys.executable, "-c", WHILE_IT_GROWS, str(tmp_path), *observe)
    assert done.returncode == 0, done.stderr
    assert RELOADS in (tmp_path / "while-it-grows.html").read_text()
    assert RELOADS not in (tmp_path / "index.html").read_text()
    before, after = (seen(tmp_path / name) for name in ("while-it-grows.json", "observation.json"))
    assert after["receiver"] == before["receiver"] == "127.0.0.1:5001"
    assert after["payload_bytes"] > before["payload_bytes"] + 90_000


def test_an_interface_that_does_not_exist_is_named(tmp_path: Path) -> None:
    observe = [str(Path(sys.executable).parent / "testbed"), "observe", "-i", "nowhere", "--into", str(tmp_path)]
    done = in_own_network(*observe)
    assert done.returncode == 2
    assert "-i nowhere: dumpcap: " in done.stderr
