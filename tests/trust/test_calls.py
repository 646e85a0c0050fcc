"""What is hard for a guest's kernel that runs in its processes, where the host can do that, and by way of stubs."""

import subprocess
from pathlib import Path

import pytest

from engine import calls, images
from images.kernel.trial import MEMORY_FOLDER
from tests.images.building import build_root

SOURCE = Path(__file__).with_name("calls.c")
TIMEOUT_S = 300
CHECKED = 14


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root file system with calls.c and nothing else."""
    folder = tmp_path_factory.mktemp("calls") / "root"
    folder.mkdir()
    command = ["gcc", "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o", "init", "/seen/calls.c"]
    see = {"/seen/calls.c": SOURCE}
    build_root().run(command, folder.parent / "log", "Compiling calls.c", work=folder, see=see)
    return folder


def console(root: Path, folder: Path, option: str) -> list[str]:
    """Boot a guest of that root, and return what it said."""
    words = [
        *("mem=512M", "rootfstype=hostfs", f"rootflags={root}", "ro", "init=/init", "con=null", "con0=null,fd:1"),
        *("time-travel=inf-cpu", "norandmaps", "seed=1", "quiet", "seccomp=on", f"uml_dir={folder}/", option),
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


@pytest.mark.parametrize(("option", "kernels_place"), [("inproc=on", "refused"), ("inproc=off", "free")])
def test_programs_that_are_hard_to_serve(root: Path, tmp_path: Path, option: str, kernels_place: str) -> None:
    if option == "inproc=on" and calls.lacking():
        pytest.skip("this host has nothing but stub processes")
    said = console(root, tmp_path, option)
    assert [line for line in said if line.endswith(" WRONG")] == []
    assert len([line for line in said if line.endswith(" ok")]) == CHECKED
    assert f"kernel's place {kernels_place}" in said


def test_what_is_lacking_is_told() -> None:
    """Without virtual time, for one: real time needs signals from outside."""
    kernel = images.load().kernel
    done = subprocess.run([kernel, "seccomp=on", "inproc=on"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (
        1,
        ["inproc=on cannot be had: time-travel=inf-cpu is not used"],
    )
