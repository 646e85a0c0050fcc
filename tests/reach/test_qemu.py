"""The qemu backend: the same agent on Debian's own kernel. Skipped where its parts are not there."""

import json
import shutil
from pathlib import Path

import pytest

from engine import images
from engine.backends import crosscheck
from engine.backends.qemu import EMULATOR
from engine.execute import execute, run_folder
from engine.scenario import Cell, expand

pytestmark = [
    pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed"),
    pytest.mark.skipif(
        not (images.cache_folder() / "stock.json").exists(), reason="`python -m images.stock` has not been run"
    ),
]

SHORT = """\
experiment: short
title: One TCP flow for a moment
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
events:
  - {at: 1s, on: bottleneck, rate: 5mbit}
duration: 3s
"""


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    file = tmp_path / "trial" / "short.yaml"
    file.parent.mkdir()
    file.write_text(SHORT)
    return expand(file, "full")[0]


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_the_run_folder_is_the_same_and_a_seed_repeats_it(cell: Cell, tmp_path: Path) -> None:
    folders = []
    for name, backend in (("virtual", "virtual"), ("once", "qemu"), ("again", "qemu")):
        execute(cell, 1, tmp_path / name, backend)
        folders.append(run_folder(tmp_path / name, cell, 1))
    virtual, once, again = folders
    assert _files(once) == _files(virtual)
    # the one tells wall time, the other when the guest went off, which is after it has written to a disk of the host's
    not_compared = {"summary.json", "logs/console.log"}
    for path in sorted(_files(once) - not_compared):
        if (once / path).is_file():
            assert (once / path).read_bytes() == (again / path).read_bytes(), path
    assert json.loads((once / "run.json").read_text())["provenance"]["kernel"]["release"].endswith("-cloud-amd64")
    # too short for a mean queuing delay: `make crosscheck` compares that
    one, other = crosscheck.measured(virtual), crosscheck.measured(once)
    assert abs(other.throughput_bps / one.throughput_bps - 1) <= crosscheck.THROUGHPUT_SHARE
    assert abs(other.base_rtt_ms - one.base_rtt_ms) <= crosscheck.BASE_RTT_MS
