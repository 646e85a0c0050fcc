"""The project's code for guests, compiled in advance."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images
from engine.errors import EngineError
from engine.run import execute, run_folder
from images import guest_code
from images.cache import Store
from scenarios.resolve import Cell, expand, resolve

Sabotage = Callable[[str, str, str], None]

UNCOMPILED = """\
import os, sys
            with open(f"{RESULTS}/logs/uncompiled", "w") as log:
                for name, module in sys.modules.items():
                    cached = getattr(module, "__cached__", None)
                    if cached and not os.path.exists(cached):
                        print(name, file=log)
            json.load(file)
"""


@pytest.fixture
def cell(scenario: Path) -> Cell:
    return expand(scenario, "complete")[0]


def test_no_guest_compiles_anything(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage("engine/guest/agent.py", "run = json.load(file)\n", f"run = json.load(file); file.seek(0); {UNCOMPILED}")
    execute(resolve(cell, 1), tmp_path / "runs")
    assert not (run_folder(tmp_path / "runs", cell, 1) / "logs" / "uncompiled").read_text()


def test_code_that_does_not_compile_is_named_before_anything_runs(
    cell: Cell, tmp_path: Path, sabotage: Sabotage
) -> None:
    sabotage("topologies/named/two_path.py", '"""', '"')
    with pytest.raises(EngineError, match=r"two_path\.py"):
        execute(resolve(cell, 1), tmp_path / "runs")


def test_code_that_is_there_is_asked_for_so_packs_have_it() -> None:
    boots = images.load()
    digest = boots.provenance["rootfs"]["digest"]
    there = images.guest_code(boots.rootfs, digest)
    store = Store(there.parents[1])
    assert guest_code.compiled(store, images.PROJECT, boots.rootfs, digest) == there
    assert store.asked_for == {there}


def test_a_cache_that_lacks_it_and_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boots = images.load()
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path))
    (tmp_path / "code").touch()
    with pytest.raises(EngineError, match=f"not compiled in {tmp_path}, which cannot be written"):
        images.guest_code(boots.rootfs, boots.provenance["rootfs"]["digest"])
