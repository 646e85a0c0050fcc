# SPDX-License-Identifier: MIT
"""What was built is compared when it is read: one bit that differs is named, and is due again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine import images
from engine.errors import EngineError
from images import index, stamps
from images.cache import Store, difference

PROGRAM = "libutp"
CONTENT = b"as it was built, in more than one byte"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: set[str]) -> Iterator[Store]:
    """A store with small files in place of what boots and of a program with a root."""
    asked.add(PROGRAM)
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    store = Store(tmp_path, lambda _: None)

    def entry(kind: str, *files: str) -> Path:
        def make(folder: Path) -> None:
            for name in files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(CONTENT)

        return store.ensure(kind, "a" * 64, make)

    boots = {"kernel": {"path": str(entry("kernels", "linux") / "linux"), "digest": "k", "seccomp": True}}
    boots["tools"] = {"path": str(entry("tools", "init")), "digest": "t"}
    boots["rootfs"] = {"path": str(entry("rootfs", "root/usr/bin/python3") / "root"), "digest": "r"}
    boots["module:tcp_ledbat"] = {"path": str(entry("modules", "tcp_ledbat.ko") / "tcp_ledbat.ko"), "digest": "m"}
    index.write(store, index.path(tmp_path, index.BOOT), boots)
    files, root = entry("programs", "files/endpoint"), entry("roots", "root/usr/lib/libc.so")
    program = {"files": str(files / "files"), "digest": "p", "root": str(root / "root"), "root_digest": "q"}
    index.write(store, index.path(tmp_path, PROGRAM), program)
    yield store
    images.load.cache_clear()  # later tests in this process load the project's
    images.program.cache_clear()


def load() -> None:
    images.load.cache_clear()
    images.load()


def program() -> None:
    images.program.cache_clear()
    images.program(PROGRAM)


def flip(file: Path) -> None:
    """One bit, with the size and the time of the last modification as before."""
    before = file.stat()
    with file.open("r+b") as stream:
        stream.write(bytes([CONTENT[0] ^ 1]))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize(
    ("place", "read", "named", "remedy"),
    [
        ("kernels/*/linux", load, "linux has changed", "make images"),
        ("tools/*/init", load, "init has changed", "make images"),
        ("modules/*/tcp_ledbat.ko", load, "tcp_ledbat.ko has changed", "make images"),
        ("rootfs/*/root/usr/bin/python3", load, ": root/usr/bin/python3 has changed", "make images"),
        ("programs/*/files/endpoint", program, ": files/endpoint has changed", f"python -m images {PROGRAM}"),
        ("roots/*/root/usr/lib/libc.so", program, ": root/usr/lib/libc.so has changed", f"python -m images {PROGRAM}"),
    ],
)
def test_one_bit_is_named_and_due_again(
    store: Store, place: str, read: Callable[[], None], named: str, remedy: str
) -> None:
    """A program or a root with one bit flipped used to give other results with status 0."""
    read()
    [file] = store.root.glob(place)
    flip(file)
    with pytest.raises(EngineError, match=rf"{named} since it was built: `{remedy}` builds it again"):
        read()
    with pytest.raises(EngineError, match=r"not been built from the sources as they are now"):
        read()


def test_all_bytes_are_compared_once(store: Store) -> None:
    """Afterwards only the stamps are; one that differs for no reason is taken anew."""
    [entry] = store.root.glob("rootfs/*")
    assert stamps.noted(store.root, entry) == stamps.of(entry)
    (entry / "root/usr/bin/python3").chmod(0o640)
    assert stamps.noted(store.root, entry) != stamps.of(entry)
    load()
    assert stamps.noted(store.root, entry) == stamps.of(entry)
    for change in ((entry / "root/new").touch, (entry / "root/usr/bin/python3").unlink):
        change()
        assert difference(store.root, entry / "root")


def test_a_store_that_cannot_be_written_has_its_stamps_elsewhere(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a container: reading all bytes for each run's process would take 450 ms of CPU."""
    [entry] = store.root.glob("rootfs/*")
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    assert stamps.noted(store.root, entry) == ""
    load()
    assert stamps.noted(store.root, entry) == stamps.of(entry)
    if os.geteuid() == 0:
        [kept] = tmp_path.glob(f"elsewhere/*/rootfs-{entry.name}")
        os.chown(kept, 65534, 65534)
        assert stamps.noted(store.root, entry) == "", "another user's"


def test_an_index_that_changed_is_refused(store: Store) -> None:
    listed = index.path(store.root, PROGRAM)
    listed.write_text(listed.read_text().replace('"digest": "p"', '"digest": "o"'))
    with pytest.raises(
        EngineError, match=rf"is not what `python -m images {PROGRAM}` writes \(its digest is another\)"
    ):
        program()
