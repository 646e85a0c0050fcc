"""The native backend: refusals on this host, and runs on a machine with Debian's own kernel (in QEMU's emulator).

The emulated machine's clock counts instructions: to the backend that is a real time in which nothing else runs.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from engine import backends, images
from engine.backends.qemu import EMULATOR
from engine.errors import EngineError
from engine.execute import execute
from engine.images import PROJECT
from engine.scenario import Cell, expand, implementations
from images.cache import Store
from images.rootfs.build import SUITE, install_debian

SCENARIO = """\
experiment: {name}
title: One flow for a moment
topology: {{name: dumbbell, pairs: 1}}
bottleneck: {{rate: 10mbit, buffer: 40p}}
delay: {{forward: 25ms, backward: 25ms}}
flows:
  - {{name: flow, implementation: {name}, from: s1, to: d1}}
duration: 10s
"""
IMPLEMENTATIONS = ("tcp-cubic", "tcp-ledbat")
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
  python3 -B -c 'import sys; from engine.cli import main; sys.exit(main())' \\
    run /project/trial/$name.yaml --seed 1 --backend native --into /out
done >/out/words 2>&1
ip -oneline link >/out/links
ps -eo comm= | grep -E 'ovs|tcpdump|bulk|python3' >/out/processes
sync; echo o >/proc/sysrq-trigger; sleep 60
"""


def _cell(folder: Path, name: str) -> Cell:
    file = folder / "trial" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(SCENARIO.format(name=name))
    return expand(file, "full")[0]


def _lacks_a_part() -> bool:
    return os.geteuid() != 0 or shutil.which("modprobe") is None


@pytest.mark.skipif(not _lacks_a_part(), reason="this host may have all that the native backend needs")
def test_a_host_that_lacks_a_part_is_told_which(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"start it as root|is not installed: sudo apt-get install"):
        execute(_cell(tmp_path, "tcp-cubic"), 1, tmp_path, "native")


@pytest.mark.skipif(_lacks_a_part(), reason="needs root and modprobe")
def test_foreign_programs_are_not_let_in() -> None:
    program = next(name for name, entry in implementations.known().items() if entry["kind"] == "program")
    run = {"backend": "native", "implementations": {program: {"kind": "program"}}}
    with pytest.raises(EngineError, match=f"{program}: programs under test run on the virtual backend only"):
        backends.prepare(run)


def _stock() -> dict[str, str]:
    index = images.cache_folder() / "stock.json"
    stock: dict[str, str] = json.loads(index.read_text()) if index.exists() else {}
    return stock if "module:tcp_ledbat" in stock else {}


def _machine_root() -> Path:
    """A Debian with what the backend needs besides a kernel, kept in the cache."""
    store = Store(images.cache_folder())

    def make(folder: Path) -> None:
        hook = 'chroot "$1" dpkg-query --show >"$1/packages.txt"'
        install_debian(folder, SUITE, PACKAGES, [hook], store.root / "logs" / "machine.log", "Installing a machine")

    name = "-".join((SUITE, *PACKAGES)).replace("/", "")
    return store.ensure("machines", name, make) / "root"


def _disk(stock: dict[str, str], folder: Path, disk: Path) -> None:
    """A bootable disk: root, stock modules, the project with the images it needs, scenarios, the first program."""
    release, kernel = stock["release"], Path(stock["kernel"])
    root = folder / "root"
    shutil.copytree(_machine_root(), root, symlinks=True)
    modules = root / "usr/lib/modules" / release
    shutil.copytree(kernel.parents[1] / "usr/lib/modules" / release, modules, symlinks=True)
    (modules / "updates").mkdir()
    shutil.copy(stock["module:tcp_ledbat"], modules / "updates")
    for package in ("engine", "topologies", "images", "workflows"):
        shutil.copytree(PROJECT / package, root / "project" / package, ignore=shutil.ignore_patterns("__pycache__"))
    cache = images.cache_folder()
    index = (cache / "images.json").read_text()
    for entry in json.loads(index).values():
        kind, digest, *_ = Path(entry["path"]).relative_to(cache).parts
        shutil.copytree(
            cache / kind / digest, root / "project/cache" / kind / digest, symlinks=True, dirs_exist_ok=True
        )
    (root / "project/cache/images.json").write_text(index.replace(str(cache), "/project/cache"))
    for name in IMPLEMENTATIONS:
        _cell(root / "project", name)
    (root / "out").mkdir()
    (root / "vehicle").write_text(INIT.format(names=" ".join(IMPLEMENTATIONS)))
    (root / "vehicle").chmod(0o755)
    with disk.open("wb") as file:
        file.truncate(3 << 30)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", root, disk], check=True)


@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed")
@pytest.mark.skipif(shutil.which("mke2fs") is None, reason="mke2fs is not installed (e2fsprogs)")
@pytest.mark.skipif(not _stock(), reason="`python -m images.stock` has not been run")
def test_runs_on_a_machine_with_a_stock_kernel_leave_a_result_and_nothing_else(tmp_path: Path) -> None:
    stock, disk = _stock(), tmp_path / "disk"
    _disk(stock, tmp_path, disk)
    kernel = Path(stock["kernel"])
    command = [EMULATOR, "-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "1", "-m", "2G", "-nodefaults"]
    command += ["-no-reboot", "-display", "none", "-icount", "shift=0,sleep=off", "-serial", f"file:{tmp_path}/console"]
    command += ["-kernel", str(kernel), "-initrd", str(kernel.with_name(f"initrd.img-{stock['release']}"))]
    command += ["-append", "console=ttyS0 root=/dev/vda rw quiet mitigations=off nokaslr init=/vehicle"]
    command += ["-drive", f"file={disk},if=virtio,format=raw,cache=unsafe"]
    subprocess.run(command, check=True, timeout=1200)
    subprocess.run(["debugfs", "-R", f"rdump /out {tmp_path}", disk], check=True, capture_output=True)
    out = tmp_path / "out"
    words = (out / "words").read_text()
    for name in IMPLEMENTATIONS:
        folder = out / "trial" / name / "single" / "seed-1"
        assert (folder / "summary.json").exists(), words
        run, summary = (json.loads((folder / f"{part}.json").read_text()) for part in ("run", "summary"))
        assert run["provenance"]["kernel"]["release"] == stock["release"]
        assert summary["status"] == "ok", words
        # a full link less headers, hand-shake and slow start
        assert 0.85 < 8 * summary["flows"]["flow"]["received_bytes"] / 10 / 10e6 < 0.97
    assert len((out / "links").read_text().splitlines()) == 1, "more than the loopback is left"
    assert not (out / "processes").read_text()
