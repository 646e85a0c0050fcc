"""A few damaged inputs of each kind, of which `make trial NAME=fuzz` reads any number; and what that found."""

import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.__main__ import main as analysis
from analysis.capture import columns
from analysis.documents import read_json
from analysis.errors import BadInputError
from common import archives, sums
from common.archives import ArchiveError
from engine.errors import EngineError
from engine.images import PROJECT
from exec import hand_in
from scenarios.errors import ScenarioError
from scenarios.implementations import refuse_wrong
from tests.analysis import synthetic
from tests.trust.fuzz.inputs import KINDS, make_hand_ins, seal_hand_in


def test_damaged_inputs_are_read_or_refused_with_a_sentence() -> None:
    kinds = [name for name, kind in KINDS.items() if not kind.runs]
    command = [sys.executable, "-m", "tests.trust.fuzz", "--inputs", "10", *kinds]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_hand_in_without_its_standard_input(tmp_path: Path) -> None:
    make_hand_ins(tmp_path)
    (whole,) = tmp_path.iterdir()
    lacking = tmp_path / "lacking.zip"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(lacking, "w") as new:
        for name in old.namelist():
            if name != "stdin":
                new.writestr(name, old.read(name))
    seal_hand_in(lacking)
    with pytest.raises(EngineError, match=r"lacking.zip: stdin is missing"):
        list(hand_in.verify(lacking))


def test_a_hand_in_that_says_much_is_refused_in_a_sentence(tmp_path: Path) -> None:
    make_hand_ins(tmp_path)
    (file,) = tmp_path.iterdir()
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["order.json"] = json.dumps({**json.loads(members["order.json"]), "provenance": ["x"] * 10_000}).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(EngineError, match=r"order\.json: provenance: ") as refused:
        list(hand_in.verify(file))
    assert len(str(refused.value)) < 1000


def test_a_table_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = synthetic.write(tmp_path, replace(synthetic.plain(), keep_captures=False))
    assert analysis(["columns", str(run)]) == 0
    columns.drop(run, packets=True)
    table = run / "columns" / "packets.parquet"
    whole = table.read_bytes()
    described = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    table.write_bytes(whole[:described] + bytes(192) + whole[described + 192 :])  # what describes its columns
    sums.write(run, sums.below(run))
    assert analysis(["observe", str(run)]) == 2
    assert "analysis: a table cannot be read: " in capsys.readouterr().err


def test_json_without_end(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    file.write_text("[" * 100_000)
    with pytest.raises(BadInputError, match="nested too deeply"):
        read_json(file)


def test_half_of_a_surrogate_pair(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    file.write_text(r'{"error": "\uD83D\uDE00"}')
    assert read_json(file).get("error", str) == "\U0001f600"
    file.write_text(r'{"error": "\ud800"}')
    with pytest.raises(BadInputError, match="half of a surrogate pair"):
        read_json(file)


def test_a_member_without_a_name(tmp_path: Path) -> None:
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("Q", b"")
    file.write_bytes(file.read_bytes().replace(b"Q", b"\0"))
    with pytest.raises(ArchiveError, match=r"a.zip: .* no plain name"):
        archives.members(file)


def test_a_condition_of_a_schema_that_does_not_hold(tmp_path: Path) -> None:
    file = tmp_path / "made" / "implementation.yaml"
    file.parent.mkdir()
    description = {"title": "Made", "kind": "program", "roles": ["sender"], "transport": "utp", "parameters": {}}
    file.write_text(json.dumps(description))
    with pytest.raises(ScenarioError, match="missing; allowed: "):
        refuse_wrong(["made"], tmp_path)
