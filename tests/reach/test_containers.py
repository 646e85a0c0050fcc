"""The compose file, and the image where it has been built: `docker-compose build reproduce`."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from engine.images import PROJECT
from tests.trial import trial

IMAGE = "ledbat-testbed"
SHORT = """\
experiment: short
title: One TCP flow for a moment
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: tcp, implementation: tcp-cubic, from: s1, to: d1}
duration: 5s
"""


def _compose() -> list[str] | None:
    """Either generation of compose."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    if shutil.which("docker"):
        done = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
        return ["docker", "compose"] if done.returncode == 0 else None
    return None


def _beside(folder: Path) -> Path:
    """The compose file as its user has it, beside folders in which the container's user can write."""
    shutil.copy(PROJECT / "docker-compose.yml", folder)
    shutil.copytree(PROJECT / "images/docker", folder / "images/docker")
    for name in ("results", "lab"):
        (folder / name).mkdir()
        (folder / name).chmod(0o777)
    return folder


def _image_is_there() -> bool:
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode == 0


needs_compose = pytest.mark.skipif(_compose() is None, reason="neither docker-compose nor docker compose is installed")


needs_image = pytest.mark.skipif(
    not _image_is_there(), reason=f"there is no image {IMAGE} (docker-compose build reproduce)"
)


@needs_compose
def test_compose_reads_the_file_and_only_the_native_backend_is_privileged() -> None:
    compose = _compose()
    assert compose
    done = subprocess.run([*compose, "config"], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert {name for name, service in services.items() if service.get("privileged")} == {"native"}
    assert all(service["read_only"] for service in services.values())
    walled = [service for name, service in services.items() if name != "native"]
    assert all(service["cap_drop"] == ["ALL"] and service["user"] != "root" for service in walled)


def _forbidden(profile: str) -> set[str]:
    rules = json.loads((PROJECT / "images/docker" / profile).read_text())["syscalls"]
    return {name for rule in rules for name in rule["names"]}


def test_where_programs_run_bubblewrap_gets_its_calls_and_nothing_else() -> None:
    of_bubblewrap = {"clone", "mount", "pivot_root", "umount2", "unshare"}
    assert _forbidden("seccomp.json") - _forbidden("seccomp-namespaces.json") == of_bubblewrap
    assert not _forbidden("seccomp-namespaces.json") - _forbidden("seccomp.json")


@pytest.mark.skipif(
    not shutil.which("docker")
    or subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode != 0,
    reason="Docker has no Compose 2",
)
@needs_image
def test_the_programs_service_runs_a_program_behind_walls(tmp_path: Path) -> None:
    """Foreign programs never run without bubblewrap, so this run is one behind it."""
    command = ["docker", "compose", "run", "--rm", "--entrypoint=testbed", "programs"]
    words = ["run", "workflows/studies/icccn/cbr.yaml", "--seed", "1", "--size", "quick", "--into", "results/try"]
    done = subprocess.run([*command, *words], cwd=_beside(tmp_path), capture_output=True, text=True, check=False)
    if "has not been built" in done.stderr:
        pytest.skip("the image has no udp-cbr: unpack a pack of it, and build again")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = [json.loads(file.read_text()) for file in tmp_path.glob("results/try/*/*/*/seed-1/summary.json")]
    assert runs and all(run["status"] == "ok" for run in runs)


@needs_compose
@needs_image
def test_a_run_in_the_hardest_container(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    hardened = ["--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    hardened.append(f"--security-opt=seccomp={PROJECT}/images/docker/seccomp.json")
    memory = ["--tmpfs=/dev/shm:exec,size=2g", "--tmpfs=/tmp:exec,size=1g"]
    command = ["docker", "run", "--rm", *hardened, *memory, "--env=TESTBED_UNCONFINED=1", f"--volume={tmp_path}:/runs"]
    scenario = "workflows/studies/icccn/fig2a.yaml"
    words = ["--workdir=/testbed", "--entrypoint=testbed", IMAGE, "run", scenario, "--seed", "1", "--into", "/runs"]
    done = subprocess.run([*command, *words, "--size", "quick"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (summary,) = tmp_path.glob("*/*/*/seed-1/summary.json")
    assert json.loads(summary.read_text())["status"] == "ok"


@needs_compose
@needs_image
def test_the_lab_service_runs_a_script(tmp_path: Path) -> None:
    """As the page calls it; Docker's own profile refuses what the guest's kernel needs."""
    compose = _compose()
    assert compose
    folder = _beside(tmp_path)
    (folder / "lab/lab.py").write_text(
        "from mininet.net import Mininet\nnet = Mininet()\nnet.start()\nnet.stop()\nprint('ran')\n"
    )
    done = subprocess.run(
        [*compose, "run", "--rm", "lab", "lab.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    if "is not in this image" in done.stdout + done.stderr:
        pytest.skip("the image has no lab: IMAGES=--lab docker-compose build reproduce")
    assert done.returncode == 0 and "ran" in done.stdout, done.stdout + done.stderr


@needs_compose
@needs_image
def test_the_native_service_runs_or_names_what_this_kernel_lacks(tmp_path: Path) -> None:
    """In real time, on any kernel: the container need only get as far as the kernel."""
    compose = _compose()
    assert compose
    scenario = trial(tmp_path, SHORT)
    command = [*compose, "run", "--rm", f"--volume={scenario.parent}:/trial:ro", f"--volume={tmp_path}:/runs"]
    words = ["native", "/trial/short.yaml", "--seed", "1", "--into", "/runs"]
    done = subprocess.run([*command, *words], cwd=_beside(tmp_path), capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(_refusal(done.stderr))
    (summary,) = tmp_path.glob("trial/*/*/seed-1/summary.json")
    assert json.loads(summary.read_text())["status"] == "ok"


def _refusal(words: str) -> str:
    """The sentence in which backend or container runtime says what this host lacks; anything else is a failure."""
    lacking = ("lacks what the run needs: module", "unable to apply caps")
    refusals = [line for line in words.splitlines() if any(sentence in line for sentence in lacking)]
    assert refusals, words
    return refusals[0]
