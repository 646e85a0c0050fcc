# SPDX-License-Identifier: MIT
"""`testbed doctor`: what is missing, and the exact way to get it."""

from __future__ import annotations

import os
import platform
import pwd
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine import doctor, images, syscall_mode
from engine.doctor import Check, HostPackage, host_packages, install, report
from engine.sandbox import UNCONFINED
from images.__main__ import main as build_images
from images.paths import refused_cache, refused_checkout

THERE = HostPackage("shell", "sh", "running things")
ABSENT = HostPackage("nothing", "no-such-program", "showing this")


class Commands:
    """Replaces the commands that would change the host; `refuse` fails."""

    def __init__(self, refuse: str = "") -> None:
        self.seen: list[str] = []
        self._refuse = refuse

    def __call__(self, command: Sequence[str]) -> int:
        self.seen.append(" ".join(command))
        return int(bool(self._refuse) and self._refuse in self.seen[-1])


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name != "no-such-program" else None)


@pytest.mark.parametrize(
    ("file", "some"),
    [
        (doctor.PACKAGES, {"gcc", "mmdebstrap", "bubblewrap"}),
        (doctor.FOR_TESTS, {"chromium-headless-shell"}),
        (doctor.FOR_REACH, {"qemu-system-x86", "slurmctld"}),
    ],
)
def test_the_lists_of_packages_are_well_formed(file: Path, some: set[str]) -> None:
    packages = host_packages(file.read_text())
    names = [package.name for package in packages]
    assert names == sorted(set(names))
    assert some <= set(names)
    assert all(package.shown_by and package.purpose for package in packages)


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="not a Debian")
@pytest.mark.parametrize("file", [doctor.PACKAGES, doctor.FOR_TESTS, doctor.FOR_REACH])
def test_a_package_that_is_there_is_not_asked_for_again(file: Path) -> None:
    command = ["dpkg-query", "--show", "--showformat=${db:Status-Abbrev} ${Package}\n"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    installed = {line.split()[1] for line in said.splitlines() if line.startswith("ii")}
    unseen = [each.name for each in host_packages(file.read_text()) if each.name in installed and not each.present()]
    assert unseen == []


@pytest.mark.usefixtures("as_user")
def test_what_only_tests_need_is_no_reason_to_refuse(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packages = tmp_path / "host-packages.txt"
    packages.write_text("nothing no-such-program showing this\n")
    monkeypatch.setattr(doctor, "FOR_TESTS", packages)
    commands = Commands(refuse="sudo -n true")
    assert doctor.prepare_tests(commands) == 0
    assert commands.seen == ["sudo -n true"]
    assert "some tests will be skipped; this lets them run:\n  sudo apt-get install" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("shown_by", "present"),
    [
        ("sh", True),
        ("no-such-program", False),
        ("no-such-program|sh", True),
        ("/etc/passwd", True),
        ("/no/such/file", False),
        ("python:ensurepip", True),
        ("python:no_such_module", False),
        ("python:no-such-header.h", False),
    ],
)
def test_presence(shown_by: str, present: bool) -> None:
    assert HostPackage("name", shown_by, "why").present() is present


def test_the_report_names_what_is_missing_and_the_command() -> None:
    text = report([Check("gcc", "building"), Check("bwrap", "not there", "sudo apt-get install bubblewrap")])
    assert text.splitlines() == [
        "ok      gcc    building",
        "MISSING bwrap  not there",
        "               -> sudo apt-get install bubblewrap",
        "1 of 2 missing",
    ]
    assert report([Check("gcc", "building")]).endswith("this host has all that is needed")


def test_checks_cover_packages_and_the_host() -> None:
    names = {check.name for check in doctor.checks()}
    assert {"machine", "processor", "python", "folder", "gcc", "sandbox", "disk", "memory", "processors"} <= names


def test_the_hosts_shared_memory_matters_to_guests_without_walls_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor._shared_memory() == []
    monkeypatch.setenv(UNCONFINED, "1")
    assert [check.name for check in doctor._shared_memory()] == ["/dev/shm exec", "/dev/shm size"]


def test_other_processors_are_pointed_to_the_qemu_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    remedy = doctor._machine().remedy
    assert remedy and "qemu backend" in remedy


def test_another_system_is_told_the_one_thing_that_helps(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(doctor, "install", lambda packages: pytest.fail("nothing is installed there"))
    assert doctor.prepare() == doctor.examine() == 1
    said = capsys.readouterr()
    assert "use a Linux host with an x86-64 processor" in said.out
    assert said.err == said.out


def test_a_host_without_apt_is_not_told_to_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    advice = install([ABSENT], Commands())
    assert advice is not None
    assert "sudo" not in advice and "what Debian calls nothing" in advice


def test_doctor_fails_when_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "checks", lambda: [Check("gcc", "not there", "get it")])
    assert doctor.examine() == 1
    assert "-> get it" in capsys.readouterr().out


def test_a_noexec_dev_shm_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UNCONFINED, "1")
    real = os.statvfs("/")
    values = [*real, real.f_fsid]
    values[8] |= os.ST_NOEXEC
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(values))
    executable, _ = doctor._shared_memory()
    assert executable.remedy
    assert "remount,exec /dev/shm" in executable.remedy


def test_how_system_calls_reach_guests_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> str:
        return next(check.seen for check in doctor.checks() if check.name == "system calls")

    monkeypatch.delenv(syscall_mode.STUBS, raising=False)
    monkeypatch.setattr(syscall_mode, "lacking", list)
    assert seen() == "of guests in the host process that makes them"
    monkeypatch.setattr(syscall_mode, "lacking", lambda: ["FSGSBASE (Linux 5.9)"])
    assert seen() == "of guests by way of stub processes: no FSGSBASE (Linux 5.9)"
    monkeypatch.setenv(syscall_mode.STUBS, "1")
    assert seen() == "of guests by way of stub processes: TESTBED_STUBS=1 says so"


def test_closed_user_namespaces_name_the_switch(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    assert doctor._allow_namespaces(tmp_path) == "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("0\n")
    (tmp_path / "kernel/unprivileged_userns_clone").write_text("0\n")
    assert doctor._allow_namespaces(tmp_path) == "sudo sysctl kernel.unprivileged_userns_clone=1"
    (tmp_path / "kernel/unprivileged_userns_clone").write_text("1\n")
    assert doctor._allow_namespaces(tmp_path).startswith("allow user namespaces, which no chroot has; ")


def test_nothing_is_run_when_nothing_is_missing() -> None:
    run = Commands()
    assert install([THERE], run) is None
    assert run.seen == []


def test_missing_packages_are_installed_with_sudo_where_it_asks_no_password(as_user: None) -> None:
    run = Commands()
    assert install([THERE, ABSENT], run) is None
    assert run.seen[0] == "sudo -n true"
    assert "apt-get update" in run.seen[1]
    assert run.seen[2].startswith("sudo -n env DEBIAN_FRONTEND=noninteractive apt-get install --yes")
    assert "nothing" in run.seen[2]


@pytest.mark.parametrize("refuse", ["sudo -n true", "apt-get install"])
def test_where_that_is_not_allowed_the_command_is_returned(as_user: None, refuse: str) -> None:
    command = install([ABSENT], Commands(refuse))
    assert command == "sudo apt-get install --yes --no-install-recommends nothing"


def test_a_processor_without_avx2_gets_the_other_polars(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor : 0\nflags\t\t: fpu sse4_2 popcnt avx movbe\n")
    (tmp_path / "lock").write_text("polars==9.8.7 \\\n    --hash=sha256:0\n")
    check = doctor._processor(tmp_path / "cpuinfo", tmp_path / "lock")
    assert check.seen.startswith("lacks abm, avx2, bmi1, bmi2, fma, which")
    assert check.remedy == "after `make env`: .venv/bin/pip install polars-runtime-compat==9.8.7"


def test_users_without_subordinate_numbers_are_told_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not os.geteuid() or doctor._subordinate_ids()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() or 1000)
    name = pwd.getpwuid(os.getuid()).pw_name
    (tmp_path / "subuid").write_text(f"{name}:100000:65536\n")
    uids, gids = doctor._subordinate_ids(tmp_path)
    assert uids.ok
    assert gids.remedy and gids.remedy.startswith(f"sudo usermod --add-subgids 100000-165535 {name}")


@pytest.mark.parametrize("path", ["/home/me/a b", "/home/me/a:b", "/home/it's", "/x\ny", "/a$b", "/a{b}"])
def test_a_cache_in_which_nothing_can_be_built_is_refused(
    path: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TESTBED_CACHE", path)
    assert [check.ok for check in doctor.checks() if check.name == "folder"] == [False]
    monkeypatch.setattr("sys.argv", ["images"])
    assert build_images() == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: the kernel's build cannot work in {path!r}")
    assert said.count("\n") == 1
    assert not Path(path).exists()


def test_which_folders_will_do() -> None:
    assert refused_cache(Path("/home/Jürgen/led-bat_1.0+x@y")) is None
    assert refused_checkout(Path("/home/Jürgen/it's mine; #1 & (more)")) is None
    for letter in '\n:"$`':
        assert refused_checkout(Path(f"/home/a{letter}b"))


UBUNTU_22_04 = """\
import ast, sys, sysconfig
sys.path[:0] = [PROJECT]
import contextlib, datetime, enum, hashlib, platform, typing
sys.version_info = (3, 10, 12, "final", 0)
platform.python_version = lambda: "3.10.12"
for module, name in ((datetime, "UTC"), (enum, "StrEnum"), (hashlib, "file_digest"), (contextlib, "chdir"),
                     (typing, "Self"), (typing, "Never"), (typing, "assert_never")):
    delattr(module, name)
sys.modules["tomllib"] = None
from engine import doctor, images
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None)
    if file and file.startswith(PROJECT + "/") and "/.venv/" not in file:
        ast.parse(open(file).read(), file, feature_version=(3, 10))
sys.exit(doctor.examine())
"""


def test_on_ubuntu_22_04_it_runs_and_names_what_is_too_old(tmp_path: Path) -> None:
    """With stand-ins for that release's Python 3.10 (newer names are taken away) and bubblewrap 0.6.1."""
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo "bubblewrap 0.6.1"\n'
        'case "$*" in *--size*) echo "bwrap: Unknown option --size" >&2; exit 1;; esac\n'
    )
    bwrap.chmod(0o755)
    code = UBUNTU_22_04.replace("PROJECT", repr(str(doctor.ROOT)))
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    [python] = [number for number, line in enumerate(lines) if line.startswith("MISSING python ")]
    assert "3.10.12" in lines[python]
    assert "make PYTHON=python3.11" in lines[python + 1]
    [sandbox] = [number for number, line in enumerate(lines) if line.startswith("MISSING sandbox ")]
    assert "bwrap 0.6.1 cannot limit a guest's memory folder (--size)" in lines[sandbox]
    assert "install bubblewrap 0.7 or newer" in lines[sandbox + 1]


def test_in_a_bare_root_it_runs_and_names_every_package() -> None:
    """The guest's own root file system, Debian trixie with its Python 3.13, as a user who has no name there."""
    walls = ["bwrap", "--unshare-all", "--uid", "1000", "--gid", "1000", "--clearenv", "--setenv", "PATH", "/usr/bin"]
    binds = ["--ro-bind", str(images.load().rootfs), "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/opt"]
    binds += ["--ro-bind", str(doctor.ROOT), "/opt/testbed", "--chdir", "/opt/testbed"]
    command = [*walls, *binds, "python3", "-B", "-m", "engine.doctor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    for name in ("gcc", "bubblewrap", "mmdebstrap"):
        assert f"sudo apt-get install --yes --no-install-recommends {name}\n" in done.stdout
    assert "usermod --add-subuids 100000-165535 1000" in done.stdout
    assert "set DEBIAN_MIRROR" in done.stdout
