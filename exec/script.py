"""Carries out `testbed exec`: runs a user's unmodified Mininet script in a guest.

The script sees its working folder and its own folder read-only under an overlay. Files that it writes in the working
folder end up in `files/` of the results folder; its output appears both there and here.
"""

import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from common import files
from engine import handover, interrupt, launch, outcome, provenance, watch
from engine.cpu_slots import free_cpu
from engine.errors import EngineError
from engine.images import Images
from engine.interrupt import Terminated
from engine.progress import Stage, sign_of_life
from engine.sandbox import STAGE, Limits
from exec import hints, missing, packages
from exec.packages import Lab
from images.cache import tree_digest
from scenarios.plan.sizes import MEMORY_MIB

PROGRAM = "engine.guest.exec_script"
SUMMARY = "exec.json"
_FOLDERS = {
    "TESTBED_WORK": "/guest/work",
    "TESTBED_SCRIPT": "/guest/script",
    "TESTBED_PYTHON": "/guest/python",
    "TESTBED_MODULE_LISTS": "/guest/module-lists",
}
_SPIN_NS = 100_000  # what reading the clock takes a program that does nothing else; see images/kernel/patches
_LEFT_FOLDERS = dict.fromkeys(("files", "elsewhere", "logs"))
_LEFT_FILES = {"order.json", "stdin", "stdout.txt", "stderr.txt", "guest.json", "heartbeat"}
_LIMITS = Limits()
LIMIT_S = 3600
"""Of virtual time, where nobody sets another."""
LINK_RATE_BPS = 10**9
"""Of a link to which a script gives none."""
MOST_LINK_RATE_BPS = 32 * 10**9
_STAGES = (Stage(sys.maxsize, "while the script ran"),)
_LOOK_S = 0.05
_GRACE_S = 10.0  # batch schedulers send SIGKILL 30 s after SIGTERM


@dataclass(frozen=True)
class ScriptRun:
    """What to run from a working folder: `words`, the command as the guest has it, and where it finds what it needs.

    `beside` is the folder of its script. `seed` may be drawn from the number of a `student`. The script is interrupted
    after `limit_s` virtual seconds, in a guest of `memory_mib`; `controller` is a command that runs beside it. Links
    without a rate get `link_rate_bps` (0: none), and without `offload` each packet of a TCP connection is one packet in
    every queue. With `python2`, Python answers to that name. `stdin` is what the script reads, and `together` says that
    its standard error goes where its standard output goes; neither is used in real time.
    """

    words: tuple[str, ...]
    folder: Path
    beside: Path
    seed: int = 1
    student: str | None = None
    deb: tuple[str, ...] = ()
    pip: tuple[str, ...] = ()
    keep_all: bool = False
    limit_s: int | None = None
    memory_mib: int = MEMORY_MIB
    link_rate_bps: int = LINK_RATE_BPS
    offload: bool = True
    controller: str | None = None
    python2: bool = False
    stdin: bytes = b""
    together: bool = True

    def seen(self, lab: Lab) -> dict[str, Path]:
        """Folders of the host by the paths at which the guest's sandbox has them."""
        seen = {
            _FOLDERS["TESTBED_WORK"]: self.folder,
            _FOLDERS["TESTBED_SCRIPT"]: self.beside,
            _FOLDERS["TESTBED_MODULE_LISTS"]: lab.images.kernel.parent / "modules",
        }
        return seen | ({_FOLDERS["TESTBED_PYTHON"]: lab.python} if lab.python else {})


def command_of(script: Path, folder: Path) -> tuple[str, str]:
    """How the guest starts a script, in Python or `.sh`: by its path in the working folder when it lies there."""
    resolved = script.resolve()
    inside = resolved.is_relative_to(folder)
    program = "bash" if script.suffix == ".sh" else "python3"
    return program, str(resolved.relative_to(folder)) if inside else f"/lab/script/{resolved.name}"


def run(order: ScriptRun, into: Path, real_time: bool = False, echo: bool = True) -> dict[str, Any]:
    """Run the script; returns what exec.json says. With `echo`, what it prints also appears here.

    Its `exit_status` is the script's, or 128 + n when signal n ended it or this command.

    Whatever ends the guest, the results folder has what the script left. If this command ends before, there is no
    folder.

    Raises:
        EngineError: the results folder holds something else, or the guest failed.
    """
    if into.exists() and not (into / SUMMARY).exists():
        raise EngineError(f"{into} holds other files than results of `testbed exec`; choose another --into")
    lab = packages.load(order.deb, order.pip)
    partial = into.with_name(f".{into.name}.{os.getpid()}.partial")
    try:
        (partial / "logs").mkdir(parents=True)
        summary = _in_real_time(lab, order, partial) if real_time else _in_virtual_time(lab, order, partial, echo)
    except OSError as error:
        raise EngineError(f"{error.filename or into}: {error.strerror}; choose another --into") from None
    except KeyboardInterrupt:  # before the guest has begun
        handover.remove(partial)
        raise
    finally:
        if partial.exists():
            _give_name(partial, into)
    summary["missing"] = missing.missing(into, summary["missing"], order.folder, summary["controller_listens"])
    summary["digests"] = _digests(into)
    (into / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n")
    return summary


def _digests(into: Path) -> dict[str, str]:
    """SHA-256 of what the script printed and wrote; the console's log is not its work."""
    all_files = tree_digest(into).items()
    return {name: digest for name, digest in all_files if name != SUMMARY and not name.startswith("logs/")}


def _give_name(partial: Path, into: Path) -> None:
    handover.remove(partial / STAGE)
    with suppress(EngineError):  # the reason why the guest was ended is reported first
        handover.accept(partial, _LIMITS, _LEFT_FOLDERS, _LEFT_FILES)
    for name in ("order.json", "stdin", "heartbeat", "guest.json", SUMMARY):
        handover.remove(partial / name)
    (partial / SUMMARY).write_text("{}\n")
    handover.remove(into)
    files.give_name(partial, into)


def _summary(boot: Images, order: ScriptRun, arguments: list[str], report: dict[str, Any]) -> dict[str, Any]:
    return {
        "command": order.words,
        "seed": order.seed,
        "exit_status": report["exit_status"],
        "virtual_s": report["virtual_ns"] / 1e9,
        "missing": report.get("missing", []),
        "elsewhere": report.get("elsewhere", []),
        "limit_s": order.limit_s,
        "link_rate_bps": order.link_rate_bps if report.get("rated") else None,
        "storm": report.get("storm"),
        "controller_exit": report.get("controller_exit"),
        "controller_listens": report.get("controller_listens", False),
        "provenance": provenance.of(boot, {}, arguments),
    }


def _outcome(folder: Path, status: int) -> dict[str, Any]:
    handover.remove(folder / STAGE)
    handover.accept(folder, _LIMITS, _LEFT_FOLDERS, _LEFT_FILES)
    report = outcome.read(folder / "guest.json", outcome.SCRIPT)
    if report is None:
        raise EngineError(f"the guest ended with status {status} before the script did")
    return report


def _write_order(folder: Path, order: ScriptRun, interactive: bool, terminals: tuple[str, str]) -> None:
    (folder / "stdin").write_bytes(order.stdin)
    words = {
        "words": order.words,
        "interactive": interactive,
        "keep_all": order.keep_all,
        "limit_s": order.limit_s,
        "link_rate_bps": order.link_rate_bps,
        "offload": order.offload,
        "controller": order.controller,
        "python2": order.python2,
        "stdin": "/results/stdin",
        "stdout": terminals[0],
        "stderr": terminals[1],
    }
    (folder / "order.json").write_text(json.dumps(words))


def _boot_arguments(lab: Lab, order: ScriptRun, real_time: bool) -> list[str]:
    arguments = launch.boot_arguments(lab.images, order.seed, PROGRAM, real_time, order.memory_mib)
    # off for runs, whose captures it would disturb; a script may want it
    kept = [word for word in arguments if not word.startswith("ipv6.")]
    folders = [f"{name}={place}" for name, place in _FOLDERS.items() if place in order.seen(lab)]
    tunnels = [] if _mentions_tunnels(order.beside) else ["fb_tunnels=none"]
    return [*kept, *tunnels, *folders, *([] if real_time else [f"spin={_SPIN_NS}"])]


def _mentions_tunnels(beside: Path) -> bool:
    """Whether `ip tunnel`, which asks devices like gre0, may be used: on a host its modules bring them at first use."""
    scripts = (file for pattern in ("*.py", "*.sh") for file in beside.glob(pattern))
    return any(b"tunnel" in file.read_bytes() for file in scripts if file.is_file())


def _in_real_time(lab: Lab, order: ScriptRun, folder: Path) -> dict[str, Any]:
    """The guest has this terminal, Ctrl-C included."""
    arguments = _boot_arguments(lab, order, real_time=True)
    limits = Limits(guest_memory_mib=order.memory_mib)
    _write_order(folder, order, True, ("/dev/tty0", "/dev/tty0"))
    with free_cpu(order.memory_mib) as cpu:
        command = launch.command(lab.images, folder, cpu, arguments, limits, see=order.seen(lab), interactive=True)
        try:
            status = watch.run_at_terminal(command, folder, limits)
            report = _outcome(folder, status)
        except KeyboardInterrupt as interruption:
            report = _interrupted(folder, interruption)
    return _summary(lab.images, order, arguments, report)


def _in_virtual_time(lab: Lab, order: ScriptRun, folder: Path, echo: bool) -> dict[str, Any]:
    """The script has terminals of the guest whose other ends are files, followed here, and one key: Ctrl-C."""
    together = order.together
    _write_order(folder, order, False, ("/dev/tty1", "/dev/tty1" if together else "/dev/tty2"))
    keys, pressed = os.pipe()
    with (
        free_cpu(order.memory_mib) as cpu,
        (folder / "stdout.txt").open("wb") as output,
        (folder / ("stdout.txt" if together else "stderr.txt")).open("ab") as errors,
        _followed(folder / "stdout.txt", sys.stdout.buffer) if echo else nullcontext(),
        _followed(folder / "stderr.txt", sys.stderr.buffer) if echo and not together else nullcontext(),
        _interruption_typed(pressed),
    ):
        descriptors = (keys, output.fileno(), errors.fileno())
        arguments = _boot_arguments(lab, order, real_time=False)
        limits = Limits(guest_memory_mib=order.memory_mib)
        channels = [f"con1=fd:{keys},fd:{output.fileno()}", f"con2=null,fd:{errors.fileno()}"]
        command = launch.command(lab.images, folder, cpu, [*arguments, *channels], limits, see=order.seen(lab))
        try:
            status = watch.run(command, folder, limits, descriptors, lab.images.kernel, _STAGES)
            report = _outcome(folder, status)
        except EngineError as error:
            raise EngineError("".join((str(error), *hints.of_console(folder, order.memory_mib)))) from None
        except KeyboardInterrupt as interruption:
            report = _interrupted(folder, interruption)
        finally:
            for descriptor in (keys, pressed):
                os.close(descriptor)
    return _summary(lab.images, order, arguments, report)


def _interrupted(folder: Path, interruption: KeyboardInterrupt) -> dict[str, Any]:
    return {"exit_status": interrupt.status(interruption), "virtual_ns": sign_of_life(folder) or 0}


@contextmanager
def _interruption_typed(pressed: int) -> Iterator[None]:
    """Type the first Ctrl-C or SIGTERM at the script's terminal; end it at the second, or `_GRACE_S` after SIGTERM."""
    seen = False

    def typed(number: int, _frame: object) -> None:
        nonlocal seen
        if seen:
            raise KeyboardInterrupt if number == signal.SIGINT else Terminated
        seen = True
        os.write(pressed, b"\x03")
        if number == signal.SIGTERM:
            signal.setitimer(signal.ITIMER_REAL, _GRACE_S)

    before = {number: signal.signal(number, typed) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _followed(path: Path, into: BinaryIO) -> Iterator[None]:
    """Copy what is appended to a file as it appears."""
    over = threading.Event()

    source = path.open("rb")  # before the guest can put something else in its place

    def follow() -> None:
        with source:
            while True:
                last = over.wait(_LOOK_S)
                shutil.copyfileobj(source, into)
                into.flush()
                if last:
                    return

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
