"""A release in roots that have Python and a sandbox: no compiler, no mirror, no checkout."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from images.cache import file_digest, project_root
from tests.reach import machine, ubuntu

# each release, and its Python
RELEASES = {"bookworm": "3.11", "trixie": "3.13", "noble": "3.12"}
OF_UBUNTU = pytest.mark.skipif(ubuntu.missing() is not None, reason=str(ubuntu.missing()))
MOST_INSTALLED_BYTES = 300e6
MOST_PACKED_BYTES = 60e6
FIRST_VERDICT_S = 60
PACKAGES = ("bubblewrap", "libstdc++6", "python3", "python3-venv")
BASE = "debian:bookworm-slim"
AUTHORITIES = Path("/usr/local/share/ca-certificates")  # of this host's own network
LAB = """\
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2))
net.start()
net.pingAll()
net.stop()
"""
WORDS = ["holds:"] * 6 + ["page:"]  # of a gate of libutp, each at the beginning of a line
BUDGETS = """\
client: mine
statements:
  - {id: fills an idle link, scenario: alone, in: {case: 10mbit}, measure: alone("throughput"), above: 9}
  - {id: keeps out of the way, scenario: against-tcp, measure: shared("share"), below: 20}
"""


@dataclass(frozen=True)
class Bare:
    """A root with what a release needs, and the wheels of its requirements."""

    root: Path
    walls: list[str | Path]

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command inside, without a network."""
        settings = {"PATH": "/usr/sbin:/usr/bin", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", **environment}
        given = [word for name, value in settings.items() for word in ("--setenv", name, value)]
        return subprocess.run([*self.walls, *given, *words], stdout=subprocess.PIPE, text=True, check=False)

    def says(self, *words: str) -> str:
        """Run a command that has to succeed; return what it prints."""
        done = self.run(*words)
        done.check_returncode()
        return done.stdout


def published(into: Path, *words: str) -> Path:
    key = into / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    subprocess.run([sys.executable, "-m", "testbed.release", *words, "--into", into, "--sign", key], check=True)
    return into


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("release"), "libutp")


@pytest.fixture
def bare(release: Path, tmp_path: Path) -> Callable[[str], Bare]:
    return partial(bare_root, tmp_path, release)


def bare_root(into: Path, release: Path, suite: str) -> Bare:
    (wheel,) = release.glob("ledbat_testbed-*.whl")
    download = ["pip", "download", "--quiet", "--only-binary=:all:", f"--python-version={RELEASES[suite]}"]
    subprocess.run([sys.executable, "-m", *download, "--dest", into / "wheels", wheel], check=True)
    root = into / "root"
    if suite == "noble":
        # cp copies device nodes; shutil.copytree would read /dev/zero to no end
        subprocess.run(["cp", "--archive", ubuntu.root(suite, PACKAGES), root], check=True)
    else:
        machine.debian(PACKAGES, root, suite)
    assert not any((root / "usr/bin" / name).exists() for name in ("cc", "gcc", "git", "make"))
    (root / "home/work").mkdir()
    # the host's own /proc: in a new one, parts of which bwrap covers, nobody inside could make another
    walls: list[str | Path] = ["bwrap", "--die-with-parent", "--unshare-net", "--bind", root, "/"]
    walls += ["--dev", "/dev", "--bind", "/proc", "/proc", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]
    walls += ["--ro-bind", into / "wheels", "/wheels", "--ro-bind", release, "/release"]
    return Bare(root, [*walls, "--chdir", "/home/work", "--clearenv"])


def test_what_is_published_is_small_and_signed(release: Path) -> None:
    sums = dict(line.split()[::-1] for line in (release / "SHA256SUMS").read_text().splitlines())
    assert {*sums} == {file.name for file in release.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig", "key", "key.pub"}
    assert all(file_digest(release / name) == expected for name, expected in sums.items())
    assert (release / "libutp.tar.xz").stat().st_size < MOST_PACKED_BYTES
    signers = release.parent / "signers"
    signers.write_text(f'us@example.org namespaces="ledbat-testbed" {(release / "key.pub").read_text()}')
    words = ["-n", "ledbat-testbed", "-f", str(signers), "-I", "us@example.org", "-s", f"{release}/SHA256SUMS.sig"]
    with (release / "SHA256SUMS").open() as signed:
        subprocess.run(["ssh-keygen", "-Y", "verify", *words], stdin=signed, check=True)


@pytest.mark.parametrize("suite", ["bookworm", "trixie", pytest.param("noble", marks=OF_UBUNTU)])
def test_a_bare_root_comes_to_a_verdict(suite: str, bare: Callable[[str], Bare]) -> None:
    inside = bare(suite)
    began = time.monotonic(), os.times().children_user + os.times().children_system
    inside.says("python3", "-m", "venv", "testbed")
    inside.says("testbed/bin/pip", "install", "--quiet", "ledbat-testbed")
    inside.says("testbed/bin/python", "-m", "images", "unpack", "/release/libutp.tar.xz")
    said = inside.says("testbed/bin/testbed", "gate", "--client", "libutp")
    cpu_s = os.times().children_user + os.times().children_system - began[1]
    print(f"{suite}: first verdict after {time.monotonic() - began[0]:.0f} s, {cpu_s:.0f} s of a processor")
    assert [line.split()[0] for line in said.splitlines()] == WORDS
    assert cpu_s < FIRST_VERDICT_S
    packages = (inside.root / "home/work/testbed/lib" / f"python{RELEASES[suite]}" / "site-packages").rglob("*")
    own = ("pip", "setuptools", "pkg_resources", "_distutils_hack")  # what venv put there
    installed = sum(
        file.stat().st_size
        for file in packages
        if file.is_file() and not {*own} & {*file.parts} and "cache" not in file.parts
    )
    print(f"installed: {installed / 1e6:.0f} MB")
    assert installed < MOST_INSTALLED_BYTES


def test_the_step_for_github_tells_which_budget_is_broken(bare: Callable[[str], Bare]) -> None:
    """Its own commands, with stand-ins for what GitHub's machine brings: sudo, and gh, which downloads the release."""
    inside = bare("bookworm")
    machine.write_program(inside.root, "usr/bin/sudo", "#!/bin/sh\n")
    machine.write_program(inside.root, "usr/bin/gh", '#!/bin/sh\nmkdir -p "$7" && cp /release/* "$7"\n')
    mine = inside.root / "home/work/testing/mine"
    mine.mkdir(parents=True)
    page = (project_root() / "docs/howto/adding-a-client.md").read_text()
    for name, language in (("implementation.yaml", "yaml"), ("endpoint", "python")):
        (mine / name).write_text(page.partition(f"```{language}\n")[2].partition("```")[0])
    (mine / "endpoint").chmod(0o755)
    (mine.parent / "budgets.yaml").write_text(BUDGETS)
    action = yaml.safe_load((project_root() / "testbed/gate/action.yml").read_text())
    [step] = action["runs"]["steps"]
    given = {name.upper(): about["default"] for name, about in action["inputs"].items()}
    given |= {"RELEASE": "v1", "REPOSITORY": "us/testbed", "RUNNER_TEMP": "/home/work/temp", "SERVER": "unused"}
    assert step["env"].keys() <= {*given, "GH_TOKEN"}
    given["GITHUB_STEP_SUMMARY"] = "/home/work/summary.md"
    done = inside.run("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"], **given)
    assert done.returncode == 1
    words = [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("holds: ", "does not hold: "))]
    assert words == ["holds:", "does"], done.stdout
    assert "keeps out of the way" in (inside.root / "home/work/summary.md").read_text()


@pytest.fixture
def image(release: Path) -> Iterator[str]:
    docker = shutil.which("docker", path="/usr/bin") or shutil.which("docker")
    there = docker and subprocess.run([docker, "image", "inspect", BASE], capture_output=True, check=False)
    if not docker or not there or there.returncode:
        pytest.skip(f"no docker daemon runs here that has the image {BASE}")
    name = f"ledbat-gate-{uuid4().hex}"
    build = [docker, "build", "--quiet", "--file", f"{release}/gate.Dockerfile", "--tag", name]
    build += ["--build-arg", f"CA_CERTIFICATE={''.join(file.read_text() for file in AUTHORITIES.glob('*.crt'))}"]
    subprocess.run([*build, release], check=True)
    yield name
    subprocess.run([docker, "rmi", "--force", name], check=True)


def test_the_container_image_comes_to_a_verdict(image: str, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir(mode=0o777)
    (tmp_path / "results").chmod(0o777)
    walls = ["--network=none", "--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined"]
    volume = f"--volume={tmp_path}/results:/home/runner/results"
    command = ["docker", "run", "--rm", *walls, volume, image, "--client", "libutp"]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert [line.split()[0] for line in said.splitlines()] == WORDS
    assert (tmp_path / "results/gate/libutp/index.html").exists()


def test_a_lab_is_run_and_handed_in_from_its_pack(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    inside = bare_root(tmp_path, published(tmp_path / "release", "--lab"), "trixie")
    (inside.root / "home/work/lab.py").write_text(LAB)
    inside.says("python3", "-m", "venv", "testbed")
    inside.says("testbed/bin/pip", "install", "--quiet", "ledbat-testbed")
    inside.says("testbed/bin/python", "-m", "images", "unpack", "/release/lab.tar.xz")
    inside.says("testbed/bin/testbed", "exec", "--student", "1", "--hand-in", "mine.zip", "lab.py")
    said = inside.says("testbed/bin/testbed", "verify", "mine.zip", "--script", "lab.py")
    assert "| identical, 1 files | as handed out |" in said
