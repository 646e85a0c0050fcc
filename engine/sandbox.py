"""Builds the sandbox around a guest, which sees its images read-only and can write only in the run folder.

User-Mode Linux is an ordinary process, and root in the guest can make it run anything. bubblewrap gives it its own
namespaces (user, mount, pid, network, ipc), no capabilities, and a file system made of the binds below. Inside,
`confine` (engine/guest/confine.c) adds limits and a system call filter. Without root the kernel cannot cap total memory
or disk; `engine.watch` polls both.
"""

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.errors import EngineError
from engine.images import Images, Program, guest_code
from scenarios.plan.sizes import MEMORY_MIB

UNCONFINED = "TESTBED_UNCONFINED"
"""Environment variable: set to 1, guests run without namespaces on hosts that forbid them."""
STAGE = "unconfined"
"""Folder in the run folder with what an unconfined guest cannot have bound."""
KERNEL = "/guest/linux"
MEMORY_FOLDER = "/dev/shm"  # noqa: S108  guest memory: a tmpfs of the sandbox's own
FOLDERS = {
    "TESTBED_ROOTFS": "/guest/rootfs",
    "TESTBED_TOOLS": "/guest/tools",
    "TESTBED_MODULES": "/guest/modules",
    "TESTBED_CODE": "/guest/code",
    "TESTBED_RUN": "/guest/run",
}
PROGRAMS = "/guest/programs"
"""Has a folder for each program of the run, with its `files` and its `root`."""
_WALLS = ["--unshare-all", "--die-with-parent", "--as-pid-1", "--cap-drop", "ALL"]
_OF_THE_HOST = ("acpi", "bus", "driver", "fs", "irq", "mtrr", "pressure", "scsi", "sys", "sysrq-trigger")
PROC = ["--proc", "/proc"]
"""A /proc of the sandbox's own processes, in which nobody writes what belongs to the host.

Files such as core_pattern belong to the host's root, and bubblewrap leaves them writable for a guest that root runs.
"""
for _name in _OF_THE_HOST:
    PROC += ["--ro-bind-try", f"/proc/{_name}", f"/proc/{_name}"]
TRIAL = [
    *("bwrap", *_WALLS, "--ro-bind", "/", "/", *PROC, "--dev", "/dev"),
    *("--size", "65536", "--tmpfs", MEMORY_FOLDER, "true"),
]
"""A command that succeeds where the sandbox works."""
_CONFINE = f"{FOLDERS['TESTBED_TOOLS']}/confine"
_ENVIRONMENT = {
    "TMPDIR": MEMORY_FOLDER,
    # before Linux 6.13 guest processes are forked from the kernel and die of the rseq area they inherit and unmap
    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
}
_LEAST_SIGNALS = 64  # a guest's clock is one
_LEAST_DESCRIPTORS = 256  # a guest's kernel has one or two for each of its processes, and some for files
_MEMORY_SPARE_MIB = 64  # beside the guest's memory, which is one file there
_RANDOM_BREAK_BYTES = 1 << 30
"""How much larger that sparse file can be where the guest's kernel may not switch off address randomization, as in a
container with Docker's default filter: arch_randomize_brk() in arch/x86/kernel/process.c."""


@dataclass(frozen=True)
class Limits:
    """What one guest may take of its host, with all its processes.

    `memory_bytes` comes on top of the guest's own memory, a file of `guest_memory_mib`. `entries` counts files and
    folders. `address_space_bytes` is per process, on top of that memory, which the guest's kernel maps.
    """

    address_space_bytes: int = 3584 << 20
    disk_bytes: int = 256 << 20
    entries: int = 10_000
    guest_memory_mib: int = MEMORY_MIB
    memory_bytes: int = 1 << 30
    processes: int = 2048

    @property
    def memory_folder_bytes(self) -> int:
        """Room for the file that is the guest's own memory."""
        return (self.guest_memory_mib + _MEMORY_SPARE_MIB) << 20


@cache
def bubblewrap() -> str:
    """Return the path of a bwrap that works here.

    Raises:
        EngineError: it is not installed, is too old or the host forbids user namespaces.
    """
    path = shutil.which("bwrap")
    if path is None:
        raise EngineError("bubblewrap is not installed, and no guest runs outside a sandbox: see `testbed doctor`")
    tried = subprocess.run([path, *TRIAL[1:]], capture_output=True, text=True, check=False)
    if tried.returncode:
        raise EngineError(
            f"bubblewrap does not work here ({tried.stderr.strip()}), and no guest runs outside a sandbox: "
            f"see `testbed doctor`"
        )
    return path


def refuse_small_limits(file_bytes: int) -> None:
    """Refuse what the shell lets processes have if that ends a guest, or what records its packets, without a sentence.

    Raises:
        EngineError: a limit is too small for a guest, or for files of so many bytes.
    """
    for name, option, what, least in (
        (resource.RLIMIT_NOFILE, "n", "open files for each process", _LEAST_DESCRIPTORS),
        (resource.RLIMIT_SIGPENDING, "i", "signals that wait", _LEAST_SIGNALS),
        (resource.RLIMIT_FSIZE, "f", "bytes in a file", file_bytes),
    ):
        _, limit = resource.getrlimit(name)
        if limit != resource.RLIM_INFINITY and limit < least:
            raise EngineError(f"found a limit of {limit} {what}; allowed: {least} or more (ulimit -H{option})")


def command(
    images: Images,
    programs: Mapping[str, Program],
    run_folder: Path,
    words: list[str],
    limits: Limits,
    see: Mapping[str, Path],
    interactive: bool = False,
) -> list[str]:
    """Return the command that runs `words` in the sandbox; their paths are the sandbox's, the same on every host.

    `see` adds folders, by their paths in the sandbox (below /guest).
    """
    read_only = {
        KERNEL: images.kernel,
        FOLDERS["TESTBED_ROOTFS"]: images.rootfs,
        FOLDERS["TESTBED_TOOLS"]: images.tools,
        **{f"{FOLDERS['TESTBED_MODULES']}/{name}.ko": path for name, path in images.modules.items()},
        FOLDERS["TESTBED_CODE"]: guest_code(images.rootfs, images.provenance["rootfs"]["digest"]),
        **see,
    }
    address_space_bytes = limits.address_space_bytes + (limits.guest_memory_mib << 20)
    file_bytes = max(limits.disk_bytes, limits.memory_folder_bytes)
    if os.environ.get(UNCONFINED) == "1":
        file_bytes += _RANDOM_BREAK_BYTES
    inside = [_CONFINE, str(address_space_bytes), str(file_bytes), str(limits.processes), *words]
    refuse_small_limits(file_bytes)
    if os.environ.get(UNCONFINED) == "1":
        if programs:
            raise EngineError(
                f"{', '.join(programs)}: foreign programs never run without a sandbox ({UNCONFINED} is set)"
            )
        return _without_walls(read_only, run_folder, inside)
    for name, program in programs.items():
        read_only[f"{PROGRAMS}/{name}/files"] = program.files
        read_only[f"{PROGRAMS}/{name}/root"] = program.root or images.rootfs
    outside = [bubblewrap(), *_WALLS, "--clearenv"]
    for name, value in _ENVIRONMENT.items():
        outside += ["--setenv", name, value]
    outside += ["--hostname", "guest", *([] if interactive else ["--new-session"])]
    # of devices only what the guest's kernel opens: each opening of /dev/ptmx would take one of the host's terminals
    outside += [*PROC, "--tmpfs", "/dev", "--dev-bind", "/dev/null", "/dev/null"]
    outside += ["--size", str(limits.memory_folder_bytes), "--tmpfs", MEMORY_FOLDER]
    for place, source in read_only.items():
        outside += ["--ro-bind", os.fspath(source), place]
    run = FOLDERS["TESTBED_RUN"]
    outside += ["--bind", os.fspath(run_folder), run, "--chdir", run]
    # these two are in memory and without a limit, so nobody may write there
    return [*outside, "--remount-ro", "/dev", "--remount-ro", "/", *inside]


def _without_walls(read_only: dict[str, Path], run_folder: Path, inside: list[str]) -> list[str]:
    """Return the command for a host that forbids namespaces: limits and filter only, and real paths instead of binds.

    hostfs does not follow links out of its folder, so folders made of several binds are copied.
    """
    places = {FOLDERS["TESTBED_RUN"]: run_folder}
    for place, source in read_only.items():
        folder = str(Path(place).parent)
        if folder == "/guest":
            places[place] = source
            continue
        target = run_folder / STAGE / Path(place).relative_to("/guest")
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)
        places[folder] = target.parent
    real = {place: os.fspath(source.resolve()) for place, source in places.items()}
    for path in real.values():
        if re.search(r"[\s\"]", path):
            raise EngineError(
                f"found the folder {path!r}; allowed without a sandbox ({UNCONFINED} is set): paths without blanks and "
                "double quotes, which a kernel's command line cannot hold"
            )
    words = [re.sub(r"(?<![^=])/guest/[\w-]+", lambda place: real[place[0]], word) for word in inside]
    return ["env", "--ignore-environment", *(f"{name}={value}" for name, value in _ENVIRONMENT.items()), *words]
