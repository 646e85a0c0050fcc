# SPDX-License-Identifier: MIT
"""Boot a newly built guest kernel once, to find out whether and how it runs here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from images.errors import ImageError

TIMEOUT_S = 20
SECCOMP_SIGN = "seccomp filters can be installed...OK"  # older kernels take the option for one of init's

MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - where guests have their memory, which must allow execution

ENVIRONMENT = {
    # before Linux 6.13 the guest's processes are forks of the kernel: they inherit its rseq area, unmap it and die
    "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
}


def seccomp_works(kernel: Path, probe: Path) -> bool:
    """Tell whether the guest runs with `seccomp=on` (Linux 6.16 and later, on hosts that allow it).

    `probe` is its first program: static, leaves the file /booted and powers off (probe.c).
    Raises ImageError when it does not boot in the older ptrace mode either.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-trial-") as name:
        folder = Path(name)
        root = folder / "root"
        root.mkdir()
        shutil.copy(probe, root / "init")
        booted, console = _boot(kernel, folder, "seccomp=on")
        if booted:
            return SECCOMP_SIGN in console
        booted, console = _boot(kernel, folder)
        if booted:
            return False
    raise ImageError(
        "The guest kernel does not boot on this host (is /dev/shm mounted noexec, or full?); it said: "
        + (" / ".join(console.strip().splitlines()[-3:]) or "nothing")
    )


def _boot(kernel: Path, folder: Path, *options: str) -> tuple[bool, str]:
    """Return whether the guest's first program ran, and what the console said."""
    mark = folder / "root" / "booted"
    mark.unlink(missing_ok=True)
    arguments = [
        "mem=256M",  # the debug kernel takes 100 of it for itself
        "rootfstype=hostfs",
        f"rootflags={folder / 'root'}",
        "rw",
        "init=/init",
        "con=null",
        "con0=null,fd:1",
        "time-travel=inf-cpu",
        f"uml_dir={folder}/",
        *options,
    ]
    # while a container image is built, nothing may run from there; a disk is slow and does
    memory = folder if os.statvfs(MEMORY_FOLDER).f_flag & os.ST_NOEXEC else MEMORY_FOLDER
    with (folder / "console").open("wb") as console:
        try:
            subprocess.run(
                [kernel, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT, "TMPDIR": str(memory)},
                timeout=TIMEOUT_S,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            mark.unlink(missing_ok=True)
    return mark.exists(), (folder / "console").read_text(errors="replace")
