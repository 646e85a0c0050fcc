"""Which package of the project may know which others."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"analysis", "engine", "images", "scenarios", "tests", "topologies", "workflows"}
MAY_KNOW = {
    "topologies": set(),
    "scenarios": {"topologies"},
    "images": {"scenarios"},
    "engine": {"images", "scenarios", "topologies"},
    "analysis": {"scenarios"},
}


def imported(file: Path) -> Iterator[str]:
    """Full names of the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import"
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("package", MAY_KNOW)
def test_a_package_knows_only_those_below_it(package: str) -> None:
    for file in (ROOT / package).rglob("*.py"):
        known = {name.partition(".")[0] for name in imported(file)} & PACKAGES
        assert known - {package} <= MAY_KNOW[package], file


def test_what_runs_in_a_guest_knows_nothing_of_the_host() -> None:
    """A guest has these two folders, the standard library and Mininet."""
    for file in (ROOT / "engine" / "guest").rglob("*.py"):
        own = [name for name in imported(file) if name.partition(".")[0] in PACKAGES]
        assert all(name.startswith(("engine.guest.", "topologies.")) for name in own), file
