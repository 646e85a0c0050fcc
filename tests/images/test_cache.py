# SPDX-License-Identifier: MIT
"""The store: entries are complete, damage is noticed, one build runs at a time."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from images.cache import Store, digest_of, first_difference, remove


class Builder:
    """Builds an entry with a file, an executable and a link, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "file").write_text("content")
        (folder / "deep").mkdir()
        (folder / "deep" / "program").write_text("#!/bin/sh")
        (folder / "deep" / "program").chmod(0o755)
        (folder / "link").symlink_to("file")


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, said: list[str]) -> Store:
    return Store(tmp_path / "store", said.append)


def leftovers(store: Store) -> list[str]:
    return [path.name for path in (store.root / "kind").glob("*")] if (store.root / "kind").exists() else []


def test_an_entry_is_built_once(store: Store, said: list[str]) -> None:
    build = Builder()
    entry = store.ensure("kind", "d1", build)
    assert store.ensure("kind", "d1", build) == entry
    assert (entry / "file").read_text() == "content"
    assert (build.calls, said) == (1, [])


def change(entry: Path) -> None:
    (entry / "file").write_text("Content")


def truncate(entry: Path) -> None:
    (entry / "file").write_text("")


def lose(entry: Path) -> None:
    (entry / "deep" / "program").unlink()


def lose_mode(entry: Path) -> None:
    (entry / "deep" / "program").chmod(0o644)


def add(entry: Path) -> None:
    (entry / "deep" / "extra").touch()


def redirect(entry: Path) -> None:
    (entry / "link").unlink()
    (entry / "link").symlink_to("/etc/passwd")


def lose_manifest(entry: Path) -> None:
    (entry / "manifest.json").unlink()


def garble_manifest(entry: Path) -> None:
    (entry / "manifest.json").write_text("{")


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (change, "file has changed"),
        (truncate, "file has changed"),
        (lose, "deep/program is gone"),
        (lose_mode, "deep/program has changed"),
        (add, "deep/extra was added"),
        (redirect, "link has changed"),
        (lose_manifest, "no readable manifest"),
        (garble_manifest, "no readable manifest"),
    ],
)
def test_a_damaged_entry_is_built_again_with_a_message(
    store: Store, said: list[str], damage: Callable[[Path], None], words: str
) -> None:
    build = Builder()
    damage(store.ensure("kind", "d1", build))
    entry = store.ensure("kind", "d1", build)
    assert build.calls == 2
    assert said == [f"kind/d1 is damaged ({words}): building it again"]
    assert first_difference(entry) is None


def test_a_failed_build_leaves_nothing(store: Store) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        store.ensure("kind", "d1", fail)
    assert leftovers(store) == []
    assert not store.has("kind", "d1")


def test_a_killed_build_is_no_entry_and_its_rest_goes_with_the_next(store: Store) -> None:
    program = (
        "import sys, time; from pathlib import Path; from images.cache import Store\n"
        "def build(folder):\n    (folder / 'half').touch(); print('building', flush=True); time.sleep(60)\n"
        "Store(Path(sys.argv[1])).ensure('kind', 'd1', build)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, store.root], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
    assert not store.has("kind", "d1")
    entry = store.ensure("kind", "d1", Builder())
    assert leftovers(store) == ["d1"]
    assert not (entry / "half").exists()


def test_two_builds_of_one_entry_do_not_collide(store: Store) -> None:
    calls = []

    def slow(folder: Path) -> None:
        calls.append(folder)
        time.sleep(0.2)
        Builder()(folder)

    threads = [threading.Thread(target=store.ensure, args=("kind", "d1", slow)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_who_waits_for_another_process_says_for_whom_and_since_when(store: Store, said: list[str]) -> None:
    program = (
        "import sys; from pathlib import Path; from images.cache import Store\n"
        "def build(folder):\n    (folder / 'file').touch(); print('building', flush=True); sys.stdin.readline()\n"
        "Store(Path(sys.argv[1])).ensure('kind', 'd1', build)\n"
    )
    words = [sys.executable, "-c", program, str(store.root)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin
        assert other.stdout
        other.stdout.readline()

        def say(line: str) -> None:
            said.append(line)
            other.stdin.close()  # type: ignore[union-attr]

        Store(store.root, say).ensure("kind", "d1", Builder())
    told = (
        rf"Waiting for process {other.pid} \(`python.*`, since [-0-9]{{10}} [:0-9]{{8}}\), which is building kind/d1\."
    )
    assert len(said) == 1
    assert re.fullmatch(told, said[0], re.DOTALL)


def test_who_finds_an_entry_whole_waits_for_nobody(store: Store, said: list[str]) -> None:
    entry = store.ensure("kind", "d1", Builder())
    with (store.root / "locks" / "kind-d1").open("a+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert Store(store.root, said.append).ensure("kind", "d1", Builder()) == entry
    assert said == []


def test_pruning_keeps_what_it_is_told_to(store: Store, said: list[str]) -> None:
    kept = store.ensure("kind", digest_of("kept"), Builder())
    Store(store.root).ensure("kind", digest_of("of another version"), Builder())
    store.prune({kept})
    assert [entry for entry in kept.parent.iterdir() if not entry.name.startswith(".")] == [kept]
    assert said == [f"kind/{digest_of('of another version')[:12]}: removed"]


def test_digest_follows_values_and_not_the_order_of_keys() -> None:
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of({"a": 1, "b": 2}) != digest_of({"a": 1, "b": 3})


def test_remove_takes_read_only_folders_and_leaves_what_links_point_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    folder = tmp_path / "folder" / "closed"
    folder.mkdir(parents=True)
    (folder / "file").touch()
    (folder / "link").symlink_to(tmp_path / "kept")
    folder.chmod(0o500)
    remove(tmp_path / "folder")
    remove(tmp_path / "never")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
