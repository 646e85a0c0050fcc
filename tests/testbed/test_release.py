"""The wheels of a release hold what a checkout has, so that packs of the same commit fit them."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import signal
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import Any

import pytest
import yaml

from images import index
from testbed import cli
from testbed.release import wheels

SEEN_FROM_ELSEWHERE = """\
import json, site, sys
site.addsitedir(sys.argv[1])
sys.path.append(sys.argv[2])
import testbed.cli
from common import commit
from images import index
print(json.dumps([testbed.cli.__file__, commit.commit(), index.names()]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    files = wheels.build(tmp_path_factory.mktemp("wheels"))
    return {file.name.partition("-")[0]: file for file in files}


def test_every_file_has_its_sum(built: dict[str, Path]) -> None:
    for wheel in built.values():
        with zipfile.ZipFile(wheel) as archive:
            (record,) = (name for name in archive.namelist() if name.endswith("/RECORD"))
            rows = {name: sum_ for name, sum_, _ in csv.reader(archive.read(record).decode().splitlines())}
            assert rows.keys() == {*archive.namelist()}
            for name in rows.keys() - {record}:
                digest = hashlib.sha256(archive.read(name)).digest()
                assert rows[name] == f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def test_the_testbed_asks_for_nothing_that_only_pictures_need(built: dict[str, Path]) -> None:
    for name, optional in {"ledbat_testbed": True, "ledbat_observer": False}.items():
        with zipfile.ZipFile(built[name]) as archive:
            (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
            about = message_from_bytes(archive.read(metadata))
        (pictures,) = (line for line in about.get_all("Requires-Dist", []) if line.startswith("vl-convert"))
        assert ("extra" in pictures) == optional
        assert not any("snakemake" in line and "extra" not in line for line in about.get_all("Requires-Dist", []))


@pytest.mark.parametrize("client", [[], ["libutp"]])
def test_an_interrupted_release_says_so_in_one_sentence(tmp_path: Path, client: list[str]) -> None:
    """While wheels are built, and while a client is packed."""
    command = [sys.executable, "-u", "-m", "testbed.release", *client, "--into", str(tmp_path)]
    words: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **words) as release:
        assert release.stdout and release.stderr
        while "packing" not in release.stdout.readline() and client:
            pass
        os.killpg(release.pid, signal.SIGINT)
        said = release.stderr.read()
    assert said == f"interrupted; {tmp_path} has no sums, so it is no release\n"
    assert release.returncode == 130
    assert not (tmp_path / "SHA256SUMS").exists()


def test_a_release_of_an_unknown_client_ends_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "testbed.release", "libutpp", "--into", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("error: unknown implementation 'libutpp'")


def test_a_gate_loads_nothing_that_draws() -> None:
    """A release's wheel brings no drawing library, and its users' first command is a gate."""
    code = "import sys; sys.modules['vl_convert'] = None; import testbed.gate.command, testbed.gate.reports"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_wheel_boots_what_the_checkout_boots(built: dict[str, Path], tmp_path: Path) -> None:
    with zipfile.ZipFile(built["ledbat_testbed"]) as archive:
        archive.extractall(tmp_path)
    libraries = Path(yaml.__file__).parents[1]
    command = [sys.executable, "-I", "-S", "-c", SEEN_FROM_ELSEWHERE, str(tmp_path), str(libraries)]
    seen = subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True)
    place, commit, names = json.loads(seen.stdout)
    assert Path(place).is_relative_to(tmp_path)
    assert commit != "unknown"
    assert names == index.names()


def test_a_command_says_which_extra_it_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(_: list[str]) -> int:
        raise ModuleNotFoundError("No module named 'vl_convert'", name="vl_convert")

    monkeypatch.setattr(cli, "_carried_out", lacking)
    assert cli.main(["compare", "a", "b"]) == 2
    need = "testbed compare needs vl_convert, which is not installed: pip install 'ledbat-testbed[pictures]'\n"
    assert capsys.readouterr().err == need
