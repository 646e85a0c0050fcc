"""Another release of Debian as the host: what it builds has the bytes of what this host built.

Compiles a kernel: ten minutes or more on two cores.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images
from images import locked
from images.build_root import BuildRoot
from images.cache import Store, default_root, tree_digest
from images.rootfs.build import install_debian

# what `python -m images` needs of a host, but for mmdebstrap; and what it imports
PACKAGES = ("apt", "bubblewrap", "python3", "python3-jsonschema", "python3-yaml")
BUILD = """
from pathlib import Path
from images import module, programs
from images.build_root import BuildRoot
from images.cache import Store
from images.kernel import build as kernel
from images import guest_tools
def say(step):
    print(step, flush=True)
store = Store(Path("/store"), say)
inside = BuildRoot(store, say)
print("tools", guest_tools.build(store, say, inside)[0], file=open("/store/made", "a"))
programs.build(store, say, "udp-cbr")
built = kernel.build(store, say, inside)
print("kernel", built.folder, file=open("/store/made", "a"))
print("module", module.build(store, say, inside, "tcp_ledbat", built)[0].parent, file=open("/store/made", "a"))
"""
# logs and lists of digests say when and where, and nothing else does
NOT_COMPARED = ("build.log", "manifest.json")


@pytest.fixture(scope="module")
def other_release() -> str:
    """A release of Debian that this host is not."""
    return "bookworm" if "VERSION_CODENAME=trixie" in Path("/etc/os-release").read_text() else "trixie"


@pytest.fixture(scope="module")
def host(other_release: str) -> Path:
    """The root of such a host, kept in the cache."""
    store = Store(default_root())

    def make(folder: Path) -> None:
        hooks = ['chroot "$1" dpkg-query --show >"$1/packages.txt"', 'mkdir "$1/project" "$1/store"']
        today = locked.resolve(store, other_release, PACKAGES, complete=True)
        files = locked.fetch(store, print, today, "host")
        log = store.root / "logs" / "host.log"
        install_debian(folder, today, files, hooks[::-1], log, "Installing a host")

    return store.ensure("hosts", "-".join((other_release, *PACKAGES)), make) / "root"


def _digests(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in tree_digest(folder).items() if name not in NOT_COMPARED}


def test_another_host_builds_the_same_bytes(program: Callable[[str], None], host: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    here = Store(default_root())
    BuildRoot(here, print).root  # noqa: B018 - its packages are downloaded, and used there too
    # the host's own /proc: in a new one, parts of which bwrap covers, nobody inside could make another
    command = ["bwrap", "--unshare-user", "--unshare-net", "--die-with-parent", "--ro-bind", str(host), "/"]
    command += ["--dev", "/dev", "--bind", "/proc", "/proc", "--tmpfs", "/tmp"]
    command += ["--ro-bind", str(images.PROJECT), "/project", "--bind", str(store), "/store"]
    command += ["--bind", f"{here.root}/downloads", "/store/downloads"]
    command += ["--chdir", "/project", "--setenv", "TESTBED_CACHE", "/store", "--setenv", "PATH", os.defpath]
    subprocess.run([*command, "/usr/bin/python3", "-B", "-c", BUILD], check=True)

    made = dict(line.split() for line in (store / "made").read_text().splitlines())
    there = {name: store / Path(path).relative_to("/store") for name, path in made.items()}
    boots = images.load()
    assert _digests(there["tools"]) == _digests(boots.tools)
    assert _digests(there["kernel"]) == _digests(boots.kernel.parent)
    assert _digests(there["module"]) == _digests(boots.modules["tcp_ledbat"].parent)
    (endpoint,) = store.glob("programs/*/files/endpoint")
    program("udp-cbr")
    assert endpoint.read_bytes() == (images.program("udp-cbr").files / "endpoint").read_bytes()
