"""An image made for the QUIC interop runner plays a flow: quic-go's, from its own sources."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.images import PROJECT
from tests.reach import machine
from tests.trial import trial

OURS = PROJECT / "images" / "interop-image"
MODULE = "github.com/quic-go/quic-go"
LOCKED = PROJECT / "images" / "implementations" / "quic-go"
# What the runner's base image has, and what fails outside of the runner's network.
AS_THERE = """\
ARG IMAGE
FROM $IMAGE
RUN printf '#!/bin/sh\\nexit 1\\n' >/setup.sh && cp /setup.sh /wait-for-it.sh && chmod +x /*.sh && \\
    mkdir /www /downloads /certs /logs
WORKDIR /quic-go
COPY server client run_endpoint.sh ./
RUN echo unknown >commit.txt && chmod +x run_endpoint.sh
ENTRYPOINT ["./run_endpoint.sh"]
"""
CAUGHT = 1 << signal.SIGTERM - 1 | 1 << signal.SIGCHLD - 1  # by the endpoint, from its begin on
SCENARIO = """\
experiment: image
title: An image alone, and a packet in a hundred gets lost
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: it, implementation: mine, from: s1, to: d1}
events:
  - {at: 5s, on: path, loss: {forward: 1%}}
duration: 10s
captures: [bottleneck-out]
keep_captures: true
"""
LEAST_BYTES = 2_000_000
"""Of the 12.5 MB that fit into the 10 s; 1 % of the packets gets lost in the second half."""


def _docker(*words: str, folder: Path | None = None) -> None:
    subprocess.run(["docker", *words], cwd=folder, check=True, capture_output=True)


def _docker_works() -> bool:
    return bool(shutil.which("docker")) and not subprocess.run(["docker", "info"], capture_output=True).returncode


def _programs(into: Path) -> None:
    """Build quic-go's client and server for the runner, of the version whose sum the project locks."""
    scratch = into / "scratch"
    scratch.mkdir()
    for name in ("go.mod", "go.sum"):
        shutil.copy(LOCKED / name, scratch)
    variables = os.environ | {"GOPATH": str(into / "go"), "GOFLAGS": "-modcacherw", "CGO_ENABLED": "0"}
    told = subprocess.run(
        ["go", "mod", "download", "-json", MODULE], cwd=scratch, env=variables, check=True, stdout=subprocess.PIPE
    )
    source = Path(json.loads(told.stdout)["Dir"])
    for side in ("client", "server"):
        subprocess.run(["go", "build", "-o", into / side, f"./interop/{side}"], cwd=source, env=variables, check=True)
    shutil.copy(source / "interop" / "run_endpoint.sh", into)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The implementation as docs/howto/adding-a-client.md makes it."""
    if not _docker_works() or shutil.which("go") is None:
        pytest.skip("no Docker daemon answers, or go is not installed")
    folder = tmp_path_factory.mktemp("image")
    root = folder / "root"
    machine.debian(("bash",), root)
    packed = folder / "root.tar"
    subprocess.run(["tar", "-C", root, "-cf", packed, "."], check=True)
    base, theirs, ours = tags = [f"{name}-{os.getpid()}" for name in ("interop-base", "interop-theirs", "interop-ours")]
    _docker("import", str(packed), base)
    packed.unlink()
    there = folder / "there"
    there.mkdir()
    _programs(there)
    (there / "Dockerfile").write_text(AS_THERE)
    (there / ".dockerignore").write_text("go\nscratch\n")
    made = folder / "mine"
    shutil.copytree(OURS, made)
    try:
        _docker("build", "--build-arg", f"IMAGE={base}", "--tag", theirs, ".", folder=there)
        _docker("build", "--build-arg", f"IMAGE={theirs}", "--tag", ours, ".", folder=made)
        _docker("image", "save", "--output", str(made / "image.tar"), ours)
    finally:
        subprocess.run(["docker", "image", "rm", *reversed(tags)], capture_output=True, check=False)
    entry = made / "entry"
    entry.write_text(entry.read_text().replace("cd /", "cd /quic-go"))
    subprocess.run([sys.executable, "-m", "images", "--implementation", made], cwd=PROJECT, check=True)
    return made


def test_a_receiver_whose_sender_never_came_ends_well(tmp_path: Path) -> None:
    """It has no image yet that it could end."""
    endpoint = tmp_path / "endpoint"
    subprocess.run([OURS / "build"], cwd=OURS, env=os.environ | {"OUT": str(tmp_path)}, check=True)
    variables = {"ROLE": "receiver", "PORT": "0", "PEER": "127.0.0.1", "PARAMS": "{}", "LOGDIR": str(tmp_path)}
    with subprocess.Popen([endpoint], env=variables, start_new_session=True) as receiver:
        while f"SigCgt:\t{CAUGHT:016x}" not in Path(f"/proc/{receiver.pid}/status").read_text():
            os.sched_yield()
        receiver.terminate()
    assert receiver.returncode == 0
    assert (tmp_path / "received_bytes").read_text() == "0\n"


def _testbed(*words: str | Path) -> str:
    command = [sys.executable, "-m", "testbed", *words]
    return subprocess.run(command, cwd=PROJECT, check=True, stdout=subprocess.PIPE, text=True).stdout


def test_an_image_keeps_the_contract(mine: Path, tmp_path: Path) -> None:
    said = _testbed("check", "--implementation", mine, "--into", tmp_path)
    assert [line.split()[0] for line in said.splitlines()] == ["ok"] * 5 + ["page"]


def test_an_image_sends_the_same_packets_twice(mine: Path, tmp_path: Path) -> None:
    file = trial(tmp_path, SCENARIO)
    captures = []
    for time in ("once", "again"):
        _testbed("run", file, "--implementation", mine, "--seed", "1", "--into", tmp_path / time)
        (capture,) = (tmp_path / time).rglob("bottleneck-out.pcap")
        captures.append(capture.read_bytes())
    assert captures[0] == captures[1]
    (summary,) = (tmp_path / "again").rglob("summary.json")
    assert json.loads(summary.read_text())["flows"]["it"]["received_bytes"] > LEAST_BYTES
