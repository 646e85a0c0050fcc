# SPDX-License-Identifier: MIT
"""Packs: unpacking gives back what was packed, and a foreign pack does no harm."""

from __future__ import annotations

import compileall
import hashlib
import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from images import __main__ as command
from images import pack, tars
from images.cache import MANIFEST, Store, first_difference, manifest_of
from images.errors import ImageError
from images.rootfs import build as rootfs
from tests.images.saved import Entry, entry, folder, symlink

DIGEST = hashlib.sha256(b"entry").hexdigest()
NAME = f"kernels/{DIGEST}"
ROOT = f"rootfs/{DIGEST}"


def _build(into: Path) -> None:
    (into / "root" / "bin").mkdir(parents=True)
    (into / "root" / "bin" / "program").write_text("#!/bin/sh")
    (into / "root" / "bin" / "program").chmod(0o4755)
    os.link(into / "root" / "bin" / "program", into / "root" / "bin" / "second")
    (into / "root" / "link").symlink_to("/bin/program")
    os.utime(into / "root" / "bin" / "program", (1_000_000_000, 1_000_000_000))


def _quiet(_: str) -> None:
    pass


def test_a_pack_holds_what_was_asked_for_and_comes_back_as_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path / "one", _quiet)
    Store(store.root, _quiet).ensure("rootfs", hashlib.sha256(b"of another version").hexdigest(), _build)
    there = store.ensure("rootfs", DIGEST, _build)
    store.ensure("build-roots", DIGEST, _build)
    pack.pack(store, _quiet, ["libutp"], ["lab"], tmp_path / "pack")
    pack.pack(store, _quiet, ["libutp"], ["lab"], tmp_path / "again")
    assert (tmp_path / "pack").read_bytes() == (tmp_path / "again").read_bytes()

    other = Store(tmp_path / "two", _quiet)
    about = pack.unpack(other, _quiet, tmp_path / "pack")
    assert (about.programs, about.kinds) == (["libutp"], ["lab"])
    here = other.path("rootfs", DIGEST)
    assert sorted(path.relative_to(other.root).as_posix() for path in other.root.glob("*/*")) == sorted(
        [f"locks/rootfs-{DIGEST}", f"stamps/rootfs-{DIGEST}", ROOT]
    )
    assert manifest_of(here) == manifest_of(there)
    assert first_difference(here) is None
    program = (here / "root" / "bin" / "program").stat()
    assert (program.st_mtime, program.st_mode & 0o7777) == (1_000_000_000, 0o755)


def test_what_a_killed_call_unpacked_is_removed(tmp_path: Path) -> None:
    store = Store(tmp_path / "one", _quiet)
    store.ensure("rootfs", DIGEST, _build)
    pack.pack(store, _quiet, [], [], tmp_path / "pack")
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead, alive = (tmp_path / f"two/.unpacking-{pid}-x" for pid in (ended.pid, os.getppid()))
    for left in (dead, alive):
        _build(left / "rootfs")
    pack.unpack(Store(tmp_path / "two", _quiet), _quiet, tmp_path / "pack")
    assert (dead.exists(), alive.exists()) == (False, True)


PACKS = """
import hashlib, os, sys
from pathlib import Path
from images import pack
from images.cache import Store

store = Store(Path(sys.argv[1]), print)
large = os.urandom(1 << 26)  # takes xz half a minute
store.ensure("rootfs", hashlib.sha256(b"entry").hexdigest(), lambda into: (into / "large").write_bytes(large))
pack.pack(store, lambda _: None, [], [], Path(sys.argv[2]))
"""


def test_a_killed_call_leaves_no_pack_and_none_writes_into_anothers(tmp_path: Path) -> None:
    """The next call removes what is left."""
    command = [sys.executable, "-c", PACKS, str(tmp_path / "one"), str(tmp_path / "pack")]
    for _ in range(2):
        killed = subprocess.Popen(command, cwd=Path(pack.__file__).parents[1], stdout=subprocess.DEVNULL)
        while killed.poll() is None and not list(tmp_path.glob(f".pack.{killed.pid}.new")):
            pass
        killed.kill()
        assert killed.wait() == -9
        assert [file.name for file in tmp_path.glob(".pack.*")] == [f".pack.{killed.pid}.new"]
        assert not (tmp_path / "pack").exists()
    store = Store(tmp_path / "small", _quiet)
    store.ensure("rootfs", DIGEST, _build)
    draft = tmp_path / f".pack.{os.getppid()}.new"  # of another call that is at work
    draft.touch()
    pack.pack(store, _quiet, ["a"], [], tmp_path / "pack")
    assert sorted(file.name for file in tmp_path.glob("*pack*")) == [draft.name, "pack"]
    assert pack.unpack(Store(tmp_path / "two", _quiet), _quiet, tmp_path / "pack").programs == ["a"]


def test_an_entry_that_the_store_has_is_left_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", _quiet)
    before = store.ensure("rootfs", DIGEST, _build).stat().st_ino
    pack.pack(store, _quiet, [], [], tmp_path / "pack")
    pack.unpack(store, _quiet, tmp_path / "pack")
    assert store.path("rootfs", DIGEST).stat().st_ino == before


def test_a_closed_store_says_why_nothing_is_built(tmp_path: Path) -> None:
    store = Store(tmp_path, _quiet, closed="the pack is of another version")
    with pytest.raises(ImageError, match=r"kernels/d1 is needed and .* built: the pack is of another version"):
        store.ensure("kernels", "d1", _build)


def _write(file: Path, *members: Entry, entries: object = (NAME,), manifest: dict[str, str] | None = None) -> None:
    """A pack with these members in it, and the manifest of its entry."""
    about = json.dumps({"commit": "", "programs": [], "kinds": [], "entries": entries}).encode()
    rest = () if manifest is None else (entry(f"{NAME}/{MANIFEST}", json.dumps(manifest).encode()),)
    with lzma.open(file, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for member, content in (entry(pack.ABOUT, about), *members, *rest):
            archive.addfile(member, io.BytesIO(content))


def _fifo() -> Entry:
    return entry(f"{NAME}/pipe", kind=tarfile.FIFOTYPE)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([entry("../evil")], "belongs to no entry"),
        ([entry("/evil")], "belongs to no entry"),
        ([entry(f"{NAME}/../../evil")], "belongs to no entry"),
        ([entry(f"kernels/{'0' * 64}/evil")], "belongs to no entry"),
        ([entry("loose")], "belongs to no entry"),
        ([symlink(NAME, "/")], "comes twice"),
        ([symlink(f"{NAME}/out", "/"), entry(f"{NAME}/out/evil")], "belongs to no entry"),
        ([symlink(f"{NAME}/out", "/"), symlink(f"{NAME}/out/evil", "x")], "belongs to no entry"),
        ([symlink(f"{NAME}/out", ".."), folder(f"{NAME}/out"), entry(f"{NAME}/out/evil")], "comes twice"),
        ([entry(f"{NAME}/file"), entry(f"{NAME}/file")], "comes twice"),
        ([symlink(f"{NAME}/out", "/etc/passwd")], "leads out of the entry"),
        ([symlink(f"{NAME}/out", "../../..")], "leads out of the entry"),
        (
            [folder(f"{NAME}/a"), symlink(f"{NAME}/a/top", ".."), symlink(f"{NAME}/out", "a/top/../x")],
            "leads out of the entry",
        ),
        ([entry(f"{NAME}/hard", kind=tarfile.LNKTYPE, link="/etc/passwd")], "neither a file"),
        ([_fifo()], "neither a file"),
        ([entry(f"{NAME}/file", b"changed")], "is damaged: file has changed"),
        ([], "is damaged: file is gone"),
        ([entry(f"{NAME}/file"), entry(f"{NAME}/more")], "is damaged: "),
    ],
)
def test_what_does_not_belong_there_is_refused_and_nothing_is_left(
    tmp_path: Path, members: list[Entry], words: str
) -> None:
    _write(tmp_path / "pack", *members, manifest={"file": hashlib.sha256(b"").hexdigest()})
    store = Store(tmp_path / "below" / "store", _quiet)
    with pytest.raises(ImageError, match=words):
        pack.unpack(store, _quiet, tmp_path / "pack")
    assert [path.name for path in (tmp_path / "below").rglob("*")] == ["store"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["below", "pack"]


def test_a_small_pack_takes_not_the_whole_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tars, "MOST_BYTES", 1 << 20)
    _write(tmp_path / "pack", entry(f"{NAME}/file", bytes(1 << 20)), manifest={"file": "0"})
    store = Store(tmp_path / "store", _quiet)
    with pytest.raises(ImageError, match="pack: unpacked it takes more than is allowed"):
        pack.unpack(store, _quiet, tmp_path / "pack")
    assert list(store.root.iterdir()) == []


def _cut(whole: bytes) -> bytes:
    return whole[: len(whole) // 2]


def _flip(whole: bytes) -> bytes:
    middle = len(whole) // 2
    return whole[:middle] + bytes([whole[middle] ^ 0xFF]) + whole[middle + 1 :]


@pytest.mark.parametrize("damage", [_cut, _flip, lambda _: b"", lambda _: b"text", lambda _: lzma.compress(b"text")])
def test_a_damaged_file_is_told_in_a_sentence(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    noise = os.urandom(10_000)
    _write(tmp_path / "pack", entry(f"{NAME}/file", noise), manifest={"file": hashlib.sha256(noise).hexdigest()})
    (tmp_path / "pack").write_bytes(damage((tmp_path / "pack").read_bytes()))
    with pytest.raises(ImageError, match="pack"):
        pack.unpack(Store(tmp_path / "store", _quiet), _quiet, tmp_path / "pack")
    assert list((tmp_path / "store").iterdir()) == []


def test_a_file_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 28}]
    (tmp_path / "pack").write_bytes(lzma.compress(b"content", filters=filters))
    with pytest.raises(ImageError, match="Memory usage limit exceeded"):
        pack.unpack(Store(tmp_path / "store", _quiet), _quiet, tmp_path / "pack")


@pytest.mark.parametrize("entries", [["../.."], ["kernels/abc"], [f"/{NAME}"], 5, [5]])
def test_names_of_entries_are_checked(tmp_path: Path, entries: object) -> None:
    _write(tmp_path / "pack", entries=entries)
    with pytest.raises(ImageError, match="is not what `python -m images pack` writes"):
        pack.unpack(Store(tmp_path / "store", _quiet), _quiet, tmp_path / "pack")


def test_a_description_nested_without_end_is_refused(tmp_path: Path) -> None:
    with lzma.open(tmp_path / "pack", "wb") as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        member, content = entry(pack.ABOUT, b"[" * 100_000)
        archive.addfile(member, io.BytesIO(content))
    with pytest.raises(ImageError, match="is not what `python -m images pack` writes"):
        pack.unpack(Store(tmp_path / "store", _quiet), _quiet, tmp_path / "pack")


def test_a_program_that_is_unknown_here_is_named_and_does_no_harm() -> None:
    said: list[str] = []
    assert command.known(["libutp", "never-heard-of"], said.append) == ["libutp"]
    assert said == ["unpacked, but unknown here: never-heard-of (--implementation FOLDER says where one lies)"]


def test_a_testbed_that_pip_has_installed_and_compiled_names_the_same_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needed() -> str:
        with pytest.raises(ImageError) as refused:
            rootfs.build_lab(Store(tmp_path / "empty", lambda said: None, closed="nothing is built"), lambda said: None)
        return str(refused.value)

    of_a_checkout = needed()
    installed = shutil.copytree(rootfs.LAB, tmp_path / "lab")
    monkeypatch.setattr(rootfs, "LAB", installed)
    compileall.compile_dir(installed, quiet=1)
    assert list(installed.rglob("*.pyc"))
    assert needed() == of_a_checkout
