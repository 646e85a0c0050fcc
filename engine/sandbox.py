"""The walls around a guest: it sees its images read-only and can write in the run folder and nowhere else.

User-Mode Linux is an ordinary process; whoever is root in the guest can make it run anything. bubblewrap gives it
namespaces of its own (user, mount, pid, network, ipc), no capabilities and a file system made of the binds below.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from engine.errors import EngineError
from engine.guest.programs import PROGRAMS
from engine.images import PROJECT, Images, Program

KERNEL = "/guest/linux"
MEMORY_FOLDER = "/dev/shm"  # noqa: S108  guest memory: a tmpfs of the sandbox's own
FOLDERS = {
    "TESTBED_ROOTFS": "/guest/rootfs",
    "TESTBED_TOOLS": "/guest/tools",
    "TESTBED_MODULES": "/guest/modules",
    "TESTBED_CODE": "/guest/code",
    "TESTBED_RUN": "/guest/run",
}


@cache
def bubblewrap() -> str:
    """Path of a bwrap that works here.

    Raises:
        EngineError: it is not installed or the host forbids user namespaces.
    """
    path = shutil.which("bwrap")
    if path is None:
        raise EngineError("bubblewrap is not installed, and no guest runs outside a sandbox: see `testbed doctor`")
    test = [path, "--unshare-all", "--ro-bind", "/", "/", "true"]
    tried = subprocess.run(test, capture_output=True, text=True, check=False)
    if tried.returncode:
        raise EngineError(f"bubblewrap does not work here ({tried.stderr.strip()}): see `testbed doctor`")
    return path


def command(images: Images, programs: Mapping[str, Program], run_folder: Path, interactive: bool) -> list[str]:
    """The words before the kernel's own: everything the guest may see, at paths that are the same on every host."""
    words = [bubblewrap(), "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--clearenv"]
    words += ["--setenv", "TMPDIR", MEMORY_FOLDER, "--hostname", "guest"]
    # before Linux 6.13 guest processes are forked from the kernel and die of the rseq area they inherit and unmap
    words += ["--setenv", "GLIBC_TUNABLES", "glibc.pthread.rseq=0"]
    words += [] if interactive else ["--new-session"]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", MEMORY_FOLDER]
    read_only = {
        images.kernel: KERNEL,
        images.rootfs: FOLDERS["TESTBED_ROOTFS"],
        images.tools: FOLDERS["TESTBED_TOOLS"],
        **{path: f"{FOLDERS['TESTBED_MODULES']}/{name}.ko" for name, path in images.modules.items()},
        PROJECT / "engine": f"{FOLDERS['TESTBED_CODE']}/engine",
        PROJECT / "topologies": f"{FOLDERS['TESTBED_CODE']}/topologies",
    }
    binds = [*read_only.items()]
    for name, program in programs.items():
        binds += [
            (program.files, f"{PROGRAMS}/{name}/files"),
            (program.root or images.rootfs, f"{PROGRAMS}/{name}/root"),
        ]
    for source, place in binds:
        words += ["--ro-bind", os.fspath(source), place]
    return [*words, "--bind", os.fspath(run_folder), FOLDERS["TESTBED_RUN"], "--chdir", FOLDERS["TESTBED_RUN"]]
