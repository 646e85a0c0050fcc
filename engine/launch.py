"""Composes the command that boots a guest."""

from collections.abc import Mapping
from pathlib import Path

from engine import sandbox, syscall_mode
from engine.images import Images, Program
from engine.sandbox import Limits
from scenarios.plan.sizes import MEMORY_MIB
from topologies.timeline import BOOT_NS


def boot_arguments(
    images: Images,
    seed: int,
    program: str,
    real_time: bool = False,
    memory_mib: int = MEMORY_MIB,
    foreign: bool = False,
) -> list[str]:
    """Return the guest kernel's command line, which makes a run a function of its scenario and seed alone.

    `foreign`: programs under test are among what the guest runs.
    """
    time = (
        []
        if real_time
        else ["time-travel=inf-cpu", f"time-travel-start={BOOT_NS}", "norandmaps", f"seed={seed}", "con0=null,fd:1"]
    )
    console = ["con0=fd:0,fd:1"] if real_time else []
    return [
        f"mem={memory_mib}M",
        "root=/dev/root",
        "rootfstype=hostfs",
        f"rootflags={sandbox.FOLDERS['TESTBED_TOOLS']}",
        "ro",
        "init=/init",
        "con=null",
        *time,
        *console,
        "quiet",
        f"seccomp={'on' if images.seccomp else 'off'}",
        syscall_mode.kernel_option(),
        f"uml_dir={sandbox.MEMORY_FOLDER}/",
        # no router solicitations, duplicate address detection or multicast reports in captures
        "ipv6.disable_ipv6=1",
        *(f"{name}={folder}" for name, folder in sandbox.FOLDERS.items()),
        *([f"TESTBED_PROGRAMS={sandbox.PROGRAMS}"] if foreign else []),
        f"TESTBED_PROGRAM={program}",
    ]


def command(
    images: Images,
    run_folder: Path,
    cpu: int,
    arguments: list[str],
    limits: Limits,
    *,
    programs: Mapping[str, Program] | None = None,
    see: Mapping[str, Path] | None = None,
    interactive: bool = False,
) -> list[str]:
    """Return the whole command, pinned to `cpu` and inside the sandbox.

    The sandbox shows only the programs of the run and what `see` adds: paths in the sandbox and what they show.
    """
    words = [sandbox.KERNEL, *arguments]
    inside = sandbox.command(images, programs or {}, run_folder, words, limits, see or {}, interactive)
    return ["taskset", "-c", str(cpu), *inside]
