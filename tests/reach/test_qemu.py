"""The qemu backend: the same agent on Debian's own kernel. Skipped where its parts are not there."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.run import Run
from engine import backends, crosscheck
from engine.errors import EngineError
from engine.run import execute, run_folder
from scenarios import implementations
from scenarios.resolve import expand, resolve
from tests.reach import machine
from tests.trial import carried_out, trial

pytestmark = machine.ON_STOCK_KERNEL

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


DOWNLOAD = """\
experiment: download
title: A download with rLEDBAT, joined by CUBIC
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 200p}
delay: {forward: 20ms, backward: 20ms}
flows:
  - {name: low, implementation: {sender: tcp-cubic, receiver: tcp-rledbat}, from: s1, to: d1}
  - {name: cubic, implementation: tcp-cubic, from: s2, to: d2, start: 15s}
duration: 30s
"""


def _files(folder: Path) -> set[str]:
    """The names of all files; that in virtual time the kernel itself records packets, and packs them, is left aside."""
    files = {path.relative_to(folder) for path in folder.rglob("*") if not path.name.startswith("tcpdump.")}
    return {str(file).removesuffix(".gz") for file in files}


def _on_both(folder: Path, implementation: str) -> tuple[Path, Path]:
    """The run folders of a flow on the virtual and on the qemu backend, which hold files of the same names."""
    (cell,) = expand(trial(folder, SHORT.replace("tcp-reno", implementation)), "complete")
    for backend in ("virtual", "qemu"):
        execute(resolve(cell, 1, backend), folder / backend)
    virtual, qemu = (run_folder(folder / backend, cell, 1) for backend in ("virtual", "qemu"))
    assert _files(qemu) == _files(virtual)
    return virtual, qemu


def test_the_run_folder_is_the_same_and_what_is_measured_agrees(tmp_path: Path) -> None:
    virtual, qemu = _on_both(tmp_path, "tcp-reno")
    assert json.loads((qemu / "run.json").read_text())["provenance"]["kernel"]["release"].endswith("-cloud-amd64")
    # too short for a mean queuing delay: `make trial NAME=crosscheck` compares that
    first, second = crosscheck.measured(virtual), crosscheck.measured(qemu)
    assert abs(second.throughput_bps / first.throughput_bps - 1) <= crosscheck.THROUGHPUT_SHARE
    assert abs(second.base_rtt_ms - first.base_rtt_ms) <= crosscheck.BASE_RTT_MS


def test_a_download_with_rledbat(tmp_path: Path) -> None:
    folder, _ = carried_out(tmp_path, DOWNLOAD, "qemu")
    run = Run(folder)
    assert run.throughput("low", 5, 15) > 9e6
    # the target of 60 ms, and three packets
    assert run.queue_ms.max(5, 15) < 64
    # two packets in a full queue of 240 ms
    assert run.throughput("low", 20, 30) < 0.12e6
    assert run.throughput("cubic", 20, 30) > 9.8e6


def test_a_program_in_the_guests_own_root_runs_on_it(program: Callable[[str], None], tmp_path: Path) -> None:
    program("libutp")
    virtual, qemu = _on_both(tmp_path, "libutp")
    summaries = [json.loads((folder / "summary.json").read_text()) for folder in (virtual, qemu)]
    assert summaries[0]["versions"] == summaries[1]["versions"]
    assert json.loads((qemu / "run.json").read_text())["provenance"]["program:libutp"]["digest"]


def test_a_program_with_a_root_of_its_own_is_refused() -> None:
    name, entry = next((name, entry) for name, entry in implementations.known().items() if "root" in entry)
    run = {"backend": "qemu", "implementations": {name: entry}}
    with pytest.raises(EngineError, match=f"{name}: programs with a root of their own"):
        backends.prepare(run)


def test_no_program_runs_on_it_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_UNCONFINED", "1")
    run = {"backend": "qemu", "implementations": {"libutp": implementations.known()["libutp"]}}
    with pytest.raises(EngineError, match="libutp: foreign programs never run without a sandbox"):
        backends.prepare(run)
