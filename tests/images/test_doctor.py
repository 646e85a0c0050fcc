# SPDX-License-Identifier: MIT
"""`testbed doctor`: what is missing, and the exact way to get it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine import doctor
from engine.doctor import Check, HostPackage, host_packages, install, report

THERE = HostPackage("shell", "sh", "running things")
ABSENT = HostPackage("nothing", "no-such-program", "showing this")


class Commands:
    """Stands for the commands that would change the host; `refuse` fails."""

    def __init__(self, refuse: str = "") -> None:
        self.seen: list[str] = []
        self._refuse = refuse

    def __call__(self, command: Sequence[str]) -> int:
        self.seen.append(" ".join(command))
        return int(bool(self._refuse) and self._refuse in self.seen[-1])


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/bin/{name}" if name != "no-such-program" else None)


def test_the_list_of_host_packages_is_well_formed() -> None:
    packages = host_packages(doctor.PACKAGES.read_text())
    names = [package.name for package in packages]
    assert names == sorted(set(names))
    assert {"gcc", "mmdebstrap", "bubblewrap"} <= set(names)
    assert all(package.shown_by and package.purpose for package in packages)


@pytest.mark.parametrize(
    ("shown_by", "present"),
    [
        ("sh", True),
        ("no-such-program", False),
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
    assert {"machine", "python", "gcc", "sandbox", "/dev/shm exec", "/dev/shm size", "disk", "processors"} <= names


def test_other_processors_are_pointed_to_the_qemu_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.platform, "machine", lambda: "aarch64")
    remedy = doctor._machine().remedy
    assert remedy and "qemu backend" in remedy


def test_doctor_fails_when_something_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "checks", lambda: [Check("gcc", "not there", "get it")])
    assert doctor.main() == 1
    assert "-> get it" in capsys.readouterr().out


def test_a_noexec_dev_shm_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.statvfs("/")
    values = [*real, real.f_fsid]
    values[8] |= os.ST_NOEXEC
    monkeypatch.setattr(os, "statvfs", lambda path: os.statvfs_result(values))
    executable, _ = doctor._shared_memory()
    assert executable.remedy
    assert "remount,exec /dev/shm" in executable.remedy


def test_closed_user_namespaces_name_the_switch(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("1\n")
    assert doctor._allow_namespaces(tmp_path) == "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    (tmp_path / "kernel/apparmor_restrict_unprivileged_userns").write_text("0\n")
    (tmp_path / "kernel/unprivileged_userns_clone").write_text("0\n")
    assert doctor._allow_namespaces(tmp_path) == "sudo sysctl kernel.unprivileged_userns_clone=1"
    (tmp_path / "kernel/unprivileged_userns_clone").write_text("1\n")
    assert doctor._allow_namespaces(tmp_path).startswith("allow user namespaces")


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
