# SPDX-License-Identifier: MIT
"""Steps that run at once: they do, an error ends the others, and a build that was ended goes on where it was."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from images import programs
from images.bounded import Bounds
from images.cache import Store, project_root
from images.errors import ImageError
from images.run import logged
from images.steps import at_once
from tests.images.building import build_root


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe: who opens one end waits for who opens the other."""
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def step(pipe: Path, name: str, script: str) -> str:
    logged(["sh", "-euc", script, name, str(pipe)], pipe.with_name(f"{name}.log"), name)
    return name


def test_steps_that_need_each_other_at_work_come_to_an_end(pipe: Path) -> None:
    reads, writes = partial(step, pipe, "reads", 'cat "$1"'), partial(step, pipe, "writes", 'echo met >"$1"')
    assert at_once(reads, writes) == ["reads", "writes"]
    assert pipe.with_name("reads.log").read_text() == "met\n"


def test_an_error_ends_the_other_steps_and_what_goes_on_keeps_its_part(pipe: Path, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    seen = []

    def long(folder: Path) -> None:
        seen.append(sorted(path.name for path in folder.iterdir()))
        rest = "" if (folder / "half").exists() else f"; echo there >{pipe}; sleep 1000"
        logged(["sh", "-euc", f"touch half{rest}; touch whole"], tmp_path / "long.log", "Long", cwd=folder)

    failing = partial(step, pipe, "Wrong", 'cat "$1"; exit 3')
    with pytest.raises(ImageError, match=r"^Wrong failed \(exit status 3\)"):
        at_once(lambda: store.ensure("kind", "long", long, goes_on=True), lambda: Path(failing()))
    assert not store.has("kind", "long")
    entry = store.ensure("kind", "long", long, goes_on=True)
    assert seen == [[], ["half"]]
    assert {path.name for path in entry.iterdir()} == {"half", "whole", "manifest.json"}
    assert [path.name for path in entry.parent.iterdir()] == ["long"]


def test_pruning_removes_what_was_left_to_go_on_with(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", lambda _: None)

    def interrupted(folder: Path) -> None:
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.ensure("kind", "long", interrupted, goes_on=True)
    assert (tmp_path / "store/kind/.long.building/half").exists()
    store.prune(())
    assert not list((tmp_path / "store/kind").iterdir())


def test_a_build_keeps_the_nice_value_of_who_asked_for_it(tmp_path: Path) -> None:
    words = ["nice", "-n", "3", *Bounds().command(tmp_path, ["nice"])]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert int(subprocess.check_output(words)) == min(own + 3, 19)


def test_all_errors_of_a_compiler_are_shown_each_with_its_lines(tmp_path: Path) -> None:
    (tmp_path / "many.c").write_text("".join(f"int f{n}(void) {{ return unknown_{n}; }}\n" for n in range(40)))
    command = ["sh", "-c", "gcc -c many.c -o many.o; for n in $(seq 30); do echo make goes on $n; done; exit 1"]
    with pytest.raises(ImageError) as caught:
        build_root().run(command, tmp_path / "log", "Compiling", work=tmp_path)
    lines = str(caught.value).splitlines()
    assert all(any(f"error: 'unknown_{n}' undeclared" in line for line in lines) for n in range(40))
    assert all(any(f"return unknown_{n};" in line for line in lines) for n in range(40))
    assert "make goes on" not in str(caught.value)


RUST = """\
   Compiling endpoint v0.1.0 (/build)
error[E0308]: mismatched types
  --> src/main.rs:4:18
   |
4  |     let x: u32 = "a";
   |            ---   ^^^ expected `u32`, found `&str`

warning: unused variable: `y`
 --> src/main.rs:9:9

error[E0425]: cannot find value `z` in this scope
 --> src/main.rs:12:5

error: could not compile `endpoint` (bin "endpoint") due to 2 previous errors
"""
GO = "# endpoint\n./library.go:12:2: undefined: dial\n./library.go:30:9: not enough return values\n\thave ()\n"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (RUST, [line for line in RUST.splitlines() if line and "Comp" not in line and "9:9" not in line][:-1]),
        (GO, GO.splitlines()[1:]),
        ("a\nb\n", ["a", "b"]),
    ],
    ids=["rustc", "go", "no compiler"],
)
def test_errors_are_found_in_what_rust_and_go_print(printed: str, shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "printed").write_text(printed)
    with pytest.raises(ImageError) as caught:
        logged(["sh", "-c", f"cat {tmp_path}/printed; exit 1"], tmp_path / "log", "Compiling")
    lines = [line[4:] for line in str(caught.value).splitlines()[1:]]
    assert [line for line in shown if not line.startswith("warning")] == [
        line for line in lines if not line.startswith("error: could not compile")
    ]


AS_ANOTHER = """\
import os, sys
from pathlib import Path
from images.cache import Store, project_root
from images.errors import ImageError
if os.geteuid() == 0:
    os.seteuid(65534)
store = Store(Path(sys.argv[1]))
def build(folder): raise AssertionError
print(store.ensure("kind", "there", build).name)
try:
    store.ensure("kind", "missing", build)
except ImageError as error:
    print(error)
"""


def test_who_may_only_read_the_store_uses_what_is_there_and_is_told_what_is_not(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        if os.geteuid() == 0:
            folder.chmod(0o755)
    root = tmp_path / "store"
    Store(root).ensure("kind", "there", lambda folder: (folder / "file").touch())
    root.chmod(0o555)
    words = [sys.executable, "-c", AS_ANOTHER, str(root)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    root.chmod(0o755)
    assert done.stderr == ""
    there, missing = done.stdout.splitlines()
    assert there == "there"
    assert missing.startswith(
        f"kind/missing is needed and would have to be built: this user cannot write {root}, which belongs to "
    )
    assert missing.endswith("builds, or TESTBED_CACHE names another")


@pytest.mark.parametrize("name", ["quinn", "librqbit-utp"])
def test_a_build_of_crates_says_of_how_many(name: str) -> None:
    """Locks are written in either form that TOML has for a list of tables."""
    told: list[str] = []
    folder = project_root() / "images/implementations" / name
    programs._tell(told.append, name, [folder], "Compiling a v1.0\nCompiling b v2.0\n", "cargo", 30.0)
    (most,) = re.findall(r"\(crate 2 of at most (\d+)\)", told[0])
    assert int(most) > 30


@pytest.mark.parametrize("lock", ["= 1\n", "version = 4\n", "package = 3\n"])
def test_a_lock_that_is_none_ends_no_build(tmp_path: Path, lock: str) -> None:
    told: list[str] = []
    (tmp_path / "Cargo.lock").write_text(lock)
    programs._tell(told.append, "mine", [tmp_path], "Compiling my own things\n", "sh", 30.0)
    assert told == ["mine: building for 0.5 min, with `sh`: Compiling my own things"]
