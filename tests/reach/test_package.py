"""The module's Debian package: built, and installed on a Debian for two kernels.

Takes some minutes, most of them for the packages of compiler and headers.
"""

import re
import shutil
import subprocess
from pathlib import Path

from images import module
from tests.reach import machine

PACKAGES = (
    *("build-essential", "debhelper", "dh-dkms", "dkms"),
    *("linux-headers-amd64", "linux-headers-cloud-amd64", "linux-image-cloud-amd64"),
)
BUILD = """\
set -e
cd /src/tcp_ledbat
dpkg-buildpackage --build=binary --no-sign
dpkg --install ../tcp-ledbat-dkms_*_all.deb
dkms status >/out/status
"""


def _version() -> str:
    found = re.search(r'PACKAGE_VERSION="([^"]+)"', (module.HERE / "tcp_ledbat" / "dkms.conf").read_text())
    assert found
    return found[1]


def test_the_package_is_installed_for_two_kernels(tmp_path: Path) -> None:
    root = tmp_path / "root"
    machine.debian(PACKAGES, root)
    shutil.copytree(module.HERE / "tcp_ledbat", root / "src" / "tcp_ledbat")
    (root / "out").mkdir()
    walls = ["bwrap", "--bind", str(root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-all"]
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
    built = subprocess.run(
        [*walls, "sh", "-c", BUILD],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-3000:]
    installed = (root / "out" / "status").read_text().splitlines()
    assert len(installed) == 2
    assert all(line.startswith(f"tcp_ledbat/{_version()}, ") and line.endswith(": installed") for line in installed)
