"""The Ansible roles: linted, parsed, and those that need neither a kernel nor a service manager applied to a Debian."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from engine import images
from engine.images import PROJECT
from images.cache import Store
from images.rootfs.build import SUITE, install_debian

FOLDER = PROJECT / "images" / "ansible"
CLONE = "/srv/ledbat-testbed"
TAGS = "common,mininet,testbed"
APPLY = ["ansible-playbook", "--inventory", "inventory/one-machine.yml", "site.yml", "--tags", TAGS]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}


@pytest.mark.skipif(shutil.which("ansible-lint") is None, reason="ansible-lint is not installed")
def test_the_roles_pass_the_linter_at_production() -> None:
    command = ["ansible-lint", "--offline", "--profile", "production"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("ansible-playbook") is None, reason="ansible is not installed")
@pytest.mark.parametrize("inventory", ["one-machine", "laboratory"])
def test_the_playbook_parses_with_each_inventory(inventory: str) -> None:
    command = ["ansible-playbook", "-i", f"inventory/{inventory}.yml", "--syntax-check", "site.yml"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _in_root(root: Path, command: list[str], folder: str) -> str:
    """Run a command in a root folder, with this host's kernel and network; returns what it says."""
    words = ["bwrap", "--cap-add", "ALL", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]
    words += ["--bind", str(root), "/", "--dev", "/dev", "--proc", "/proc"]
    words += ["--tmpfs", "/run", "--perms", "1777", "--tmpfs", "/tmp"]
    words += ["--ro-bind", str(Path("/etc/resolv.conf").resolve()), "/etc/resolv.conf", "--clearenv"]
    environment = dict(ENVIRONMENT)
    if CERTIFICATES.exists():
        # networks with a certificate authority of their own; the root has only the public ones
        words += ["--ro-bind", str(CERTIFICATES), "/run/certificates"]
        environment["PIP_CERT"] = "/run/certificates"
    if "PIP_INDEX_URL" in os.environ:
        environment["PIP_INDEX_URL"] = os.environ["PIP_INDEX_URL"]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    done = subprocess.run(
        [*words, "--chdir", folder, *command], capture_output=True, text=True, check=False, timeout=1500
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def _debian(into: Path) -> None:
    """A Debian with Ansible; kept in the cache."""
    store = Store(images.cache_folder())

    def make(folder: Path) -> None:
        hook = 'chroot "$1" dpkg-query --show >"$1/packages.txt"'
        log = store.root / "logs" / "machine.log"
        install_debian(folder, SUITE, ["ansible-core"], [hook], log, "Installing a Debian with Ansible")

    shutil.copytree(store.ensure("machines", f"{SUITE}-ansible-core", make) / "root", into, symlinks=True)


def _recap(words: str) -> dict[str, int]:
    """What `ansible-playbook` says it did: ok, changed, failed, ... tasks."""
    lines = [line for line in words.splitlines() if line.startswith("localhost ")]
    assert lines, words[-4000:]
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", lines[-1])}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to install packages in a root folder")
@pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
def test_the_roles_that_need_no_running_machine_change_nothing_the_second_time(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _debian(root)
    subprocess.run(["git", "clone", "--quiet", PROJECT, root / CLONE[1:]], check=True)
    first, second = (_recap(_in_root(root, APPLY, f"{CLONE}/images/ansible")) for _ in range(2))
    assert first["changed"] >= 4
    assert (second["failed"], second["changed"]) == (0, 0)
    assert (root / "opt/ledbat-testbed/.venv/bin/testbed").exists()
