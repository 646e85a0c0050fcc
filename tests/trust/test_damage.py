"""A file of results that is damaged or missing is never used: each kind of file that is read again, in real results."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.__main__ import main
from analysis.run import Run
from common import sums
from common.sums import FILE
from testbed.site.__main__ import main as site
from tests.trust.pipeline import RUN, Results

# nothing computes or shows anything from these
NOT_READ = re.compile(
    r"logs/.*|runs/.*/logs/.*"  # what happened, for people
    r"|sources/.*"  # compared with the present sources when a pipeline begins
    r"|(.*/)?(job-\d+\.done|\.(made|measured)-for-\w+|\.due|\.lock)"  # empty
    r"|\.testbed\.lock"  # says who works there
)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


DAMAGES = [flip, cut, Path.unlink]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    made = Results(tmp_path_factory.mktemp("damage"))
    with sums.replacing(made.root) as draft:  # as `testbed kunit` does, whose kernel takes minutes
        (draft / "kunit.json").write_text('{"cases": {}}')
    made.make()
    return made


def test_each_file_has_a_sum_or_is_not_read(results: Results) -> None:
    vouched = set(results.vouched())
    without = {file for file in results.files() if file not in vouched and not NOT_READ.fullmatch(file)}
    assert {file for file in without if not file.startswith("runs/trial/short/single/seed-2/")} == set()


# what reads a kind of file again, beside the pipeline
READERS: list[tuple[str, list[str]]] = [
    (rf"{RUN}/(pcap|traces)/.*(?<!events\.csv)|{RUN}/{FILE}", ["columns", RUN]),
    (rf"{RUN}/(run.json|summary.json)", ["observe", RUN]),
    (rf"{RUN}/columns/(packets|cwnd)\.parquet|kunit.json", ["measure"]),
    (rf"experiments/short/(verdicts\.json|figure.*|{FILE})", ["report", "--results", ".", "--out", "report"]),
    (r"experiments/(viewer.js|SHA256SUMS)", ["report", "--results", ".", "--out", "report"]),
    (r"report/.*", ["--results", ".", "--out", "site"]),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_command_refuses_a_damaged_file(
    results: Results,
    tmp_path: Path,
    damage: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    copy = tmp_path / "results"
    shutil.copytree(results.root, copy)
    monkeypatch.chdir(copy)
    claims = str(results.folder / "studies/trial/short.claims.yaml")
    for file in sorted(set(results.vouched())):
        for pattern, command in READERS:
            if re.fullmatch(pattern, file):
                damage(copy / file)
                more = [claims, "--runs", "runs", "--kunit", "kunit.json", "--out", "experiments"]
                read = site if command[0] == "--results" else main
                status = read(command + more if command == ["measure"] else command)
                assert (status, file in capsys.readouterr().err) == (2, True), (file, command)
                shutil.copyfile(results.root / file, copy / file)


@pytest.mark.parametrize("damage", [flip, Path.unlink, None])  # one that is cut has another sum, too
def test_the_pipeline_makes_it_again(results: Results, damage: Callable[[Path], None] | None) -> None:
    before = results.bytes_that_repeat()
    damaged = [
        file
        for file in results.vouched()
        if (Path(file).name == FILE) == (damage is None) and Path(file).parent != Path()
        if "/.rows/" not in file  # what reads these makes them again without a word
    ]
    assert damaged
    for file in damaged:
        (damage or cut)(results.root / file)
    if damage is Path.unlink:
        (results.root / "experiments/short/notes.txt").touch()
        (results.root / RUN / "pcap/made-up.pcap").touch()
    said = results.make()
    told = re.findall(rf"{results.root}/(.*): (?:damaged|missing); due again\n", said)
    assert sorted(told) == sorted(damaged)
    if damage is Path.unlink:
        assert f"{RUN}/pcap/made-up.pcap: without a sum; due again" in said
        assert not (results.root / RUN / "pcap/made-up.pcap").exists()
        assert "experiments/short/notes.txt: without a sum, and nothing here makes it: remove it" in said
        (results.root / "experiments/short/notes.txt").unlink()
    assert results.bytes_that_repeat() == before
    assert "seed-2: finished before, and kept" in next((results.root / "logs/runs").rglob("*.log")).read_text()
    assert "Nothing to be done" in results.make()


def test_what_a_quick_look_has_is_not_carried_out_again(tmp_path: Path) -> None:
    """Its packets stay, too."""
    made = Results(tmp_path)
    made.make("quick")
    quick, complete = made.root / "quick" / RUN, made.root / RUN
    packets = {file.name: sums.digest(file) for file in quick.glob("pcap/*")}
    made.make()
    assert complete.joinpath("columns/packets.parquet").samefile(quick / "columns/packets.parquet")
    assert (json.loads((complete / "run.json").read_text())["size"], Run(quick).settings.size) == ("complete", "quick")
    assert packets == {file.name: sums.digest(file) for file in quick.glob("pcap/*")} != {}
    assert not any(sums.damaged(folder) for folder in (quick, complete))
    assert f"as {quick}, whose files it shares" in made.root.joinpath("logs/runs/trial/short/job-1.log").read_text()
