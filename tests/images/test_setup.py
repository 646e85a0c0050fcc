# SPDX-License-Identifier: MIT
"""`make`: what a newcomer's commands do on a machine that has nothing yet, and what they leave alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Call `make` in a folder that has of a clone what that reads."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    command = ["make", "--no-print-directory", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_quick_sets_up_the_host_then_environment_and_images_at_once(tmp_path: Path) -> None:
    """A clone that has nothing: no environment, no cache."""
    said = make(tmp_path, "--dry-run", "quick").stdout
    steps = [
        "engine.doctor --install",
        "--jobs 2 .venv/installed what-boots",
        "venv --clear .venv",
        "images.boot",
        "snakemake",
    ]
    assert all(step in said for step in steps), said
    places = [said.index(step) for step in steps]
    assert [places[0], places[1], places[-1]] == sorted([places[0], places[1], places[-1]])
    assert "--debug" not in said
    assert "--lab" not in said


def test_the_tests_have_all_kernels(tmp_path: Path) -> None:
    assert "-m images --debug --lab" in make(tmp_path, "--dry-run", "test").stdout
    assert "-m images  --lab" in make(tmp_path, "--dry-run", "test-reach").stdout
    assert "-m images --debug" in make(tmp_path, "--dry-run", "trial-mutants").stdout


def test_the_tests_on_other_machines_get_what_they_need_first(tmp_path: Path) -> None:
    said = make(tmp_path, "--dry-run", "test-reach").stdout
    steps = ["engine.doctor --install-for-reach", "tests/reach/requirements.txt", "images --stock", "tests/reach\n"]
    places = [said.rindex(step) for step in steps]
    assert places == sorted(places), said


def test_an_environment_that_is_there_is_no_news(tmp_path: Path) -> None:
    """Ansible's role counts what this command says as a change."""
    task = (ROOT / "images/ansible/roles/testbed/tasks/main.yml").read_text()
    assert "argv: [make, --silent, .venv/installed]" in task
    assert "changed_when: testbed_environment.stdout | length > 0" in task
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/pip").symlink_to("/bin/true")
    words = ["--silent", ".venv/installed", "--old-file", ".venv/locked", "--old-file", "pyproject.toml"]
    assert make(tmp_path, *words).stdout == "environment: installing the project itself\n"
    assert make(tmp_path, *words).stdout == ""


def test_what_boots_is_built_with_the_standard_library_alone() -> None:
    """The environment is being installed meanwhile."""
    code = "import images.boot, sys; print(*(name for name in sys.modules if '.' not in name))"
    words = [sys.executable, "-S", "-c", code]
    loaded = subprocess.check_output(words, cwd=ROOT, text=True).split()
    own = {"images", "common", "scenarios", "__main__"}
    assert {*loaded} - own <= {*sys.stdlib_module_names, "sitecustomize"}


def test_an_environment_that_make_has_not_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/own").touch()
    done = make(tmp_path, ".venv/installed", "PYTHON=false")
    assert done.returncode != 0
    assert "error: .venv was not made by `make env`, which would replace it: move it away\n" in done.stderr
    assert (tmp_path / ".venv/own").exists()
