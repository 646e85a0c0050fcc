"""The module on kernels with four processors, under flows that change their congestion control at random.

One is Debian's own in QEMU. It checks what it allocates (slub_debug), and has no KASAN. The other is User-Mode Linux
with KASAN and lockdep, built from the guest kernel's source with smp.config and smp.patch (ten minutes or more). The
processors of both are threads of this host, so as many run at once as the host has.

TESTBED_STRESS_PACKETS says how many packets each of the two kernels carries; a long test has millions, or is the sum of
several with a TESTBED_STRESS_SEED each.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from engine import images, kunit, launch, sandbox
from engine.backends.qemu import EMULATOR
from images import index, module
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.kernel import build as kernel
from tests.reach import machine

HERE: Final = Path(__file__).parent
ASKED_PACKETS: Final = os.environ.get("TESTBED_STRESS_PACKETS")
SEED: Final = int(os.environ.get("TESTBED_STRESS_SEED", "1"))
EMULATED_PACKETS, PACKETS, FEW_PACKETS = int(ASKED_PACKETS or 100_000), int(ASKED_PACKETS or 50_000), 3_000
PROCESSORS = 4
MEMORY_MIB = 2048
EMULATED_LIMIT_S = 7200 + EMULATED_PACKETS / 20
KIND = "smp"
PROGRAM = """\
import json
from pathlib import Path

from engine.guest import stress

Path("/results/unfinished.json").write_text(json.dumps(stress.main({packets}, {seed})))
Path("/results/unfinished.json").rename("/results/outcome.json")
"""
# mistakes of a kind that each of the two tools looks for: a file, what stands there, what stands there instead
MISTAKES = {
    "KASAN": (
        "tcp_ledbat.c",
        "\tmemset(ca, 0, sizeof(*ca));",
        "\tvoid *gone = kmalloc(8, GFP_ATOMIC);\n\n\tkfree(gone);\n\tmemset(gone, 0, 8);\n"
        "\tmemset(ca, 0, sizeof(*ca));",
    ),
    "inconsistent lock state": (
        "tcp_ledbat.c",
        "\tmemset(ca, 0, sizeof(*ca));",
        "\tstatic DEFINE_SPINLOCK(lock);\n\n\tspin_lock(&lock);\n\tspin_unlock(&lock);\n\tmemset(ca, 0, sizeof(*ca));",
    ),
}


@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed")
@pytest.mark.skipif(not images.index_of(index.STOCK).exists(), reason="`python -m images.stock` has not been run")
def test_random_changes_of_control_on_debians_kernel(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    shutil.copy(HERE / "stress.py", added)
    said = machine.printed(added, f"python3 -S /stress.py {EMULATED_PACKETS} {SEED}", EMULATED_LIMIT_S, PROCESSORS)
    outcome = json.loads(said.splitlines()[-1])
    _assert_nothing_is_wrong(outcome, EMULATED_PACKETS)


def _assert_nothing_is_wrong(outcome: dict[str, Any], packets: int) -> None:
    assert outcome["complaints"] == []
    assert outcome["removed"]
    assert outcome["packets"] >= packets
    assert outcome["processors"] == PROCESSORS
    assert outcome["changes"] > packets / 1000


@pytest.fixture(scope="module")
def smp_kernel(tmp_path_factory: pytest.TempPathFactory) -> kernel.Kernel:
    """The guest kernel with several processors, KASAN and lockdep."""
    store = Store(default_root())
    patches = tmp_path_factory.mktemp("kernel") / "patches"
    shutil.copytree(kernel.PATCHES, patches)
    shutil.copy(HERE / "smp.patch", patches / "9999-smp.patch")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "PATCHES", patches)
        configs = (kernel.CONFIG, kernel.DEBUG_CONFIG, HERE / "smp.config")
        patch.setitem(kernel.KINDS, KIND, ("kernel with several processors", configs))
        return kernel.build(store, print, BuildRoot(store, print), KIND)


@pytest.fixture
def stressed(smp_kernel: kernel.Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Compile the module, with a text of a file replaced, and stress it; gives the folder that is /results there."""

    def carry_out(packets: int, file: str = "tcp_ledbat.c", old: str = "", new: str = "") -> Path:
        boot = replace(
            images.load(), kernel=smp_kernel.program, modules={"tcp_ledbat": _compiled(file, old, new)}, seccomp=True
        )
        code, results = tmp_path / "code", tmp_path / "results"
        for package in ("engine", "topologies"):
            shutil.copytree(images.PROJECT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(HERE / "stress.py", code / "engine" / "guest")
        (code / "engine" / "guest" / "run_stress.py").write_text(PROGRAM.format(packets=packets, seed=SEED))
        monkeypatch.setattr(images, "PROJECT", code)
        results.mkdir()
        arguments = launch.boot_arguments(boot, 1, "engine.guest.run_stress", real_time=True, memory_mib=MEMORY_MIB)
        limits = replace(kunit.LIMITS, guest_memory_mib=MEMORY_MIB)
        # a processor that waits for the host looks stalled
        arguments += [f"ncpus={PROCESSORS}", "rcupdate.rcu_cpu_stall_suppress=1"]
        words = launch.command(boot, results, 0, arguments, limits)
        # not on one of the host's processors, and without the system call filter: processors interrupt each other by
        # signals that it does not allow
        filtered = words.index(f"{sandbox.FOLDERS['TESTBED_TOOLS']}/confine")
        command = [*words[3:filtered], *words[filtered + 4 :]]
        with (
            (results / "console.log").open("wb") as console,
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=console) as guest,
        ):
            while guest.poll() is None and not (results / "outcome.json").exists():
                time.sleep(1)
            guest.kill()  # with several processors it does not always power off
        return results

    def _compiled(file: str, old: str, new: str) -> Path:
        work = tmp_path / "module"
        shutil.copytree(module.HERE / "tcp_ledbat", work, ignore=shutil.ignore_patterns("debian"))
        text = (work / file).read_text()
        assert not old or text.count(old) == 1
        (work / file).write_text(text.replace(old, new) if old else text)
        store = Store(default_root())
        command = module.compiling("/seen/tree", "/build", "ARCH=um", "CONFIG_KUNIT=")  # without the module's tests
        root = BuildRoot(store, print)
        root.run(command, tmp_path / "log", "Compiling the module", work=work, see={"/seen/tree": smp_kernel.tree})
        return work / "tcp_ledbat.ko"

    return carry_out


def test_random_changes_of_control_with_kasan_and_lockdep(stressed: Callable[..., Path]) -> None:
    results = stressed(PACKETS)
    outcome = json.loads((results / "outcome.json").read_text())
    _assert_nothing_is_wrong(outcome, PACKETS)
    assert outcome["locks_are_checked"]


@pytest.mark.parametrize("report", MISTAKES)
def test_a_mistake_is_reported(report: str, stressed: Callable[..., Path]) -> None:
    results = stressed(FEW_PACKETS, *MISTAKES[report])
    outcome = json.loads((results / "outcome.json").read_text())
    assert any(report in line for line in outcome["complaints"])
