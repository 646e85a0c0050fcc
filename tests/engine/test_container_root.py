"""A client from a container image in a real run: its program and shell are the image's, found through its variables."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

from engine import images as built
from engine.images import PROJECT
from engine.run import execute, run_folder
from images.cache import file_digest
from scenarios.resolve import expand, resolve
from tests.images.saved import configuration, docker, entry, folder, tar
from tests.trial import trial

IMPLEMENTATION = """\
title: udp-cbr, as if it came in a container image
kind: program
roles: [sender, receiver]
transport: udp
licence: MIT
source: this test
version_command: [voice, --version]
root: {archive: image.tar}
parameters:
  rate: {type: rate, default: 1mbit, description: bits of payload a second}
"""
ENDPOINT = """\
#!/bin/sh
echo "$FROM_IMAGE" >"$LOGDIR/variables"
exec voice
"""
SCENARIO = """\
experiment: boxed
title: A client from a container image sends
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows: [{name: it, implementation: boxed, from: s1, to: d1}]
duration: 2s
captures: []
"""
LIBRARIES = "lib/x86_64-linux-gnu"


def _image(archive: Path, voice: Path) -> str:
    """Save an image of two layers, a shell with a dummy `voice` and the real one over it; return its id."""
    system = built.load().rootfs / "usr"
    base = [
        entry("bin/sh", (system / "bin/dash").read_bytes(), mode=0o755),
        entry(f"{LIBRARIES}/libc.so.6", (system / LIBRARIES / "libc.so.6").read_bytes()),
        entry("lib64/ld-linux-x86-64.so.2", (system / LIBRARIES / "ld-linux-x86-64.so.2").read_bytes(), mode=0o755),
        entry("client/voice", b"#!/bin/sh\nexit 1\n", mode=0o755),
    ]
    layers = [tar(*base), tar(folder("client"), entry("client/voice", voice.read_bytes(), mode=0o755))]
    config = configuration(layers, ["PATH=/client:/bin", "FROM_IMAGE=yes", "LOGDIR=/nowhere"])
    docker(archive, config, layers)
    return hashlib.sha256(config).hexdigest()


def test_a_flow_between_clients_from_an_image(
    own_implementations: Path, program: Callable[[str], None], tmp_path: Path
) -> None:
    shutil.copytree(PROJECT / "images/implementations/udp-cbr", own_implementations / "udp-cbr")
    program("udp-cbr")
    home = own_implementations / "boxed"
    home.mkdir()
    image = _image(home / "image.tar", built.program("udp-cbr").files / "endpoint")
    (home / "implementation.yaml").write_text(IMPLEMENTATION)
    (home / "endpoint").write_text(ENDPOINT)
    (home / "endpoint").chmod(0o755)
    program("boxed")

    (cell,) = expand(trial(tmp_path, SCENARIO), "complete")
    summary = execute(resolve(cell, 1), tmp_path)
    flow = summary["flows"]["it"]
    assert flow["received_bytes"] > 0.9 * 2 * 1_000_000 / 8
    assert flow["receiver_exit"] == 0
    assert summary["versions"] == {"boxed": "1"}
    results = run_folder(tmp_path, cell, 1)
    assert (results / "logs/it.sender/variables").read_text() == "yes\n"
    made_of = json.loads((results / "run.json").read_text())["provenance"]["program:boxed"]
    assert (made_of["root_digest"], made_of["archive_sha256"]) == (image, file_digest(home / "image.tar"))
