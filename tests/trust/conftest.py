"""Guests whose root is hostile, and guests to which something happens."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images, syscall_mode
from images import index
from scenarios.resolve import Cell, expand
from tests.engine.conftest import sabotage  # noqa: F401  a fixture
from tests.images.building import build_root
from tests.trial import trial

SHORT = """\
experiment: short
title: One TCP flow for a second
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
duration: 1s
captures: [bottleneck-out]
keep_captures: true
"""
AGENT = "engine/guest/agent.py"
DONE = 'outcome["status"] = "ok"\n'

Sabotage = Callable[[str, str, str], None]


def at_the_end(act: str) -> tuple[str, str, str]:
    """For `sabotage`: what the agent does when its scenario is carried out."""
    return AGENT, DONE, f"import os, subprocess; {act}\n        {DONE}"


@pytest.fixture(params=["0", "1"], ids=["in-its-processes", "by-stubs"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways in which calls reach a guest's kernel, as the environment asks for them."""
    if request.param == "0" and syscall_mode.lacking():
        pytest.skip("this host has nothing but stub processes")
    monkeypatch.setenv(syscall_mode.STUBS, request.param)
    return str(request.param)


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    return trial(tmp_path, SHORT)


@pytest.fixture
def cell(scenario: Path) -> Cell:
    return expand(scenario, "complete")[0]


@pytest.fixture(scope="session")
def hostile_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """hostile/hostile.c, compiled for the guest's kernel."""
    return _compiled(tmp_path_factory, index.BOOT)


@pytest.fixture(scope="session")
def hostile_lab_module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for the kernel of `testbed exec`."""
    return _compiled(tmp_path_factory, index.LAB)


def _compiled(tmp_path_factory: pytest.TempPathFactory, kind: str) -> Path:
    folder = tmp_path_factory.mktemp("module") / "hostile"
    shutil.copytree(Path(__file__).parent / "hostile", folder)
    tree = images.load(kind).kernel.parent / "tree"
    command = ["make", "-s", "-C", "/seen/tree", "M=/build", "ARCH=um", "modules"]
    log, see = folder.parent / "log", {"/seen/tree": tree}
    build_root().run(command, log, "Compiling the hostile module", work=folder, see=see)
    return folder / "hostile.ko"


@pytest.fixture
def attack(hostile_module: Path, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:  # noqa: F811
    """Let the guest load the hostile module, with the given parameters, once its scenario is carried out."""

    def prepare(**parameters: object) -> None:
        loaded = images.load()
        more = dataclasses.replace(loaded, modules={**loaded.modules, "hostile": hostile_module})
        monkeypatch.setattr(images, "load", lambda: more)
        words = ["insmod", "/opt/modules/hostile.ko", *(f"{name}={value}" for name, value in parameters.items())]
        sabotage(*at_the_end(f"subprocess.run({words}, check=True)"))

    return prepare
