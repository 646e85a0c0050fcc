"""A machine whose kernel has no FSGSBASE, as before Linux 5.9: the same bytes, by way of stub processes."""

import json
from pathlib import Path

import pytest

from engine import images
from engine.run import execute
from images import index
from scenarios.resolve import Cell, expand, resolve
from tests.reach import machine

SCENARIO = """\
experiment: older
title: One flow for a moment
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 2mbit, buffer: 20p}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: flow, implementation: tcp-ledbat, from: s1, to: d1}
duration: 2s
captures: [sender, bottleneck-out]
keep_captures: true
"""
PACKAGES = ("bubblewrap", "iproute2", "kmod", "procps", "python3", "python3-jsonschema", "python3-yaml")
INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys
mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp
mount --make-rprivate /
cd /project
python3 -B -c 'from engine import syscall_mode; print(*syscall_mode.lacking(), sep="\\n")' >/out/lacking 2>&1
python3 -B -c 'import sys; from testbed.cli import main; sys.exit(main())' \\
  run /project/trial/older.yaml --seed 1 --into /out >/out/words 2>&1
sync; echo o >/proc/sysrq-trigger; sleep 60
"""


@pytest.mark.skipif(machine.missing() is not None, reason=str(machine.missing()))
@pytest.mark.skipif(not images.index_of(index.STOCK).exists(), reason="`python -m images --stock` has not been run")
@pytest.mark.parametrize("option", ["", "nofsgsbase"])
def test_without_fsgsbase_runs_have_the_same_bytes(option: str, tmp_path: Path) -> None:
    stock, disk, root = images.stock(), tmp_path / "disk", tmp_path / "root"
    machine.debian(PACKAGES, root)
    machine.copy_project(root)
    cell = _cell(root / "project/trial")
    (root / "out").mkdir()
    machine.write_program(root, "vehicle", INIT)
    machine.make_disk(root, disk, 3)
    kernel = stock["kernel"]["path"]
    initrd = kernel.with_name(f"initrd.img-{stock['kernel']['release']}")
    machine.carry_out(kernel, initrd, disk, "/vehicle", 1800, option)
    out = machine.take(disk, "out", tmp_path)
    lacking = (out / "lacking").read_text().split("\n")[0]
    assert lacking == ("FSGSBASE (Linux 5.9)" if option else "")
    summaries = list(out.rglob("summary.json"))
    assert summaries, (out / "words").read_text()
    there = json.loads(summaries[0].read_text())["digests"]
    assert there == execute(resolve(cell, 1), tmp_path / "here")["digests"]


def _cell(folder: Path) -> Cell:
    folder.mkdir()
    file = folder / "older.yaml"
    file.write_text(SCENARIO)
    return expand(file, "complete")[0]
