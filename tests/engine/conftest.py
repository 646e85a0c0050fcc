"""Real guests for the tests of the engine; nothing is mocked."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images
from engine.images import PROJECT
from images import index
from images.cache import default_root
from scenarios import implementations
from tests.trial import trial

SHORT = """\
experiment: short
title: One TCP and one LEDBAT flow for a few seconds
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: tcp, implementation: tcp-aimd, from: s1, to: d1, start: 0s}
  - {name: ledbat, implementation: tcp-ledbat-draft00, from: s2, to: d2, start: 0s}
events:
  - {at: 2s, on: bottleneck, rate: 5mbit}
  - {at: 3s, on: path, delay: {forward: 40ms}}
start_jitter: 10ms
duration: 5s
captures: [bottleneck-in, bottleneck-out]
keep_captures: true
seeds: {complete: 2, quick: 1}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A scenario of a few seconds, without switches."""
    return trial(tmp_path, SHORT)


@pytest.fixture
def sabotage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], None]:
    """Give guests a copy of the project's code in which a text of a file is replaced by another."""
    copy = tmp_path / "code"

    def replace(file: str, text: str, by: str) -> None:
        if not copy.exists():
            for package in ("engine", "topologies"):
                shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
        source = (copy / file).read_text()
        assert text in source
        (copy / file).write_text(source.replace(text, by))
        monkeypatch.setattr(images, "PROJECT", copy)

    return replace


@pytest.fixture
def own_implementations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder instead of images/implementations, and a separate cache for what is built from it."""
    folder, cache = tmp_path / "implementations", tmp_path / "cache"
    folder.mkdir()
    cache.mkdir()
    for kind in ("kernels", "modules", "rootfs", "tools"):
        (cache / kind).symlink_to(default_root() / kind)
    (cache / "images").mkdir()
    shutil.copy(images.index_of(index.BOOT), cache / "images")
    monkeypatch.setenv("TESTBED_CACHE", str(cache))
    monkeypatch.setattr(implementations, "IMPLEMENTATIONS", folder)
    images.program.cache_clear()
    return folder
