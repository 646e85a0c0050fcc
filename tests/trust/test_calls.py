"""What is hard for a guest's kernel that runs in its processes, where the host can do that, and by way of stubs."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from engine import images, syscall_mode
from images.kernel.trial import MEMORY_FOLDER
from tests.images.building import build_root

SOURCE = Path(__file__).with_name("calls.c")
TIMEOUT_S = 300
CHECKED = 17


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with calls.c and nothing else."""
    folder = tmp_path_factory.mktemp("calls") / "root"
    folder.mkdir()
    command = ["gcc", "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o", "init", "/seen/calls.c"]
    see = {"/seen/calls.c": SOURCE}
    build_root().run(command, folder.parent / "log", "Compiling calls.c", work=folder, see=see)
    return folder


def console(root: Path, folder: Path, *options: str) -> list[str]:
    """Boot a guest of that root, and return what it said."""
    words = [
        *("mem=512M", "rootfstype=hostfs", f"rootflags={root}", "ro", "init=/init", "con=null", "con0=null,fd:1"),
        *("time-travel=inf-cpu", "norandmaps", "seed=1", "quiet", "seccomp=on", f"uml_dir={folder}/", *options),
    ]
    done = subprocess.run(
        [images.load().kernel, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"TMPDIR": str(MEMORY_FOLDER)},
        timeout=TIMEOUT_S,
        check=True,
        start_new_session=True,
    )
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def said(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """What a guest with an option says, booted once; skips where the host cannot do it."""

    @cache
    def boot(option: str) -> list[str]:
        if option == "inproc=on" and syscall_mode.lacking():
            pytest.skip("this host has nothing but stub processes")
        return console(root, tmp_path_factory.mktemp("guest"), option)

    return boot


@pytest.mark.parametrize(("option", "kernels_place"), [("inproc=on", "refused"), ("inproc=off", "free")])
def test_programs_that_are_hard_to_serve(said: Callable[[str], list[str]], option: str, kernels_place: str) -> None:
    lines = said(option)
    assert [line for line in lines if line.endswith(" WRONG")] == []
    assert len([line for line in lines if line.endswith(" ok")]) == CHECKED
    assert f"kernel's place {kernels_place}" in lines


def test_signals_come_at_the_same_calls_both_ways(said: Callable[[str], list[str]]) -> None:
    """While calls become jumps, and while they do not."""
    jumps, stubs = ([line for line in said(mode) if "a signal each" in line] for mode in ("inproc=on", "inproc=off"))
    assert len(jumps) == 4
    assert jumps == stubs


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed (golang-go)")
@pytest.mark.parametrize("option", ["inproc=on", "inproc=off"])
def test_goroutines_that_signals_interrupt(tmp_path: Path, option: str) -> None:
    """Go's collector waits for a thread by reading the clock, so readings take time, as under `testbed exec`."""
    if option == "inproc=on" and syscall_mode.lacking():
        pytest.skip("this host has nothing but stub processes")
    root = tmp_path / "root"
    words = ["go", "build", "-o", str(root / "init"), str(SOURCE.with_name("goroutines.go"))]
    subprocess.run(words, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    assert console(root, tmp_path, option, "spin=100000")[0] == "go ok"


def test_what_is_lacking_is_told() -> None:
    """Without virtual time, for one: real time needs signals from outside."""
    kernel = images.load().kernel
    done = subprocess.run([kernel, "seccomp=on", "inproc=on"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (
        1,
        ["inproc=on cannot be had: time-travel=inf-cpu is not used"],
    )
