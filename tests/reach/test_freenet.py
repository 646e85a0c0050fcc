"""docs/results/freenet.md: Freenet's transport at four versions against the reports of its tracker."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from images.cache import project_root

ROOT = project_root()
FREENET = ROOT / "tests" / "reach" / "freenet"
PAGE = ROOT / "docs" / "results" / "freenet.md"
LONGEST_S = 300
VERSIONS = ("0.1.90", "0.1.93", "0.1.94", "0.1.96")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder outside the project, with the crates, as the page makes it."""
    into = tmp_path_factory.mktemp("testing") / "freenet"
    shutil.copytree(FREENET / "freenet", into, ignore=shutil.ignore_patterns("*.crate"))
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for version in VERSIONS:
        subprocess.run(["cargo", "info", f"freenet@{version}"], capture_output=True, check=True)
        [crate] = cargo.glob(f"registry/cache/*/freenet-{version}.crate")
        shutil.copy(crate, into)
    given = [f"--implementation={into}", *(f"freenet@{version}" for version in VERSIONS)]
    subprocess.run([sys.executable, "-m", "images", *given], check=True)
    return into


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_breaks_the_budgets_that_the_page_says(version: str, folder: Path, tmp_path: Path) -> None:
    gate = [sys.executable, "-m", "testbed", "gate", f"{FREENET}/budgets.yaml", f"--implementation={folder}"]
    began = time.monotonic()
    done = subprocess.run([*gate, f"--client=freenet@{version}", f"--into={tmp_path}"], check=False)
    assert time.monotonic() - began < LONGEST_S
    outcomes = json.loads((tmp_path / f"freenet@{version}" / "gate.json").read_text())["outcomes"]
    cells = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| #")]
    said = {row[0].removeprefix("| "): row[1 + VERSIONS.index(version)].strip("| ") for row in cells}
    assert {each["name"] for each in outcomes if each["result"] == "passed"} == {
        name for name, result in said.items() if not result.startswith("**")
    }
    assert done.returncode == 1
