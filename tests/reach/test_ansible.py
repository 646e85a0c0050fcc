"""The Ansible roles as far as they can be judged without a machine to change."""

import shutil
import subprocess

import pytest

from engine.images import PROJECT

FOLDER = PROJECT / "images" / "ansible"


@pytest.mark.skipif(shutil.which("ansible-lint") is None, reason="ansible-lint is not installed")
def test_the_roles_pass_the_linter_at_production() -> None:
    command = ["ansible-lint", "--offline", "--profile", "production"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("ansible-playbook") is None, reason="ansible is not installed")
@pytest.mark.parametrize("inventory", ["one-machine", "laboratory"])
def test_the_playbook_parses_with_each_inventory(inventory: str) -> None:
    command = ["ansible-playbook", "-i", f"inventory/{inventory}.yml", "--syntax-check", "site.yml"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
