# SPDX-License-Identifier: MIT
"""`testbed doctor`: what this host has and what it lacks, each with the way to get it.

Runs on a bare Python before anything is installed: only the standard library is imported.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import pwd
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from engine import cgroup, quota, syscall_mode
from engine.sandbox import MEMORY_FOLDER, TRIAL, UNCONFINED
from images.cache import default_root
from images.debian import mirrors
from images.errors import ImageError
from images.paths import refused_cache, refused_checkout
from scenarios.plan.sizes import MEMORY_MIB

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "images" / "host-packages.txt"
FOR_TESTS = ROOT / "tests" / "host-packages.txt"
FOR_REACH = ROOT / "tests" / "reach" / "host-packages.txt"

GIB = 1 << 30
DISK_GIB = 5  # set-up at its peak: unpacked kernel source 1.8, objects, sources, root file system, environment
MEMORY_GIB = 1  # one guest and its programs
PYTHON = (3, 11)
BUBBLEWRAP = (0, 7)  # the first with --size
SUBORDINATE_IDS = 65536
POLARS = {"avx", "avx2", "fma", "bmi1", "bmi2", "abm", "movbe", "popcnt", "sse4_2"}
"""What its package for most processors is compiled for, by the kernel's names (abm: lzcnt)."""


@dataclass(frozen=True)
class Check:
    """One thing a host must have: what was seen, and (when it is not good) what to do about it."""

    name: str
    seen: str
    remedy: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the host has it."""
        return self.remedy is None


@dataclass(frozen=True)
class HostPackage:
    """A line of host-packages.txt."""

    name: str
    shown_by: str
    purpose: str

    def present(self) -> bool:
        """Tell whether the host has what the package brings, wherever it came from."""
        if self.shown_by.startswith("/"):
            return Path(self.shown_by).exists()
        if self.shown_by.startswith("python:"):
            wanted = self.shown_by.removeprefix("python:")
            if wanted.endswith(".h"):
                return Path(sysconfig.get_path("include"), wanted).exists()
            return importlib.util.find_spec(wanted) is not None
        return any(shutil.which(program) for program in self.shown_by.split("|"))


def host_packages(text: str) -> list[HostPackage]:
    """Read host-packages.txt."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [HostPackage(*line.split(maxsplit=2)) for line in lines]


def install_command(names: Iterable[str]) -> list[str]:
    """Return the command that installs Debian packages, `sudo` left out."""
    return ["apt-get", "install", "--yes", "--no-install-recommends", *names]


def checks() -> list[Check]:
    """Look at everything; nothing is changed. Another system than Linux lacks what most of them look at."""
    if platform.system() != "Linux":
        return [_machine()]
    packages = [_package(package) for package in host_packages(PACKAGES.read_text())]
    return [
        _machine(),
        _processor(),
        _python(),
        _folders(),
        *packages,
        *_subordinate_ids(),
        _mirror(),
        _sandbox(),
        _bound(),
        _system_calls(),
        *_shared_memory(),
        _disk(),
        _memory(),
        _cpus(),
    ]


def _package(package: HostPackage) -> Check:
    if package.present():
        return Check(package.name, package.purpose)
    return Check(
        package.name, f"not there; for {package.purpose}", shlex.join(["sudo", *install_command([package.name])])
    )


def _machine() -> Check:
    machine, system = platform.machine(), platform.system()
    seen = f"{system} {machine}"
    if (system, machine) == ("Linux", "x86_64"):
        return Check("machine", seen)
    if system == "Linux":
        remedy = "the default backend needs x86-64; the qemu backend emulates it, with images from such a machine"
        return Check("machine", seen, f"{remedy} (docs/explanation/backends.md)")
    return Check("machine", seen, "use a Linux host with an x86-64 processor")


def _python() -> Check:
    good = sys.version_info[:2] >= PYTHON
    remedy = "install Python 3.11 or newer and name it: make PYTHON=python3.11 ... (Ubuntu 22.04: packages python3.11, "
    remedy += "python3.11-venv, python3.11-dev)"
    return Check("python", platform.python_version(), None if good else remedy)


def _processor(cpuinfo: Path = Path("/proc/cpuinfo"), lock: Path = ROOT / "requirements.lock") -> Check:
    flags = next((line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")), "").split()
    missing = sorted(POLARS - {*flags})
    if not missing or platform.machine() != "x86_64":
        return Check("processor", "has what the data library Polars is compiled for")
    version = re.search(r"^polars==(\S+)", lock.read_text(), re.MULTILINE)
    wanted = f"polars-runtime-compat=={version[1]}" if version else "polars-runtime-compat"
    seen = f"lacks {', '.join(missing)}, which the data library Polars is compiled for"
    return Check("processor", seen, f"after `make env`: .venv/bin/pip install {wanted}")


def _folders() -> Check:
    remedy = refused_checkout(ROOT) or refused_cache(default_root())
    return Check("folder", str(ROOT), remedy)


def _subordinate_ids(etc: Path = Path("/etc")) -> list[Check]:
    """What newuidmap needs to give a user the numbers of a root file system's users; root does without."""
    if os.geteuid() == 0:
        return []
    number = os.getuid()
    user = next((entry.pw_name for entry in pwd.getpwall() if entry.pw_uid == number), str(number))
    answers = []
    for kind in ("subuid", "subgid"):
        file = etc / kind
        lines = [line.split(":") for line in file.read_text().splitlines()] if file.exists() else []
        count = sum(int(line[2]) for line in lines if line[0] in (user, str(number)))
        option = f"--add-{kind}s"
        remedy = f"sudo usermod {option} 100000-165535 {user}  (or another range of 65536 that nobody has)"
        answers.append(Check(str(file), f"{count} for {user}", None if count >= SUBORDINATE_IDS else remedy))
    return answers


def _mirror() -> Check:
    try:
        return Check("Debian mirror", mirrors()[0])
    except ImageError as error:
        return Check("Debian mirror", "none", str(error))


def _sandbox() -> Check:
    try:
        done = subprocess.run(TRIAL, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return Check("sandbox", "bwrap is not there", shlex.join(["sudo", *install_command(["bubblewrap"])]))
    if done.returncode == 0:
        return Check("sandbox", "bwrap can make user namespaces")
    version = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False).stdout.split()[-1:]
    numbers = re.match(r"(\d+)\.(\d+)", "".join(version))
    if numbers and tuple(map(int, numbers.groups())) < BUBBLEWRAP:
        remedy = (
            "install bubblewrap 0.7 or newer (Debian 12, Ubuntu 24.04), or use a container: docs/howto/containers.md"
        )
        return Check("sandbox", f"bwrap {version[0]} cannot limit a guest's memory folder (--size)", remedy)
    why = "".join(done.stderr.splitlines()[-1:]).removeprefix("bwrap: ")
    return Check("sandbox", f"bwrap fails: {why}", _allow_namespaces())


def _bound() -> Check:
    return Check("memory of guests", cgroup.described())


def _system_calls() -> Check:
    """Nothing to remedy: guests run either way."""
    why = (
        f"{syscall_mode.STUBS}=1 says so"
        if syscall_mode.stubs_wanted()
        else ", ".join(f"no {part}" for part in syscall_mode.lacking())
    )
    where = f"by way of stub processes: {why}" if why else "in the host process that makes them"
    return Check("system calls", f"of guests {where}")


def _allow_namespaces(proc: Path = Path("/proc/sys")) -> str:
    switches = {
        "kernel.apparmor_restrict_unprivileged_userns": "0",
        "kernel.unprivileged_userns_clone": "1",
        "user.max_user_namespaces": "10000",
    }
    for name, value in switches.items():
        path = proc / name.replace(".", "/")
        if path.exists() and (path.read_text().strip() == "0") == (value != "0"):
            return f"sudo sysctl {name}={value}"
    return (
        "allow user namespaces, which no chroot has; in a container, start it with --security-opt seccomp=unconfined "
        "--security-opt systempaths=unconfined, or, where nothing foreign runs and the container is wall enough, set "
        f"{UNCONFINED}=1"
    )


def _shared_memory() -> list[Check]:
    """Guests with walls have a folder of their own in its place."""
    if os.environ.get(UNCONFINED) != "1":
        return []
    name = MEMORY_FOLDER
    try:
        status = os.statvfs(MEMORY_FOLDER)
    except OSError:
        return [Check(name, "not there", f"sudo mount -t tmpfs -o exec,size=2G tmpfs {name}")]
    executable = not status.f_flag & os.ST_NOEXEC
    free = status.f_bavail * status.f_frsize / GIB
    return [
        Check(
            f"{name} exec",
            "programs may run from it" if executable else "mounted noexec",
            None if executable else f"sudo mount -o remount,exec {name} (docker: --tmpfs {name}:exec,size=2g)",
        ),
        Check(
            f"{name} size",
            f"{free:.1f} GiB free",
            None if free >= MEMORY_GIB else f"sudo mount -o remount,size=2G {name} (docker: --shm-size=2g)",
        ),
    ]


def _disk() -> Check:
    free = shutil.disk_usage(ROOT).free / GIB
    remedy = None if free >= DISK_GIB else f"free {DISK_GIB - free:.0f} GiB more in {ROOT}"
    return Check("disk", f"{free:.0f} GiB free", remedy)


def _memory() -> Check:
    available = quota.free_bytes(quota.groups()) / GIB
    remedy = None if available >= MEMORY_GIB else "end other programs, or run fewer guests at once: --cores 1"
    return Check("memory", f"{available:.1f} GiB available", remedy)


def _cpus() -> Check:
    count = len(os.sched_getaffinity(0))
    least = count
    for group in quota.groups():
        guests = group.guests(MEMORY_MIB << 20)
        least = least if guests is None else min(least, guests)
    limited = f"{count} allowed; control groups limit guests to {least} at once"
    return Check("processors", limited if least < count else f"{count} allowed, so as many guests at once")


def report(answers: list[Check]) -> str:
    """Return the checks as lines for a terminal."""
    width = max(len(check.name) for check in answers)
    lines = []
    for check in answers:
        lines.append(f"{'ok' if check.ok else 'MISSING':8}{check.name:{width}}  {check.seen}")
        if check.remedy:
            lines.append(f"{'':8}{'':{width}}  -> {check.remedy}")
    missing = sum(not check.ok for check in answers)
    lines.append(f"{missing} of {len(answers)} missing" if missing else "this host has all that is needed")
    return "\n".join(lines)


def _call(command: list[str]) -> int:
    """Run a command and show what it prints only if it fails: dpkg counts to a hundred for each package."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        print(done.stdout, file=sys.stderr, end="")
    return done.returncode


def install(packages: list[HostPackage], run: Callable[[list[str]], int] = _call) -> str | None:
    """Install what is missing where that needs no password; return the command to type when it cannot be done."""
    missing = [package.name for package in packages if not package.present()]
    if not missing:
        return None
    command = install_command(missing)
    by_hand = f"sudo {shlex.join(command)}"
    if shutil.which("apt-get") is None:
        return f"(there is no apt-get: what Debian calls {' '.join(missing)}, by this system's own package manager)"
    prefix = []
    if os.geteuid() != 0:
        if shutil.which("sudo") is None or run(["sudo", "-n", "true"]) != 0:
            return by_hand
        prefix = ["sudo", "-n"]
    print(f"installing host packages: {' '.join(missing)} (up to a minute)", flush=True)
    quiet = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive"]
    run([*quiet, "apt-get", "update", "--quiet=2"])
    if run([*quiet, *command, "--quiet=2"]) != 0:
        return by_hand
    return None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `testbed doctor`."""
    parser.add_argument("--install", action="store_true", help="first install missing packages, if this user may")
    parser.add_argument(
        "--install-for-tests", action="store_true", help="only install the further packages that tests need"
    )
    parser.add_argument("--install-for-reach", action="store_true", help="the same for `make test-reach`")


def main(options: argparse.Namespace) -> int:
    """Print all checks, or install what is missing; return 0 when nothing is missing."""
    if options.install_for_tests or options.install_for_reach:
        return prepare_tests(lists=[FOR_TESTS, FOR_REACH] if options.install_for_reach else None)
    return prepare() if options.install else examine()


def examine() -> int:
    """Print all checks; return 0 when nothing is missing."""
    results = checks()
    print(report(results))
    return 0 if all(check.ok for check in results) else 1


def prepare() -> int:
    """Install missing packages where allowed, then name only what is still missing; return 0 when nothing is."""
    by_hand = install(host_packages(PACKAGES.read_text())) if platform.system() == "Linux" else None
    if by_hand:
        print(f"error: packages are missing on this host; run this, then try again:\n  {by_hand}", file=sys.stderr)
        return 1
    missing = [check for check in checks() if not check.ok]
    if missing:
        print(report(missing), file=sys.stderr)
    return 1 if missing else 0


def prepare_tests(run: Callable[[list[str]], int] = _call, lists: Iterable[Path] | None = None) -> int:
    """Install what only tests need where that is allowed; without it they are skipped, so nothing is refused."""
    packages = [package for file in lists or [FOR_TESTS] for package in host_packages(file.read_text())]
    if by_hand := install(packages, run):
        print(f"some tests will be skipped; this lets them run:\n  {by_hand}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    own = argparse.ArgumentParser(prog="python -m engine.doctor", description="Check what this host has.")
    configure(own)
    sys.exit(main(own.parse_args()))
