"""The modules' Debian packages: built, checked, installed on two releases of Debian, and used on three kernels in QEMU.

The kernels are those of the releases and of the newer one's backports. Each release takes a quarter of an hour, most of
it for the packages of compiler and headers and for the emulator.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import images
from images import module
from images.cache import Store, default_root
from images.debian import Archive
from images.kernel.sources import version
from images.rootfs.build import SUITE
from tests.reach import machine

MODULES = ("tcp_ledbat", "tcp_rledbat")
PACKAGES = (
    *("build-essential", "debhelper", "dh-dkms", "dkms", "openssl", "iproute2", "kmod", "procps", "python3"),
    *("linux-headers-cloud-amd64", "linux-image-cloud-amd64"),
)
FOR_NEWER = ("lintian", "gcc-14-for-host", "pahole")  # the headers of the backports depend on the last two
BACKPORTS = f"{SUITE}-backports"
FLAVOUR = "-cloud-amd64"
BUILD = """\
set -e
if [ -d /newer ]; then
  dpkg --install /newer/linux-base_*.deb  # the kernel's packages ask for it before they are unpacked
  dpkg --install /newer/*.deb
fi
for module in tcp_ledbat tcp_rledbat; do
  cd /src/$module
  dpkg-buildpackage --no-sign
done
cd ..
if command -v lintian; then
  lintian --allow-root --display-info --pedantic --fail-on=none *.changes >/out/complaints
fi
dpkg --install *-dkms_*_all.deb
dkms status >/out/status
"""
INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run
ip link set lo up
ip link add d0 type dummy; ip address add 10.0.0.2/24 dev d0; ip link set d0 up
ip route add default via 10.0.0.1
uname -r >/out/release
python3 -c 'import socket; socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ledbatpp")' \\
  && lsmod >/out/loaded
for page in module downloads; do
  sh -ex /$page.sh >>/out/said 2>>/out/errors; echo $? >>/out/statuses
  ip route >>/out/routes
done
python3 /transfer >/out/transfer 2>&1
sync; echo o >/proc/sysrq-trigger; sleep 60
"""
# Each variant carries a megabyte over the loopback, at both ends.
TRANSFER = """\
import socket, threading
names = open("/proc/sys/net/ipv4/tcp_available_congestion_control").read().split()
for name in names:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    def receive():
        with listener.accept()[0] as connection:
            control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode()
            got = 0
            while data := connection.recv(1 << 16):
                got += len(data)
        print(control, got)
    receiver = threading.Thread(target=receive)
    receiver.start()
    with socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        sender.connect(listener.getsockname())
        sender.sendall(bytes(1 << 20))
    receiver.join()
"""


def _version(name: str) -> str:
    version_line = re.search(r'PACKAGE_VERSION="([^"]+)"', (module.HERE / name / "dkms.conf").read_text())
    assert version_line
    return version_line[1]


def _commands(page: str) -> str:
    text = (images.PROJECT / "docs" / "howto" / f"{page}.md").read_text()
    commands = re.search(r"<!-- commands.*?```sh\n(.*?)```", text, re.DOTALL)
    assert commands
    return commands[1]


def _newest_kernel(into: Path) -> None:
    """Fetch the newest kernel of the backports, with its headers."""
    into.mkdir()
    archive = Archive(Store(default_root()).root / "downloads" / "apt", BACKPORTS)
    with archive.opened():
        names = archive.names("linux-")
        headers = [re.fullmatch(rf"linux-headers-([\d.]+\+\w+){FLAVOUR}", name) for name in names]
        release = max((match[1] for match in headers if match), key=version)
        of_release = re.compile(rf"linux-\w+-{re.escape(release)}(-common|{FLAVOUR})?")
        wanted = [name for name in names if of_release.fullmatch(name)]
        archive.download(archive.offers([*wanted, "linux-base"]), into)


@dataclass(frozen=True)
class Installed:
    """A Debian in which the packages were built and installed, and the series of its kernels."""

    root: Path
    kernels: list[str]


@pytest.fixture(scope="module", params=[("bookworm", ["6.1"]), (SUITE, ["6.12", "7"])], ids=lambda each: each[0])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    suite, kernels = request.param
    root = tmp_path_factory.mktemp(suite) / "root"
    if len(kernels) == 1:
        machine.debian(PACKAGES, root, suite)
    else:
        machine.debian((*PACKAGES, *FOR_NEWER), root, suite)
        _newest_kernel(root / "newer")
    for name in MODULES:
        shutil.copytree(module.HERE / name, root / "src" / name)
    (root / "out").mkdir()
    walls = ["bwrap", "--bind", str(root), "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-all"]
    variables = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
    }
    built = subprocess.run(
        [*walls, "sh", "-c", BUILD],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout[-3000:]
    return Installed(root, kernels)


def test_the_packages_are_clean_and_installed(installed: Installed) -> None:
    out = installed.root / "out"
    status = (out / "status").read_text().splitlines()
    assert all(line.endswith(": installed") for line in status)
    for name in MODULES:
        assert sum(line.startswith(f"{name}/{_version(name)}, ") for line in status) == len(installed.kernels)
    complaints = out / "complaints"
    assert complaints.exists() == (len(installed.kernels) > 1)
    assert not complaints.exists() or complaints.read_text() == ""


@pytest.mark.skipif(machine.missing() is not None, reason=str(machine.missing()))
def test_the_packages_are_used(installed: Installed, tmp_path: Path) -> None:
    root, kernels = installed.root, installed.kernels
    machine.write_program(root, "vehicle", INIT)
    for page in ("module", "downloads"):
        (root / f"{page}.sh").write_text(_commands(page))
    (root / "transfer").write_text(TRANSFER)
    for kernel, series in zip(sorted(root.glob(f"boot/vmlinuz-*{FLAVOUR}")), kernels, strict=True):
        release = kernel.name.removeprefix("vmlinuz-")
        assert release.startswith(f"{series}.")
        disk = tmp_path / f"disk-{release}"
        machine.make_disk(root, disk, 5)
        machine.carry_out(kernel, root / "boot" / f"initrd.img-{release}", disk, "/vehicle", 1800)
        out = machine.take(disk, "out", tmp_path / release)
        disk.unlink()
        assert (out / "release").read_text().strip() == release
        said = (out / "said").read_text()
        assert (out / "statuses").read_text() == "0\n0\n", (out / "errors").read_text()
        assert "tcp_ledbat" in (out / "loaded").read_text()  # by the name of a variant
        assert "net.ledbatpp.target_us = 40000" in said
        routes = (out / "routes").read_text()
        assert "congctl ledbatpp" in routes
        assert "congctl rledbat" in routes
        transferred = (out / "transfer").read_text().splitlines()
        assert {line.split()[0] for line in transferred} > {"ledbat", "ledbatpp", "rledbat"}
        assert all(line.endswith(f" {1 << 20}") for line in transferred)
