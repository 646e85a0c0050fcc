"""The Ansible roles: linted, parsed, and applied to a machine with Debian's kernel, which then carries out a run.

The machine exists in QEMU's emulator, some twenty times slower than a processor. The roles `common` and `testbed`, with
hundreds of packages from the network, are therefore applied to its root folder first, where the host's processor does
the work. Then it boots, and the whole playbook is applied to it over SSH, and once more. The run follows in a second
boot in which the clock counts instructions: emulated in the host's time, packets would be late.
"""

import json
import os
import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from engine.images import PROJECT
from images.debian import mirrors
from images.rootfs.build import SUITE
from scenarios.resolve import expand
from tests.reach import machine

FOLDER = PROJECT / "images" / "ansible"
PACKAGES = (
    "ansible-core",
    "linux-image-cloud-amd64",
    "openssh-client",
    "openssh-server",
    "python3",
    "systemd-sysv",
    "udev",
)
CLONE, TESTBED = "/srv/ledbat-testbed", "/opt/ledbat-testbed"
APPLY = ["ansible-playbook", "site.yml", "--inventory"]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "ANSIBLE_HOST_KEY_CHECKING": "false",
    "ANSIBLE_TIMEOUT": "300",
}
INVENTORY = "/srv/machine.yml"
MACHINE = """\
all:
  children:
    network: {{hosts: {{machine: }}}}
    control: {{hosts: {{machine: }}}}
  vars: {{ansible_host: 127.0.0.1, ansible_port: {port}, ansible_user: root}}
"""
SCENARIO = "trial/short.yaml"
FILES = {
    "etc/systemd/network/any.network": "[Match]\nType=ether\n[Network]\nDHCP=ipv4\n",
    "etc/systemd/system.conf.d/slow.conf": "[Manager]\nDefaultTimeoutStartSec=1200\n",
    # QEMU's
    "etc/resolv.conf": "nameserver 10.0.2.3\n",
    "etc/dpkg/dpkg.cfg.d/no-sync": "force-unsafe-io\n",
    "etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    SCENARIO: """\
experiment: short
title: One LEDBAT flow for a moment
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: flow, implementation: tcp-ledbat, from: s1, to: d1}
duration: 10s
""",
}
RUN = f"""\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys
mkdir -p /dev/shm; mount -t tmpfs tmpfs /dev/shm; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp
mount --make-rprivate /
mkdir /out
cd {TESTBED}
.venv/bin/testbed run /{SCENARIO} --seed 1 --backend native --into /out >/out/words 2>&1
sync; echo o >/proc/sysrq-trigger; sleep 60
"""


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


def _in_root(root: Path, command: list[str]) -> str:
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
    words += ["--chdir", f"{CLONE}/images/ansible", *command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=5400)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def _recap(words: str) -> dict[str, int]:
    """What `ansible-playbook` says it did: ok, changed, failed, ... tasks."""
    lines = [line for line in words.splitlines() if re.match(r"\S+ +: ok=", line)]
    assert lines, words[-4000:]
    return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", lines[-1])}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Debian with a kernel, Ansible and SSH, and a clone of this project."""
    root = tmp_path_factory.mktemp("machine") / "root"
    machine.debian(PACKAGES, root)
    # it was installed from files of this host, which its own apt does not see
    (root / "etc/apt/sources.list").write_text(f"deb {mirrors()[0]} {SUITE} main\n")
    subprocess.run(["git", "clone", "--quiet", PROJECT, root / CLONE[1:]], check=True)
    return root


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to install packages in a root folder")
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")


@needs_root
@needs_bwrap
def test_the_roles_that_need_no_running_machine_change_nothing_the_second_time(root: Path) -> None:
    command = [*APPLY, "inventory/one-machine.yml", "--tags", "common,testbed"]
    first, second = (_recap(_in_root(root, command)) for _ in range(2))
    assert first["changed"] >= 4
    assert (second["failed"], second["changed"]) == (0, 0)
    assert (root / "opt/ledbat-testbed/.venv/bin/testbed").exists()


def _make_bootable(root: Path, port: int) -> None:
    """What the machine needs to be reached, and for the run."""
    for name, text in FILES.items() | {(INVENTORY[1:], MACHINE.format(port=port))}:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).unlink(missing_ok=True)
        (root / name).write_text(text)
    machine.write_program(root, "run-native", RUN)
    machine.copy_images(root, TESTBED)
    wanted = root / "etc/systemd/system/multi-user.target.wants"
    (wanted / "systemd-networkd.service").symlink_to("/usr/lib/systemd/system/systemd-networkd.service")
    keys = root / "root/.ssh"
    keys.mkdir(mode=0o700, exist_ok=True)
    _in_root(root, ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/.ssh/id_ed25519"])
    shutil.copy(keys / "id_ed25519.pub", keys / "authorized_keys")


@needs_root
@needs_bwrap
@pytest.mark.skipif(machine.missing() is not None, reason=str(machine.missing()))
def test_a_machine_that_the_playbook_made_carries_out_a_run(root: Path, tmp_path: Path) -> None:
    if not (root / TESTBED[1:]).exists():
        pytest.skip("the roles have not been applied to its root folder")
    with socket.create_server(("127.0.0.1", 0)) as any_port:
        port = any_port.getsockname()[1]
    _make_bootable(root, port)
    (kernel,), (initrd,) = ((root / "boot").glob(f"{name}-*") for name in ("vmlinuz", "initrd.img"))
    disk = tmp_path / "disk"
    machine.make_disk(root, disk, 10)

    def tell(module: str, words: str) -> str:
        return _in_root(root, ["ansible", "all", "--inventory", INVENTORY, "--module-name", module, "--args", words])

    with machine.running(kernel, initrd, disk, port):
        tell("wait_for_connection", "timeout=1800 connect_timeout=120 sleep=5")
        first, second = (_in_root(root, [*APPLY, INVENTORY]) for _ in range(2))
        assert _recap(first)["changed"] >= 6, first
        assert (_recap(second)["failed"], _recap(second)["changed"]) == (0, 0), second
        assert "active" in tell("command", "systemctl is-active openvswitch-switch")
        assert "/updates/dkms/tcp_ledbat.ko" in tell("command", "modinfo --filename tcp_ledbat")
        tell("command", "systemd-run --on-active=5 systemctl poweroff")

    machine.carry_out(kernel, initrd, disk, "/run-native", 1200)
    out = machine.take(disk, "out", tmp_path)
    folder, words = out / "trial/short/single/seed-1", (out / "words").read_text()
    assert (folder / "summary.json").exists(), words
    run, summary = (json.loads((folder / f"{part}.json").read_text()) for part in ("run", "summary"))
    assert summary["status"] == "ok", words
    assert run["provenance"]["modules"].keys() == {"tcp_ledbat"}
    (cell,) = expand(root / SCENARIO, "complete")
    assert 0.95 < machine.received_share(summary, cell, tmp_path / "virtual") < 1.05
