"""The same bytes under every condition that this machine can bring about: the table in docs/explanation/trust.md.

One run holds a flow of every congestion control of the kernel at once. Load, folders and Open vSwitch:
tests/engine/test_identity.py; clocks: test_faults.py.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images, launch, sandbox, syscall_mode
from engine.run import execute
from images import guest_tools, module
from images.cache import Store, file_digest
from images.kernel.build import Kernel
from scenarios import implementations
from scenarios.resolve import Cell, expand, resolve
from tests.images.building import build_root
from tests.trust.conftest import Sabotage
from tests.trust.identity import on_cpus

TESTBED = f"{Path(sys.executable).parent}/testbed"
OLDER_HOST = str(Path(__file__).with_name("older_host.py"))
Digests = dict[str, str]


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A scenario in which every kernel congestion control sends for two seconds."""
    kernel = [name for name, known in implementations.known().items() if known["kind"] == "kernel-tcp"]
    flows = "".join(
        f"  - {{name: flow{index}, implementation: {name}, from: s{index}, to: d{index}}}\n"
        for index, name in enumerate(kernel, 1)
    )
    file = tmp_path_factory.mktemp("everybody") / "everybody.yaml"
    file.write_text(
        f"experiment: everybody\ntitle: All at once\ntopology: {{name: dumbbell, pairs: {len(kernel)}}}\n"
        # the buffer holds every first window (10 packets) and its successor, so no flow loses its SYN
        f"bottleneck: {{rate: 20mbit, buffer: {20 * len(kernel)}p}}\ndelay: {{forward: 10ms, backward: 10ms}}\n"
        f"start_jitter: 100ms\nflows:\n{flows}"
        "events:\n  - {at: 1s, on: path, jitter: {forward: 1ms}, loss: {forward: 1%}}\n"
        "duration: 2s\ncaptures: [sender, bottleneck-out]\nkeep_captures: true\n"
    )
    return file


@pytest.fixture
def cell(everybody: Path) -> Cell:
    (cell,) = expand(everybody, "complete")
    return cell


# what x86-64-v1 lacks, as far as glibc looks at it
OLD_PROCESSOR = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}" for name in ("AVX512F", "AVX512VL", "AVX2", "AVX", "BMI2", "SSE4_2", "SSE4_1", "SSSE3", "ERMS", "FSRM")
)
THIS_PROCESSOR = "glibc.malloc.perturb=".ljust(len(OLD_PROCESSOR), "0")
EXECUTE_AGAIN = """\
if "GLIBC_TUNABLES" not in os.environ:
    os.environ["GLIBC_TUNABLES"] = "{tunables}"
    os.execv(sys.argv[0], sys.argv)
ENVIRONMENT = {{
    "GLIBC_TUNABLES": "{tunables}",
"""


def digests(cell: Cell, into: Path) -> Digests:
    sums: Digests = execute(resolve(cell, 1), into)["digests"]
    return sums


@pytest.fixture(scope="module")
def reference(everybody: Path, tmp_path_factory: pytest.TempPathFactory) -> Digests:
    (cell,) = expand(everybody, "complete")
    sums = digests(cell, tmp_path_factory.mktemp("reference"))
    assert len(sums) > len(cell.settings["flows"])
    return sums


@pytest.mark.parametrize("which", [min, max])
def test_on_each_cpu_alone(cell: Cell, tmp_path: Path, reference: Digests, which: Callable[[set[int]], int]) -> None:
    with on_cpus({which(os.sched_getaffinity(0))}):
        assert digests(cell, tmp_path) == reference


def test_without_walls(cell: Cell, tmp_path: Path, reference: Digests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sandbox.UNCONFINED, "1")
    assert digests(cell, tmp_path) == reference


def test_by_way_of_stub_processes(
    cell: Cell, tmp_path: Path, reference: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients: tests/engine/test_clients.py; every experiment: tests/trust/modes.py."""
    if syscall_mode.lacking():
        pytest.skip("this host has nothing but stub processes, as the others then are")
    monkeypatch.setenv(syscall_mode.STUBS, "1")
    assert digests(cell, tmp_path) == reference


def test_on_a_host_without_syscall_user_dispatch(everybody: Path, tmp_path: Path, reference: Digests) -> None:
    older = (sys.executable, OLDER_HOST)
    assert run_as(everybody, tmp_path, *older) == reference
    said = subprocess.run([*older, TESTBED, "doctor"], capture_output=True, text=True, check=False).stdout
    assert "of guests by way of stub processes: no Syscall User Dispatch (Linux 5.11)" in " ".join(said.split())


def test_in_ptrace_mode(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on hosts, and with kernels before 6.16, that lack the faster mode: it repeats itself.

    It may give others than seccomp mode, which interrupts the guest's kernel whenever a process ends:
    docs/explanation/trust.md.
    """
    boot = launch.boot_arguments

    def slow(*arguments: object, **options: object) -> list[str]:
        return [word.replace("seccomp=on", "seccomp=off") for word in boot(*arguments, **options)]  # type: ignore[arg-type]

    monkeypatch.setattr(launch, "boot_arguments", slow)
    assert digests(cell, tmp_path / "once") == digests(cell, tmp_path / "again")


def test_with_libraries_that_take_the_processor_for_an_old_one(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    """glibc then chooses other copies of memcpy, strlen and the like in every program of the guest.

    The setting is made by executing the agent once more, which draws random numbers, with a longer environment, which
    moves stacks: so both runs do that, to the byte.
    """
    differences = []
    for turn, tunables in enumerate((THIS_PROCESSOR, OLD_PROCESSOR)):
        if turn == 0:
            sabotage("engine/guest/start.py", "ENVIRONMENT = {\n", EXECUTE_AGAIN.format(tunables=tunables))
        else:
            start = tmp_path / "code" / "engine/guest/start.py"
            start.write_text(start.read_text().replace(THIS_PROCESSOR, tunables))
        differences.append(digests(cell, tmp_path / str(turn)))
    assert differences[0] == differences[1]


def run_as(everybody: Path, into: Path, *before: str) -> Digests:
    command = [*before, TESTBED, "run", str(everybody), "--seed", "1", "--into", str(into)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (summary,) = into.rglob("summary.json")
    sums: Digests = json.loads(summary.read_text())["digests"]
    return sums


def test_as_another_user(everybody: Path, tmp_path: Path, reference: Digests) -> None:
    """Another number in a user namespace; another account of the host where root runs the tests."""
    mapped = ("unshare", "--user", "--map-user=1234", "--map-group=1234")
    assert run_as(everybody, tmp_path / "mapped", *mapped) == reference
    account = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if os.geteuid() or subprocess.run([*account, TESTBED, "--help"], capture_output=True, check=False).returncode:
        pytest.skip("another account cannot be taken, or cannot read this checkout")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        copy = folder / "study" / everybody.name
        copy.parent.mkdir()
        shutil.copy(everybody, copy)
        assert run_as(copy, folder / "runs", *account) == reference


def test_in_a_container(everybody: Path, tmp_path: Path, reference: Digests) -> None:
    """As docker-compose.yml runs the image `testbed`, with the images and the code that are in it."""
    image = os.environ.get("TESTBED_CONTAINER")
    if image is None or shutil.which("docker") is None:
        pytest.skip("no container image of the testbed is named in $TESTBED_CONTAINER")
    tmp_path.chmod(0o777)
    hardened = ["--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    memory = ["--tmpfs=/dev/shm:exec,size=2g", "--tmpfs=/tmp:exec,size=1g", "--env=TESTBED_UNCONFINED=1"]
    scenario = f"/trial/{everybody.name}"
    shown = [f"--volume={everybody}:{scenario}:ro", f"--volume={tmp_path}:/runs"]
    words = ["--workdir=/testbed", "--entrypoint=testbed", image, "run", scenario, "--seed", "1", "--into", "/runs"]
    done = subprocess.run(
        ["docker", "run", "--rm", *hardened, *memory, *shown, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (summary,) = tmp_path.rglob("summary.json")
    assert json.loads(summary.read_text())["digests"] == reference


def test_tools_and_a_module_built_again(tmp_path: Path) -> None:
    """In an empty cache in another folder: the same bytes, so the same runs."""
    built = images.load()
    store = Store(tmp_path / "elsewhere" / "cache")
    again, _ = guest_tools.build(store, print, build_root())
    names = sorted(file.name for file in built.tools.iterdir() if file.is_file() and file.name != "manifest.json")
    assert [file_digest(again / name) for name in names] == [file_digest(built.tools / name) for name in names]
    kernel = Kernel(built.kernel.parent, built.provenance["kernel"]["digest"], built.provenance["kernel"]["source"])
    rebuilt, _ = module.build(store, print, build_root(), "tcp_ledbat", kernel)
    assert file_digest(rebuilt) == file_digest(built.modules["tcp_ledbat"])
