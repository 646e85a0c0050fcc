"""The commands of the step for GitHub, with stand-ins for what its machine brings and for what they install.

`tests/reach/test_release.py` has them install a release and judge a client.
"""

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from images.cache import project_root

COMMIT, OTHER = "1" * 40, "2" * 40
STAND_INS = {
    "sudo": "",
    "git": f"printf '{OTHER}\\trefs/tags/v0\\n{'3' * 40}\\trefs/tags/v1\\n{COMMIT}\\trefs/tags/v1^{{}}\\n'",
    "gh": 'echo "$3" >>"$SAID"; mkdir -p "$7"; cp -r "$OFFERED/." "$7"',
    "python3": 'mkdir -p "$3/bin"; cp "$STANDS"/installed/* "$3/bin"',
    "installed/pip": 'echo pip "$@" >>"$SAID"',
    "installed/python": "",
    "installed/testbed": "mkdir -p gate/mine; echo broken >gate/mine/gate.md; exit 1",
}


@pytest.fixture
def offered(tmp_path: Path) -> Path:
    """A release: a wheel, a pack and their signed sums, and who may sign."""
    folder = tmp_path / "offered"
    folder.mkdir()
    for name in ("ledbat_testbed-1-py3-none-any.whl", "libutp.tar.xz"):
        (folder / name).write_text(name)
    sums = {file.name: sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    (folder / "SHA256SUMS").write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-n", "ledbat-testbed", "-f", str(key), f"{folder}/SHA256SUMS"]
    subprocess.run(sign, check=True)
    (tmp_path / "signers").write_text(f"us@example.org {key.with_suffix('.pub').read_text()}")
    return folder


def _step(tmp_path: Path, offered: Path, **given: str) -> tuple[int, str, list[str]]:
    """Status, what it says of errors, and what was asked for and installed."""
    stands, said = tmp_path / "stands", tmp_path / "said"
    for name, text in STAND_INS.items():
        program = stands / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/bash\n{text}\n")
        program.chmod(0o755)
    action = yaml.safe_load((project_root() / "testbed/gate/action.yml").read_text())
    [step] = action["runs"]["steps"]
    words = {name.upper(): about["default"] for name, about in action["inputs"].items()}
    words |= {"REPOSITORY": "us/testbed", "SERVER": "https://example.org", "RUNNER_TEMP": str(tmp_path / "temp")}
    words |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "STANDS": str(stands), "SAID": str(said)}
    words |= {"OFFERED": str(offered), "PATH": f"{stands}:/usr/bin:/bin", **given}
    (tmp_path / "work").mkdir()
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(command, cwd=tmp_path / "work", env=words, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, said.read_text().splitlines() if said.exists() else []


@pytest.mark.parametrize("release", ["v1", COMMIT])
def test_a_gates_status_and_table_are_kept(tmp_path: Path, offered: Path, release: str) -> None:
    status, _, said = _step(tmp_path, offered, RELEASE=release)
    assert (status, said[0]) == (1, "v1")
    assert (tmp_path / "summary").read_text() == "broken\n"


def test_a_commit_that_is_no_release_is_refused(tmp_path: Path, offered: Path) -> None:
    status, error, said = _step(tmp_path, offered, RELEASE="4" * 40)
    sentence = f"release: no tag of us/testbed names the commit {'4' * 40}; allowed: a release, or its commit\n"
    assert (status, error, said) == (2, sentence, [])


def test_what_has_another_sum_or_none_is_not_installed(tmp_path: Path, offered: Path) -> None:
    (offered / "ledbat_testbed-2-py3-none-any.whl").write_text("unlisted")
    status, _, said = _step(tmp_path, offered, RELEASE="v1")
    assert status != 0
    assert not [line for line in said if line.startswith("pip")]


@pytest.mark.parametrize("tampered", [False, True])
def test_sums_need_the_signature_of_a_signer(tmp_path: Path, offered: Path, tampered: bool) -> None:
    if tampered:
        with (offered / "SHA256SUMS").open("a") as sums:
            sums.write(f"{'0' * 64}  other\n")
    status, _, said = _step(tmp_path, offered, RELEASE="v1", SIGNERS=str(tmp_path / "signers"))
    assert bool([line for line in said if line.startswith("pip")]) is not tampered
    assert tampered or status == 1


def test_the_workflow_for_forks_pins_actions_and_runs_what_ci_runs() -> None:
    text = (project_root() / ".github/workflows/ci.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["ci"]["steps"]
    assert {"run": ".ci/run"} in steps
    used = [step["uses"].partition("@")[2] for step in steps if "uses" in step]
    assert used
    assert all(len(version) == 40 and f"{version}  # v" in text for version in used)
