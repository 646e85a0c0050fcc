"""Runs that are there already under another name: carried out once, readable under each."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.run import Run
from common import files, sums
from engine import store
from engine.finished import damage
from testbed.cli import main
from tests.trial import trial

TEXT = """\
experiment: short
title: Short
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 2mbit, buffer: 20p}
delay: {forward: 5ms, backward: 5ms}
flows: [{name: client, implementation: tcp-cubic, from: s1, to: d1}]
duration: 2s
seeds: {complete: 1, quick: 1}
"""
OTHER = (
    TEXT.replace("short", "other").replace("Short", "Other").replace("20p", '"${buffer}"') + "matrix: {buffer: [20p]}\n"
)
SHORT_RUN, OTHER_RUN = "runs/trial/short/single/seed-1", "other/runs/trial/other/buffer=20p/seed-1"

Ask = Callable[..., str]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Ask for the run of a text in a folder; return what is said about it."""
    (tmp_path / "since").write_text("of this code")
    monkeypatch.setenv(store.PLACE, str(tmp_path / "store"))

    def asked(text: str, run: str, *options: str) -> str:
        into = tmp_path / run.partition("runs/")[0] / "runs"
        command = ["run", str(trial(tmp_path, text)), "--columns", "--keep-since", str(tmp_path / "since")]
        assert main([*command, "--into", str(into), *options]) == 0
        said = capsys.readouterr()
        assert not damage(tmp_path / run)
        return said.out + said.err

    return asked


def settings(folder: Path) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(sums.checked(folder, "run.json").read_text())
    return text


def test_a_run_of_two_names_is_carried_out_once(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short, other = tmp_path / SHORT_RUN, tmp_path / OTHER_RUN
    assert " s in " in ask(TEXT, SHORT_RUN)
    assert f"as {short}, whose files it shares" in ask(OTHER, OTHER_RUN, "--temporary-packets", "--size", "quick")
    both = [folder / "columns/packets.parquet" for folder in (short, other)]
    assert both[0].samefile(both[1])
    run = Run(other)
    assert (run.settings.experiment, run.settings.cell, run.settings.title, run.settings.size) == (
        "other",
        "buffer=20p",
        "Other",
        "quick",
    )
    assert run.throughput("client") == Run(short).throughput("client") > 1.8
    # packets are kept or not by each name
    assert list(short.glob("pcap/*")) and not list(other.glob("pcap/*"))
    assert settings(short)["experiment"] == "short"
    # it would have been the same
    monkeypatch.delenv(store.PLACE)
    assert " s in " in ask(OTHER, f"again/{OTHER_RUN}", "--temporary-packets", "--size", "quick")
    again = tmp_path / "again" / OTHER_RUN
    assert {**settings(again), "origin_ns": 0} == {**settings(other), "origin_ns": 0}
    assert (
        json.loads((again / "summary.json").read_text())["digests"]
        == json.loads((other / "summary.json").read_text())["digests"]
    )


def test_what_is_wanted_has_to_be_there(ask: Ask, tmp_path: Path) -> None:
    ask(TEXT, SHORT_RUN)
    ask(OTHER, OTHER_RUN, "--temporary-packets")
    shutil.rmtree(tmp_path / SHORT_RUN)
    assert "kept" in ask(OTHER, OTHER_RUN, "--temporary-packets")
    third = OTHER_RUN.replace("other/runs", "third/runs")
    assert "whose files it shares" in ask(OTHER, third, "--temporary-packets")
    assert " s in " in ask(TEXT, SHORT_RUN)  # with packets
    assert len(links(tmp_path)) == 3
    # an own name is no reason to carry it out again, nor is the age of the code
    assert f"as {tmp_path / SHORT_RUN}" in ask(TEXT.replace("Short", "Shorter"), SHORT_RUN)
    assert settings(tmp_path / SHORT_RUN)["title"] == "Shorter"
    (tmp_path / "since").touch()
    assert "whose files it shares" in ask(OTHER, third, "--temporary-packets")
    # other code, and another value, are
    (tmp_path / "since").write_text("of other code")
    assert " s in " in ask(OTHER, third, "--temporary-packets")
    assert " s in " in ask(OTHER.replace("20p", "21p"), OTHER_RUN, "--temporary-packets")


def links(folder: Path) -> list[Path]:
    return sorted(folder.glob("store/*/*"))


def test_a_damaged_run_is_made_again_once(ask: Ask, tmp_path: Path) -> None:
    ask(TEXT, SHORT_RUN)
    ask(OTHER, OTHER_RUN)
    with (tmp_path / SHORT_RUN / "columns/queue.parquet").open("ab") as table:
        table.write(b"x")
    said = ask(OTHER, OTHER_RUN)
    assert "columns/queue.parquet: damaged; the run is made again" in said
    assert " s in " in said
    assert f"as {tmp_path / OTHER_RUN}" in ask(TEXT, SHORT_RUN)
    assert "kept" in ask(OTHER, OTHER_RUN)


@pytest.mark.parametrize(
    "step", [(os, "link"), (sums, "write"), (files, "give_name"), (Path, "symlink_to")], ids=lambda step: str(step[1])
)
def test_a_kill_leaves_nothing_half_written(ask: Ask, tmp_path: Path, step: tuple[Any, str]) -> None:
    ask(TEXT, SHORT_RUN)
    child = os.fork()
    if not child:
        setattr(*step, lambda *_, **__: os._exit(9))
        ask(OTHER, OTHER_RUN)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    other = tmp_path / OTHER_RUN
    assert other.exists() == (step[1] == "symlink_to")
    said = ask(OTHER, OTHER_RUN)
    assert ("kept" if step[1] == "symlink_to" else "whose files it shares") in said
    assert [entry.name for entry in other.parent.iterdir()] == ["seed-1"]
    assert len(links(tmp_path)) == 2


def test_a_failure_of_its_name_is_gone(ask: Ask, tmp_path: Path) -> None:
    ask(TEXT, SHORT_RUN)
    failed = (tmp_path / OTHER_RUN).with_name("failed-seed-1")
    failed.mkdir(parents=True)
    assert "whose files it shares" in ask(OTHER, OTHER_RUN)
    assert not failed.exists()
