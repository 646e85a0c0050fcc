# SPDX-License-Identifier: MIT
"""What a store lists for a checkout's sources, and what is kept when several checkouts share a store."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images
from engine.errors import EngineError
from images import __main__ as command
from images import index
from images.cache import Store, project_root

ROOT = project_root()
Checkout = Callable[[str], Path]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that checkouts share."""
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "store"))
    return Store(tmp_path / "store", lambda said: None)


@pytest.fixture
def work_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Act as a checkout of this name, which holds a part of the project's sources."""

    def change(name: str) -> Path:
        folder = tmp_path / name
        if not folder.exists():
            for part in ("engine/guest", "topologies", "images/tcp_ledbat", "images/implementations"):
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            shutil.copy(ROOT / "images/guest_tools.py", folder / "images")
        monkeypatch.setattr(index, "project_root", lambda: folder)
        return folder

    return change


def built(root: Path, name: str, what: str) -> Path:
    """Let a checkout build something; its entry in the store."""
    store = Store(root, lambda said: None)

    def build(folder: Path) -> None:
        (folder / "linux").write_text(what)

    entry = store.ensure("kernels", what, build)
    index.write(store, index.path(root, name), {"kernel": {"path": str(entry / "linux"), "digest": what}})
    index.register(root)
    return entry


def test_what_boots_in_qemu_depends_on_what_replaces_programs_there(store: Store, work_in: Checkout) -> None:
    folder = work_in("mine")
    built(store.root, index.BOOT, "kernel")
    kept = built(store.root, index.STOCK, "stock")
    command.prune(store)
    assert kept.exists()
    (folder / "engine/guest/init.sh").write_text("another\n")
    assert index.path(store.root, index.BOOT).exists()
    assert not index.path(store.root, index.STOCK).exists()
    with pytest.raises(
        EngineError, match=r"what the qemu backend boots has not been built .*: `python -m images --stock`"
    ):
        images.stock()


def test_what_changes_during_a_build_is_not_listed_as_built(store: Store, work_in: Checkout) -> None:
    folder = work_in("mine")
    listed = index.path(store.root, index.BOOT)
    (folder / "images/tcp_ledbat/tcp_ledbat.c").write_text("another\n")
    assert index.write(store, listed, {}).exists()
    assert not index.path(store.root, index.BOOT).exists()


def test_what_was_built_of_other_sources_is_not_found(store: Store, work_in: Checkout) -> None:
    folder = work_in("mine")
    built(store.root, index.BOOT, "kernel")
    assert index.read(index.path(store.root, index.BOOT))["kernel"]["path"] == "kernels/kernel/linux"
    for file in ("images/tcp_ledbat/tcp_ledbat.c", "engine/guest/init.c"):
        before = (folder / file).read_bytes()
        (folder / file).write_bytes(before + b"\n")
        images.load.cache_clear()
        with pytest.raises(EngineError, match="not been built from the sources as they are now: `make images`"):
            images.load()
        (folder / file).write_bytes(before)
        assert index.path(store.root, index.BOOT).exists()
    # a program has sources of its own
    (folder / "images/implementations/libutp/endpoint.cpp").write_text("")
    assert index.path(store.root, index.BOOT).exists()


OF_ONE_KIND = {
    "rootfs/lab/packages.lock": index.LAB,
    "rootfs/layer.sh": index.LAB,
    "kernel/lab.config": index.LAB,
    "kernel/tcp_probe/tcp_probe.c": index.LAB,
    "stock/packages.lock": index.STOCK,
}


@pytest.mark.parametrize(("name", "kind"), OF_ONE_KIND.items())
def test_what_one_kind_of_images_has_alone_makes_no_other_out_of_date(name: str, kind: str, work_in: Checkout) -> None:
    """A build may renew a lock after the others were built."""
    file = work_in("mine") / "images" / name
    before = index.names()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    after = index.names()
    assert {name for name in before if before[name] != after[name]} == {kind}


def test_a_program_depends_on_what_it_extends(work_in: Checkout) -> None:
    folder = work_in("mine")
    before = index.names()
    file = folder / "images/implementations/libutp/udp.h"
    file.write_text(file.read_text() + "\n")
    after = index.names()
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"libutp", "libutp-alpha1", "libutp-alpha2", "libutp-beta1"}


def test_versions_are_programs_of_their_own(work_in: Checkout) -> None:
    folder = work_in("mine")
    before = index.names()
    assert before["libtorrent@2.0.9"] != before["libtorrent@2.0.7"]
    assert not {"transmission@3.00", "libtorrent@2.1.1"} & before.keys(), "they are folders"
    file = folder / "images/implementations/libtorrent/build"
    file.write_text(file.read_text() + "\n")
    after = index.names()
    assert {"libtorrent", "libtorrent@2.0.9"} <= {name for name in before if before[name] != after[name]}


def test_a_pack_takes_the_programs_of_this_checkout_and_names_the_others(store: Store, work_in: Checkout) -> None:
    theirs = work_in("theirs")
    (theirs / "images/implementations/libutp/endpoint.cpp").write_text("")
    built(store.root, "libutp", "their-libutp")
    work_in("mine")
    built(store.root, "utp-rs", "my-utp-rs")
    said: list[str] = []
    assert command.packed(store.root, said.append) == ["utp-rs"]
    assert said == ["left out, as built from other sources: libutp (`python -m images libutp` renews it)"]


def test_a_store_may_be_moved(store: Store, work_in: Checkout, tmp_path: Path) -> None:
    work_in("mine")
    entry = built(store.root, index.BOOT, "kernel")
    assert str(tmp_path) not in index.path(store.root, index.BOOT).read_text()
    listed = json.loads(index.path(store.root, index.BOOT).read_text())
    assert store.root / listed["kernel"]["path"] == entry / "linux"


def test_pruning_spares_what_another_checkout_boots(store: Store, work_in: Checkout) -> None:
    theirs = work_in("theirs")
    (theirs / "images/tcp_ledbat/tcp_ledbat.c").write_text("")
    of_theirs = [built(store.root, index.BOOT, "their-kernel"), built(store.root, "libutp", "their-libutp")]
    work_in("mine")
    old = built(store.root, index.DEBUG, "old")
    index.path(store.root, index.DEBUG).rename(store.root / "images/debug-0123456789abcdef.json")
    own = built(store.root, index.BOOT, "my-kernel")
    command.prune(store)
    assert all(entry.exists() for entry in (*of_theirs, own))
    assert not old.exists()
    # a checkout that is gone uses nothing; the sources of its program are those of this one
    shutil.rmtree(theirs)
    command.prune(store)
    assert [entry.exists() for entry in (own, *of_theirs)] == [True, False, True]


def test_what_everything_is_compiled_with_is_a_source_of_all(work_in: Checkout) -> None:
    folder = work_in("mine")
    before = index.names()
    (folder / "images" / "build-packages.lock").write_text("{}")
    assert not set(before.values()) & set(index.names().values())
