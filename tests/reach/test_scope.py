"""Hostile programs in a cgroup of their own, on a machine with Debian's kernel and systemd (in QEMU's emulator).

They take the place of a guest's kernel, behind the same walls and under the same watch; a guest in emulation would
take hours.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from engine import images
from engine.images import PROJECT
from images.cache import MANIFEST
from tests.images.building import build_root
from tests.reach import machine

PACKAGES = (
    "bubblewrap",
    "dbus",
    "libpam-systemd",
    "linux-image-cloud-amd64",
    "python3",
    "python3-jsonschema",
    "python3-yaml",
    "systemd-sysv",
)
TOO_MUCH = "the testbed ended the guest: its processes took more than the 64 MiB of memory it is allowed"
TOO_LARGE = "the testbed ended the guest: its run folder takes 60 MiB, this run may take 32 MiB; the largest file is"
HIDES = "the testbed ended the guest: one of its processes hides which files it has open"
HOW_THEY_END = {
    "memory": TOO_MUCH,
    "shared-memory": TOO_MUCH,
    "thread": TOO_MUCH,
    "sockets": TOO_MUCH,
    "hidden": f"{TOO_MUCH}|{HIDES}",
    "hole": f"{TOO_LARGE} 'logs/hidden'",
    "processes": "the testbed ended the guest: it wanted more than the 60 processes it is allowed",
}
NO_MEMORY = "the testbed ended the guest: its host has no memory left, whose kernel ended one of its processes"
SCOPE, FOLDER = "a scope of systemd", "a cgroup in /sys/fs/cgroup/delegated"
EXPECTED = [
    *((bound, attack, end) for bound in (SCOPE, SCOPE, FOLDER) for attack, end in HOW_THEY_END.items()),
    (FOLDER, "memory", NO_MEMORY),
]
USER = 1000
UNIT = """\
[Unit]
Wants=dbus.socket systemd-logind.service
After=dbus.socket systemd-logind.service
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/vehicle
"""
VEHICLE = f"""\
#!/bin/sh
cd /project
export PYTHONPATH=/project PYTHONDONTWRITEBYTECODE=1
attack="python3 /attacked.py"
attacks="{" ".join(HOW_THEY_END)}"
somebody="setpriv --reuid {USER} --regid {USER} --clear-groups"
(
  $attack $attacks

  systemctl start user@{USER}.service
  XDG_RUNTIME_DIR=/run/user/{USER} $somebody $attack $attacks

  # of another user, where systemd cannot be asked
  group=/sys/fs/cgroup/delegated
  mkdir $group $group/inside
  echo +memory +pids >$group/cgroup.subtree_control
  chown -R {USER}:{USER} $group
  enter="mount -t tmpfs tmpfs /run/systemd; echo \\$\\$ >$group/inside/cgroup.procs"
  unshare --mount sh -c "$enter; exec $somebody $attack $attacks"
  echo 120M >$group/memory.max
  unshare --mount sh -c "$enter; exec $somebody $attack memory"
) >/out/words 2>/out/errors
sync
echo o >/proc/sysrq-trigger
sleep 60
"""


def _disk(folder: Path, disk: Path) -> Path:
    """A bootable disk; returns its root folder."""
    root = folder / "root"
    machine.debian(PACKAGES, root)
    for package in ("common", "engine", "images", "scenarios", "topologies", "workflows"):
        shutil.copytree(PROJECT / package, root / "project" / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "Snakefile", root / "project")
    shutil.copytree(images.load().tools, root / "tools", ignore=shutil.ignore_patterns(MANIFEST))
    shutil.copy(PROJECT / "tests/reach/scope/attacked.py", root)
    (folder / "build").mkdir()
    shutil.copy(PROJECT / "tests/reach/scope/attack.c", folder / "build")
    compiled = ["gcc", "-static", "-pthread", "-O1", "-o", "attack", "attack.c"]
    build_root().run(compiled, folder / "log", "Compiling the attacks", work=folder / "build")
    shutil.copy(folder / "build" / "attack", root)
    with (root / "etc/passwd").open("a") as accounts:
        accounts.write(f"somebody:*:{USER}:{USER}::/:/bin/sh\n")
    (root / "etc/systemd/system/vehicle.service").write_text(UNIT)
    machine.write_program(root, "vehicle", VEHICLE)
    (root / "out").mkdir()
    machine.make_disk(root, disk, 3)
    return root


@pytest.mark.skipif(machine.missing() is not None, reason=str(machine.missing()))
def test_the_kernel_holds_hostile_guests_in_their_cgroup(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    root = _disk(tmp_path, disk)
    (kernel,), (initrd,) = ((root / "boot").glob(f"{name}-*") for name in ("vmlinuz", "initrd.img"))
    machine.carry_out(kernel, initrd, disk, "/usr/lib/systemd/systemd systemd.unit=vehicle.service", 3600)
    out = machine.take(disk, "out", tmp_path)
    told = [json.loads(line) for line in (out / "words").read_text().splitlines()]
    errors = (out / "errors").read_text()
    assert len(told) == len(EXPECTED), errors
    for each, (bound, attack, end) in zip(told, EXPECTED, strict=True):
        assert each["bound"].endswith(bound), errors
        assert each["attack"] == attack
        assert re.fullmatch(end, each["ended"]), (each, errors)
        assert each["left"] == [], each
