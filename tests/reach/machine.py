"""Machines with Debian's stock kernel in QEMU's emulator: their disks, and what runs leave on them."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from engine import images
from engine.backends.qemu import EMULATOR
from engine.images import PROJECT
from engine.run import execute
from images import index, locked
from images.cache import Store, default_root
from images.rootfs.build import KEPT, SUITE, install_debian
from scenarios.resolve import Cell, resolve

# without this instruction: QEMU 7.2 damages the flags after it now and then, and the kernel crashes
_PROCESSOR = "max,cx16=off"

ON_STOCK_KERNEL: Final = [
    pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed"),
    pytest.mark.skipif(not images.index_of(index.STOCK).exists(), reason="`python -m images --stock` has not been run"),
]
"""Marks of a test that runs on Debian's own kernel, as that of the qemu backend."""


def missing() -> str | None:
    """What this host lacks for such machines."""
    for program, package in {EMULATOR: "qemu-system-x86", "mke2fs": "e2fsprogs", "debugfs": "e2fsprogs"}.items():
        if shutil.which(program) is None:
            return f"{program} is not installed ({package})"
    return None


def debian(packages: Sequence[str], into: Path, suite: str = SUITE) -> None:
    """A Debian with these packages; kept in the cache."""
    store = Store(default_root())

    def make(folder: Path) -> None:
        hook = 'chroot "$1" dpkg-query --show >"$1/packages.txt"'
        today = locked.resolve(store, suite, packages, complete=True)
        files = locked.fetch(store, print, today, "machine")
        log, kept = store.root / "logs" / "machine.log", (*KEPT, "lintian/*")
        install_debian(folder, today, files, [hook], log, "Installing a machine", kept)

    root = store.ensure("machines", "-".join((suite, *packages)).replace("/", ""), make) / "root"
    shutil.copytree(root, into, symlinks=True)


def copy_project(root: Path) -> None:
    """Put the packages that carry out runs, and the images that boot, into a machine's root folder as /project."""
    for package in ("analysis", "common", "engine", "images", "scenarios", "testbed", "topologies", "workflows"):
        shutil.copytree(PROJECT / package, root / "project" / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "Snakefile", root / "project")
    copy_images(root, "/project")


def copy_images(root: Path, project: str) -> None:
    """Put what boots into the checkout that the machine with this root sees as `project`."""
    cache = default_root()
    listing = images.index_of(index.BOOT)
    copies = root / project.strip("/") / "cache"
    for entry in index.read(listing).values():
        if "path" in entry:
            kind, digest, *_ = Path(entry["path"]).parts
            shutil.copytree(cache / kind / digest, copies / kind / digest, symlinks=True, dirs_exist_ok=True)
    (copies / index.FOLDER).mkdir()
    shutil.copy(listing, copies / index.FOLDER)


def write_program(root: Path, name: str, text: str) -> None:
    """Put a program into the root folder of a machine."""
    program = root / name
    program.write_text(text)
    program.chmod(0o755)


def make_disk(root: Path, disk: Path, size_gib: int) -> None:
    """A disk with everything below `root`."""
    with disk.open("wb") as file:
        file.truncate(size_gib << 30)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-d", root, disk], check=True)


def carry_out(kernel: Path, initrd: Path, disk: Path, first: str, limit_s: float, words: str = "") -> None:
    """Boot from `disk` with `first` as the first program, until that powers the machine off.

    `words` are options of its kernel.

    Its clock counts instructions: a real time in which nothing else runs, whatever the host does.
    """
    command = [*_machine(kernel, initrd, disk, f"quiet init={first} {words}"), "-icount", "shift=0,sleep=off"]
    subprocess.run(command, check=True, timeout=limit_s)


@contextmanager
def running(kernel: Path, initrd: Path, disk: Path, port: int) -> Iterator[None]:
    """A machine as fast as emulation goes, in the host's time; `port` of this host's loopback is its SSH."""
    command = [*_machine(kernel, initrd, disk), "-rtc", "base=utc", "-device", "virtio-net-pci,netdev=network"]
    command += ["-netdev", f"user,id=network,hostfwd=tcp:127.0.0.1:{port}-:22"]
    with subprocess.Popen(command) as emulator:
        try:
            yield
            emulator.wait(timeout=600)
        finally:
            emulator.kill()


def _machine(kernel: Path, initrd: Path, disk: Path, words: str = "") -> list[str]:
    command = [EMULATOR, "-machine", "q35", "-accel", "tcg", "-cpu", _PROCESSOR, "-smp", "1", "-m", "3G"]
    command += ["-nodefaults", "-no-reboot", "-display", "none", "-serial", f"file:{disk.with_name('console')}"]
    command += ["-kernel", str(kernel), "-initrd", str(initrd)]
    command += ["-append", f"console=ttyS0 root=/dev/vda rw mitigations=off nokaslr {words}"]
    return [*command, "-drive", f"file={disk},if=virtio,format=raw,cache=unsafe"]


def printed(added: Path, command: str, limit_s: float, processors: int = 1) -> str:
    """What a shell command prints in a machine whose file system has what is below `added`, too.

    The machine is that of the qemu backend, whose clock counts instructions. Several processors are threads of this
    host instead, and have its time.
    """
    stock = images.stock()
    write_program(added, "first", _FIRST.format(command=command))
    initrd, console = added.with_name("initrd"), added.with_name("console")
    pack = 'cp "$1" "$2" && find . -print0 | cpio --null --create --format=newc --owner=0:0 --quiet >>"$2"'
    words = ["bash", "-euo", "pipefail", "-c", pack, "-", stock["initrd"]["path"], initrd]
    subprocess.run(words, cwd=added, check=True)
    command_line = "console=ttyS0 mitigations=off nokaslr no_timer_check slub_debug=FZPU quiet rdinit=/first"
    machine = [EMULATOR, "-machine", "q35", "-cpu", _PROCESSOR, "-smp", str(processors), "-m", "2G"]
    if processors == 1:
        machine += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
    else:
        machine += ["-accel", "tcg,thread=multi"]
        # one that waits for the host looks stalled
        command_line += " nosoftlockup rcupdate.rcu_cpu_stall_suppress=1 sysctl.kernel.hung_task_timeout_secs=0"
    machine += ["-nodefaults", "-no-reboot", "-display", "none", "-serial", f"file:{console}"]
    machine += ["-kernel", str(stock["kernel"]["path"]), "-initrd", str(initrd)]
    subprocess.run([*machine, "-append", command_line], check=True, timeout=limit_s)
    text = console.read_text(errors="replace").replace("\r", "")
    assert _BEGIN in text, text
    return text.partition(_BEGIN)[2].partition(_END)[0].strip()


_BEGIN, _END = "--- begin", "--- end"
_FIRST = f"""\
#!/bin/sh
export PATH=/opt/tools:/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t bpf bpf /sys/fs/bpf
mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
exec >/dev/ttyS0 2>&1
echo "{_BEGIN}"
{{command}}
echo "{_END}"
sleep 1
echo o >/proc/sysrq-trigger
sleep 60
"""


def take(disk: Path, folder: str, into: Path) -> Path:
    """Copy a folder from the disk of a machine that is off."""
    into.mkdir(exist_ok=True)
    subprocess.run(["debugfs", "-R", f"rdump /{folder} {into}", disk], check=True, capture_output=True)
    return into / folder


def received_share(summary: dict[str, Any], cell: Cell, into: Path) -> float:
    """Return what the receivers of a run got, relative to the same scenario in virtual time."""
    first, second = (
        sum(flow["received_bytes"] for flow in each["flows"].values())
        for each in (summary, execute(resolve(cell, 1), into))
    )
    return float(first / second)
