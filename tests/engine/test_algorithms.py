"""A congestion control of one's own: docs/howto/adding-an-algorithm.md builds, from files or an archive, and runs."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine import images
from engine.images import PROJECT
from images import module
from images.errors import ImageError
from images.kernel.build import Kernel
from testbed.cli import main
from tests.images.building import build_root, store_with_build_root

PAGE = (PROJECT / "docs" / "howto" / "adding-an-algorithm.md").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The page's module, in a place of its own."""
    shown = dict(re.findall(r"`images/(tcp_mine/[\w.]+)`.*?```\w+\n(.*?)```", PAGE, re.DOTALL))
    assert set(shown) == {"tcp_mine/tcp_mine.c", "tcp_mine/Kbuild"}
    (tmp_path / "tcp_mine").mkdir()
    for name, text in shown.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "HERE", tmp_path)
    return tmp_path / "tcp_mine"


@pytest.fixture
def build(tmp_path: Path) -> Callable[[], Path]:
    """Compiles the module for the guest's kernel, into a store of its own."""
    store, about = store_with_build_root(tmp_path / "store"), images.load().provenance["kernel"]
    kernel = Kernel(images.load().kernel.parent, about["digest"], about["source"])
    return lambda: module.build(store, print, build_root(), "tcp_mine", kernel)[0]


def test_the_page_shows_a_module_that_runs(
    folder: Path,
    build: Callable[[], Path],
    own_implementations: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    [description] = re.findall(
        r"`images/implementations/tcp-mine/implementation.yaml`.*?```yaml\n(.*?)```", PAGE, re.DOTALL
    )
    (own_implementations / "tcp-mine").mkdir()
    (own_implementations / "tcp-mine/implementation.yaml").write_text(description)
    built = images.load()
    monkeypatch.setattr(images, "load", lambda: replace(built, modules={**built.modules, "tcp_mine": build()}))

    [(name, scenario)] = re.findall(r"`(trial/algorithm.yaml)`:\n\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path(name).parent.mkdir()
    Path(name).write_text(scenario)
    [run] = re.findall(r"^testbed (run .*)$", PAGE, re.MULTILINE)
    assert main(run.split()) == 0
    [observe] = re.findall(r"^testbed (observe .*)$", PAGE, re.MULTILINE)
    assert main(observe.split()) == 0
    seen = json.loads((tmp_path / observe.split()[1] / "observation.json").read_text())["flows"]["it"]
    assert seen["in_flight_pkts"]["max"] == 20


def test_an_archive_gives_the_same_module_and_files_beside_it_win(folder: Path, build: Callable[[], Path]) -> None:
    from_files = build().read_bytes()
    with tarfile.open(folder / "source.tar.gz", "w:gz") as archive:
        archive.add(folder / "tcp_mine.c", "theirs-1.0/tcp_mine.c")
        archive.add(folder / "Kbuild", "theirs-1.0/Kbuild")
    (folder / "tcp_mine.c").unlink()
    (folder / "Kbuild").unlink()
    assert build().read_bytes() == from_files

    (folder / "Kbuild").write_text("obj-m := tcp_other.o\ntcp_other-y := tcp_mine.o\n")
    with pytest.raises(ImageError, match=r"compiling gave tcp_other\.ko; allowed: tcp_mine\.ko"):
        build()
