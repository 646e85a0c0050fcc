"""A release in roots of Debian that have Python and a sandbox: no compiler, no mirror, no checkout."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from images.cache import file_digest
from tests.reach import machine

# Debian's release, and its Python
RELEASES = {"bookworm": "3.11", "trixie": "3.13"}
MOST_INSTALLED_BYTES = 300e6
MOST_PACKED_BYTES = 60e6
FIRST_VERDICT_S = 60


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("release")
    key = into / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    command = [sys.executable, "-m", "testbed.release", "libutp", "--into", into, "--sign", key]
    subprocess.run(command, check=True)
    return into


def test_what_is_published_is_small_and_signed(release: Path) -> None:
    sums = dict(reversed(line.split()) for line in (release / "SHA256SUMS").read_text().splitlines())
    assert {*sums} == {file.name for file in release.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig", "key", "key.pub"}
    assert all(file_digest(release / name) == expected for name, expected in sums.items())
    assert (release / "libutp.tar.xz").stat().st_size < MOST_PACKED_BYTES
    signers = release.parent / "signers"
    signers.write_text(f'us@example.org namespaces="ledbat-testbed" {(release / "key.pub").read_text()}')
    words = ["-n", "ledbat-testbed", "-f", signers, "-I", "us@example.org", "-s", release / "SHA256SUMS.sig"]
    with (release / "SHA256SUMS").open() as signed:
        subprocess.run(["ssh-keygen", "-Y", "verify", *words], stdin=signed, check=True)


@pytest.mark.parametrize("suite", RELEASES)
def test_a_bare_debian_comes_to_a_verdict(suite: str, release: Path, tmp_path: Path) -> None:
    (wheel,) = release.glob("ledbat_testbed-*.whl")
    download = ["pip", "download", "--quiet", "--only-binary=:all:", f"--python-version={RELEASES[suite]}"]
    subprocess.run([sys.executable, "-m", *download, "--dest", tmp_path / "wheels", wheel], check=True)
    root = tmp_path / "root"
    machine.debian(("bubblewrap", "libstdc++6", "python3", "python3-venv"), root, suite)
    assert not any((root / "usr/bin" / name).exists() for name in ("cc", "gcc", "git", "make"))
    (root / "home/work").mkdir()

    def inside(*words: str) -> str:
        # the host's own /proc: in a new one, parts of which bwrap covers, nobody inside could make another
        walls = ["bwrap", "--die-with-parent", "--unshare-net", "--bind", root, "/", "--dev", "/dev", "--bind", "/proc"]
        walls += ["/proc", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm", "--ro-bind", tmp_path / "wheels", "/wheels"]
        walls += ["--ro-bind", release, "/release", "--chdir", "/home/work", "--clearenv"]
        command = [*walls, "--setenv", "PATH", "/usr/sbin:/usr/bin", *words]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    began = time.monotonic(), os.times().children_user + os.times().children_system
    inside("python3", "-m", "venv", "testbed")
    inside("testbed/bin/pip", "install", "--quiet", "--no-index", "--find-links=/wheels", "ledbat-testbed")
    inside("testbed/bin/python", "-m", "images", "unpack", "/release/libutp.tar.xz")
    said = inside("testbed/bin/testbed", "gate", "--client", "libutp")
    cpu_s = os.times().children_user + os.times().children_system - began[1]
    print(f"{suite}: first verdict after {time.monotonic() - began[0]:.0f} s, {cpu_s:.0f} s of a processor")
    assert [line.split()[0] for line in said.splitlines()] == ["passed"] * 6
    assert cpu_s < FIRST_VERDICT_S
    packages = (root / "home/work/testbed/lib" / f"python{RELEASES[suite]}" / "site-packages").rglob("*")
    own = ("pip", "setuptools", "pkg_resources", "_distutils_hack")  # what venv put there
    installed = sum(
        file.stat().st_size
        for file in packages
        if file.is_file() and not {*own} & {*file.parts} and "cache" not in file.parts
    )
    print(f"installed: {installed / 1e6:.0f} MB")
    assert installed < MOST_INSTALLED_BYTES
