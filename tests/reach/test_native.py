"""The native backend: refusals on this host, and runs on a machine with Debian's own kernel (in QEMU's emulator).

The emulated machine's clock counts instructions: to the backend that is a real time in which nothing else runs.
"""

import json
import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from engine import backends, images
from engine.errors import EngineError
from engine.run import execute
from images import index
from scenarios import implementations
from scenarios.resolve import Cell, expand, resolve
from tests.reach import machine

SCENARIO = """\
experiment: {name}
title: One flow for a moment
topology: {{name: {topology}, pairs: 1}}
bottleneck: {{rate: 10mbit, buffer: 40p}}
delay: {{forward: 25ms, backward: 25ms}}
{more}flows:
  - {{name: flow, implementation: {name}, from: s1, to: d1}}
duration: 10s
captures: [bottleneck-in, bottleneck-out, receiver]
"""
IMPLEMENTATIONS = {"tcp-cubic": "dumbbell", "tcp-ledbat": "two-path"}
"""Each with its topology."""
IPV4 = 0x0800
PACKAGES = ("bubblewrap", "e2fsprogs", "iproute2", "kmod", "procps", "python3", "python3-jsonschema", "python3-yaml")
INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys
mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp
mount --make-rprivate /
depmod
cd /project
for name in {names}; do
  python3 -B -c 'import sys; from testbed.cli import main; sys.exit(main())' \\
    run /project/trial/$name.yaml --seed 1 --backend native --into /out >>/out/words 2>&1 &
done
wait
ip -oneline link >/out/links
ps -eo comm= | grep -E 'ovs|tcpdump|bulk|python3' >/out/processes
sync; echo o >/proc/sysrq-trigger; sleep 60
"""


def _cell(folder: Path, name: str) -> Cell:
    file = folder / "trial" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    topology = IMPLEMENTATIONS[name]
    more = "delay_b: {forward: 40ms, backward: 25ms}\n" if topology == "two-path" else ""
    file.write_text(SCENARIO.format(name=name, topology=topology, more=more))
    return expand(file, "complete")[0]


def _lacks_a_part() -> bool:
    return os.geteuid() != 0 or shutil.which("modprobe") is None


@pytest.mark.skipif(not _lacks_a_part(), reason="this host may have all that the native backend needs")
def test_a_host_that_lacks_a_part_is_told_which(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"start it as root|is not installed: sudo apt-get install"):
        execute(resolve(_cell(tmp_path, "tcp-cubic"), 1, "native"), tmp_path)


@pytest.mark.skipif(_lacks_a_part(), reason="needs root and modprobe")
def test_foreign_programs_are_not_let_in() -> None:
    program = next(name for name, entry in implementations.known().items() if entry["kind"] == "program")
    run = {"backend": "native", "implementations": {program: {"kind": "program"}}}
    with pytest.raises(EngineError, match=f"{program}: programs under test run on the virtual backend only"):
        backends.prepare(run)


def _stock() -> dict[str, dict[str, Any]]:
    return images.stock() if images.index_of(index.STOCK).exists() else {}


def _disk(stock: dict[str, dict[str, Any]], folder: Path, disk: Path) -> None:
    """A bootable disk: root, stock modules, the project with the images it needs, scenarios, the first program."""
    release, kernel = stock["kernel"]["release"], stock["kernel"]["path"]
    root = folder / "root"
    machine.debian(PACKAGES, root)
    modules = root / "usr/lib/modules" / release
    shutil.copytree(kernel.parents[1] / "usr/lib/modules" / release, modules, symlinks=True)
    (modules / "updates").mkdir()
    shutil.copy(stock["module:tcp_ledbat"]["path"], modules / "updates")
    machine.copy_project(root)
    for name in IMPLEMENTATIONS:
        _cell(root / "project", name)
    (root / "out").mkdir()
    machine.write_program(root, "vehicle", INIT.format(names=" ".join(IMPLEMENTATIONS)))
    machine.make_disk(root, disk, 3)


def _ether_types(capture: Path) -> set[int]:
    """Of all packets of a pcap file."""
    packets, at, lengths = capture.read_bytes(), 24, set()
    while at < len(packets):
        (length,) = struct.unpack_from("<I", packets, at + 8)
        lengths.add(int.from_bytes(packets[at + 28 : at + 30], "big"))
        at += 16 + length
    return lengths


def _from_to_ns(folder: Path) -> tuple[int, int]:
    """When a run's network was there, from the probe to the end of its flows."""
    run, summary = (json.loads((folder / f"{part}.json").read_text()) for part in ("run", "summary"))
    return run["origin_ns"] - run["lead"]["probe_ns"], run["origin_ns"] + summary["ended_ns"]


@pytest.mark.skipif(machine.missing() is not None, reason=str(machine.missing()))
@pytest.mark.skipif(not _stock(), reason="`python -m images --stock` has not been run")
def test_runs_on_a_machine_with_a_stock_kernel_leave_a_result_and_nothing_else(tmp_path: Path) -> None:
    stock, disk = _stock(), tmp_path / "disk"
    _disk(stock, tmp_path, disk)
    kernel = stock["kernel"]["path"]
    initrd = kernel.with_name(f"initrd.img-{stock['kernel']['release']}")
    machine.carry_out(kernel, initrd, disk, "/vehicle", 1200)
    out = machine.take(disk, "out", tmp_path)
    words = (out / "words").read_text()
    runs = {name: out / "trial" / name / "single" / "seed-1" for name in IMPLEMENTATIONS}
    for name, folder in runs.items():
        assert (folder / "summary.json").exists(), words
        run, summary = (json.loads((folder / f"{part}.json").read_text()) for part in ("run", "summary"))
        assert run["provenance"]["kernel"]["release"] == stock["kernel"]["release"]
        assert summary["status"] == "ok", words
        assert 0.95 < machine.received_share(summary, _cell(tmp_path, name), tmp_path / "virtual") < 1.05
        for capture in (folder / "pcap").iterdir():
            assert _ether_types(capture) == {IPV4}, f"{capture.name}: not only the flow's packets"
    # started together: one had to wait for the other
    first, second = sorted(map(_from_to_ns, runs.values()))
    assert first[1] < second[0]
    assert len((out / "links").read_text().splitlines()) == 1, "more than the loopback is left"
    assert not (out / "processes").read_text()
