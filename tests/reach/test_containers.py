"""The compose file, and the image where it has been built: `docker-compose build reproduce`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from engine.images import PROJECT

IMAGE = "ledbat-testbed"


def _compose() -> list[str] | None:
    """Either generation of compose."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    if shutil.which("docker"):
        done = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        return ["docker", "compose"] if done.returncode == 0 else None
    return None


def _image_is_there() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode == 0


needs_compose = pytest.mark.skipif(_compose() is None, reason="neither docker-compose nor docker compose is installed")


@needs_compose
def test_compose_reads_the_file_and_nothing_is_privileged() -> None:
    compose = _compose()
    assert compose
    done = subprocess.run([*compose, "config"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "privileged" not in done.stdout
    assert done.stdout.count("read_only: true") >= 2


@needs_compose
@pytest.mark.skipif(not _image_is_there(), reason=f"there is no image {IMAGE} (docker-compose build reproduce)")
def test_a_run_in_the_hardest_container(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    hardened = ["--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    memory = ["--tmpfs=/dev/shm:exec,size=2g", "--tmpfs=/tmp:exec,size=1g"]
    command = ["docker", "run", "--rm", *hardened, *memory, "--env=TESTBED_UNCONFINED=1", f"--volume={tmp_path}:/runs"]
    scenario = "workflows/studies/icccn/fig2a.yaml"
    words = ["--workdir=/testbed", "--entrypoint=testbed", IMAGE, "run", scenario, "--seed", "1", "--into", "/runs"]
    done = subprocess.run([*command, *words, "--size", "quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (summary,) = tmp_path.glob("*/*/*/seed-1/summary.json")
    assert json.loads(summary.read_text())["status"] == "ok"
