"""Runs on Debian's stock kernel in QEMU, whose clock counts instructions: virtual time without User-Mode Linux.

Each instruction takes 1 ns of guest time (`-icount shift=0`) and waiting takes none, so a run does not depend on the
host's speed. But computing is not free, as it is in the default backend, and a repeated run may differ by microseconds
now and then (docs/explanation/backends.md). Everything is in one initial RAM disk, because a disk would have the host's
timing. So the firmware does not look at disks, and the disk through which results leave is used only at the end. A
program under test without a root of its own is in the RAM disk as well. The emulator runs in a sandbox, like other
guests.
"""

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from common.commit import commit
from engine import backends, images, provenance
from engine.backends import AGENT
from engine.errors import EngineError
from engine.guest.programs import PROGRAMS
from engine.images import Program
from engine.recorder import Recording
from engine.sandbox import UNCONFINED, Limits, bubblewrap
from scenarios.plan.lead import BUILD_NS
from topologies.timeline import BOOT_NS

EMULATOR = "qemu-system-x86_64"
_MEMORY_MIB = 1536
_DELAY_TOLERANCE_NS = 100_000  # handling a packet takes instructions, and so time
_LEAST_WALL_S, _WALL_S_PER_VIRTUAL_S = 300.0, 20.0
_KERNEL_ARGUMENTS = ("console=ttyS0", "quiet", "panic=-1", "nokaslr", "mitigations=off", "ipv6.disable_ipv6=1")


@dataclass(frozen=True)
class QemuGuest:
    """See `engine.backends.Guest`."""

    alone: ClassVar[bool] = False
    memory_mib: ClassVar[int] = _MEMORY_MIB
    stock: dict[str, dict[str, Any]]
    programs: dict[str, Program]
    seed: int
    limit_s: float

    @property
    def provenance(self) -> dict[str, Any]:
        """The kernel's package, one digest of everything in the initial RAM disk, and the emulator."""
        version = subprocess.check_output([EMULATOR, "--version"], text=True).splitlines()[0]
        return {
            "commit": commit(),
            "code": provenance.code("qemu"),
            "kernel": {name: self.stock["kernel"][name] for name in ("release", "version")},
            "images": {"digest": self.stock["initrd"]["digest"]},
            **{f"program:{name}": program.provenance for name, program in self.programs.items()},
            "emulator": version,
            "boot_arguments": " ".join(self._machine()),
            "host": {"machine": platform.machine(), "python": platform.python_version()},
        }

    def _machine(self) -> list[str]:
        started = datetime.fromtimestamp(BOOT_NS // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        words = [
            "-machine",
            "q35,accel=tcg",
            "-bios",
            "qboot.rom",
            "-cpu",
            "max",
            "-smp",
            "1",
            "-m",
            f"{self.memory_mib}M",
        ]
        words += ["-nodefaults", "-no-reboot", "-display", "none", "-icount", "shift=0,sleep=off"]
        words += ["-rtc", f"clock=vm,base={started}", "-seed", str(self.seed)]
        return [*words, "-append", " ".join([*_KERNEL_ARGUMENTS, f"TESTBED_PROGRAM={AGENT}"])]

    def _code(self) -> Path:
        return images.guest_code(self.stock["rootfs"]["path"], self.stock["rootfs"]["digest"])

    def origin_ns(self, probe_ns: int) -> int:
        """See `engine.backends.Guest`; in virtual time the same for the same scenario."""
        return BOOT_NS + BUILD_NS + probe_ns

    def execute(self, folder: Path, cpu: int, limits: Limits, recording: Recording) -> int:  # noqa: ARG002
        """See `engine.backends.Guest`."""
        folder = folder.resolve()
        initrd, disk = folder / ".initrd", folder / ".results"
        with disk.open("wb") as file:
            file.truncate(limits.disk_bytes)
        kernel = self.stock["kernel"]["path"]
        command = ["taskset", "-c", str(cpu), *_walls(kernel.parent, folder)]
        command += [EMULATOR, *self._machine(), "-kernel", str(kernel), "-initrd", str(initrd)]
        command += ["-serial", f"file:{folder}/logs/console.log"]
        command += ["-drive", f"file={str(disk).replace(',', ',,')},if=virtio,format=raw,cache=unsafe"]
        try:
            _pack(self.stock["initrd"]["path"], self._code(), self.programs, folder, initrd)
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.limit_s, check=False
            )
        except subprocess.TimeoutExpired:
            raise EngineError(f"the testbed ended the guest: it took more than {self.limit_s:.0f} s") from None
        finally:
            initrd.unlink(missing_ok=True)
        if done.returncode:
            raise EngineError(f"{EMULATOR} exited with {done.returncode}: {done.stderr.strip()}")
        _unpack(disk, folder)
        return 0


def prepare(run: dict[str, Any]) -> QemuGuest:
    """Prepare a run. Raises EngineError if the emulator or its images are missing, or lack what the run needs."""
    if shutil.which(EMULATOR) is None:
        raise EngineError(f"{EMULATOR} is not installed: sudo apt-get install --no-install-recommends qemu-system-x86")
    names = [name for name, entry in run["implementations"].items() if entry["kind"] == "program"]
    rooted = [name for name in names if "root" in run["implementations"][name]]
    if rooted:
        raise EngineError(f"{', '.join(rooted)}: programs with a root of their own run on the virtual backend only")
    if names and not _walled():
        raise EngineError(f"{', '.join(names)}: foreign programs never run without a sandbox ({UNCONFINED} is set)")
    stock = images.stock()
    programs = {name: images.program(name) for name in names}
    for name, program in programs.items():
        run["implementations"][name]["environment"] = program.environment
    run["agent"] = backends.agent(run, _DELAY_TOLERANCE_NS)
    return QemuGuest(stock, programs, run["seed"], _LEAST_WALL_S + _WALL_S_PER_VIRTUAL_S * run["duration_ns"] / 1e9)


def _walled() -> bool:
    return os.environ.get(UNCONFINED) != "1"


def _walls(*seen: Path) -> list[str]:
    """Return the sandbox around the emulator: it sees installed programs and these folders, and can write the last."""
    if not _walled():
        return []
    words = [bubblewrap(), "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    words += ["--setenv", "PATH", "/usr/bin", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"]
    words += ["--tmpfs", "/tmp"]  # noqa: S108
    words += ["--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]
    for folder in seen[:-1]:
        words += ["--ro-bind", str(folder), str(folder)]
    return [*words, "--bind", str(seen[-1]), str(seen[-1])]


def _pack(base: Path, code: Path, programs: Mapping[str, Program], folder: Path, initrd: Path) -> None:
    """Append the guest's code, programs and run folder to the base archive; the kernel reads both as one."""
    with tempfile.TemporaryDirectory(prefix="testbed-qemu-") as name:
        added = Path(name)
        shutil.copytree(code, added / "opt/testbed")
        for name, program in programs.items():
            # a link of the program's is the guest's, not one into this host
            shutil.copytree(program.files, added / PROGRAMS[1:] / name / "files", symlinks=True)
        (added / "results").mkdir()
        for part in ("pcap", "traces", "logs"):
            (added / "results" / part).mkdir()
        shutil.copy(folder / "run.json", added / "results")
        for path in (added, *added.rglob("*")):
            os.utime(path, (0, 0), follow_symlinks=False)  # the kernel spends instructions on what it reads
        command = (
            'cp "$1" "$2" && find . -print0 | LC_ALL=C sort -z | '
            'cpio --null --create --format=newc --owner=0:0 --reproducible --quiet >>"$2"'
        )
        words = ["bash", "-euo", "pipefail", "-c", command, "-", str(base), str(initrd)]
        done = subprocess.run(words, cwd=added, capture_output=True, text=True, check=False)
        if done.returncode:
            raise EngineError(f"the initial RAM disk cannot be packed: {done.stderr.strip()}")


def _unpack(disk: Path, folder: Path) -> None:
    kept = (folder / "logs" / "console.log").read_bytes()
    # the guest made the archive: pass it as input, so that tar does not decompress it, and keep the host's own files
    words = ["tar", "--extract", "--file", "-", "--directory", str(folder), "--no-same-owner"]
    words += ["--exclude=./run.json", "--exclude=./logs/console.log"]
    with disk.open("rb") as archive:
        done = subprocess.run(words, stdin=archive, capture_output=True, text=True, check=False)
    disk.unlink()
    if done.returncode:
        raise EngineError(f"the guest ended before its agent was done: {kept.decode(errors='replace')[-200:].strip()}")
