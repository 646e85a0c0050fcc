"""`testbed claim`: what it refuses, what needs no run, and real checks; one fails beside a doctored reference."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from analysis.capture.columns import drop
from testbed import claim
from testbed.cli import main
from testbed.folders import REFERENCE

FIG2A = "icccn-fig2a-ledbat-vs-tcp"
PAGE = (Path(__file__).parents[2] / "docs/howto/claim.md").read_text()


@pytest.fixture(scope="module")
def into(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of results that these tests share, as checks of several claims do."""
    return tmp_path_factory.mktemp("claims")


def checked(capsys: pytest.CaptureFixture[str], into: Path, *words: str) -> tuple[int, dict[str, str], str]:
    """The status of a check, the texts of its output by their labels, and what it said meanwhile."""
    status = main(["claim", *words, "--into", str(into)])
    output = capsys.readouterr()
    texts: dict[str, str] = {}
    label = ""
    for line in output.out.splitlines():
        label = line[:11].strip() or label
        texts[label] = f"{texts.get(label, '')} {line[11:]}".strip()
    return status, texts, output.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            [f"{FIG2A}/e99"],
            rf"unknown claim '{FIG2A}/e99'; allowed: one of \d+ \(did you mean {FIG2A}/e\d\d\?\), such as ",
        ),
        ([f"{FIG2A}/e03", "--seeds", "some"], "--seeds: found 'some'; allowed: a whole number, or all"),
        ([f"{FIG2A}/e03", "--seeds", "0"], "--seeds: found 0; allowed: a whole number, at least 1"),
        ([f"{FIG2A}/e03", "--into", "{}"], "--into: found .*; allowed: UTF-8 text without { and }"),
    ],
)
def test_what_cannot_be_checked_is_named(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["claim", *words]) == 2
    assert re.match(says, capsys.readouterr().err)


def test_what_no_run_decides_says_so(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, texts, _ = checked(capsys, into, "icccn-fig1-controller-conformance/e05")
    assert (status, texts["again"]) == (0, "make images DEBUG=1 && testbed kunit")
    assert texts["verdict"].startswith("No run decides it, but the module's KUnit case")
    assert texts["reference"].startswith("The module's unit test passed")
    status, texts, _ = checked(capsys, into, "aina-fig6-queue-delay/e01")
    assert (status, texts["verdict"]) == (0, "cannot be tested: Value missing in the text.")
    assert not list(into.iterdir())


def test_a_number_is_measured_and_stands_beside_the_reference(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, texts, said = checked(capsys, into, f"{FIG2A}/e03")
    assert status == 0
    assert texts["paper"] == "ICCCN 2010, sec. IV.A par. 3: 20.8 packets"
    assert texts["formula"].startswith(
        "queue_pkts.at(first_peak); first_peak = cwnd('ledbat').time_of_max(0, losses[0]);"
    )
    assert texts["time"].startswith("1 run, 60 s of virtual time: about ")
    assert texts["seed 1"] == "22 packets; the same as in the reference"
    assert texts["verdict"] == "nearly agrees in one seed"
    assert texts["reference"].startswith("holds, 21.6 ± 0.1 packets")
    assert "run 1/1: " in said
    assert Path(texts["run"], "run.json").exists()
    assert all(Path(capture).exists() for capture in texts["capture"].split(" "))


def test_what_has_run_is_kept_and_taken_over(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = checked(capsys, into, f"{FIG2A}/e03")
    assert again[0] == 0
    assert "run 1/" not in again[2]
    status, texts, said = checked(capsys, into, f"{FIG2A}/e08")
    assert status == 0
    assert re.fullmatch(rf"run 1/1: .*: as {re.escape(str(into))}/{FIG2A}/e03/runs/.*, whose files it shares\n", said)
    assert texts["seed 1"].endswith("; the same as in the reference")


def test_a_claim_of_several_experiments_reads_the_runs_of_each(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None of the runs that its expression names is one of its own experiment, whose seeds it has."""
    status, texts, _ = checked(capsys, into, "aina-sec4-model-conformance/e09")
    assert (status, texts["seed 1"]) == (0, "it holds; the same as in the reference")
    assert texts["cells"].count("aina-fig") == 2


def test_a_claim_that_repeats_another_leads_to_it(into: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, texts, _ = checked(capsys, into, "aina-fig5-normalized-throughput/e01")
    assert status == 0
    assert texts[""] == "aina-fig5-normalized-throughput/e01 repeats aina-table2-throughput/e01, which is checked here."
    assert "1,130 ± 30 kbit/s" in texts["reference"]
    drop(Path(texts["run"]), packets=True)
    _, texts, _ = checked(capsys, into, "aina-fig5-normalized-throughput/e01")
    assert "case=forward,delta=30ms,t_change=1s --into" in texts["again"] and "capture" not in texts


def test_a_number_that_is_not_the_references_fails(
    into: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(shutil.copytree(REFERENCE, tmp_path / "reference"))
    kept = json.loads((other / f"{FIG2A}.json").read_text())
    kept["claims"][f"{FIG2A}/e03"]["by_seed"]["1"] += 0.001
    (other / f"{FIG2A}.json").write_text(json.dumps(kept))
    monkeypatch.setattr(claim, "REFERENCE", other)
    status, texts, _ = checked(capsys, into, f"{FIG2A}/e03")
    assert (status, texts["seed 1"]) == (1, "22 packets; NOT the same as in the reference")


def test_the_page_shows_what_a_check_prints(
    into: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = re.search(r"```\n\$ testbed claim (\S+)\n(.*?)```", PAGE, re.DOTALL)
    assert shown
    main(["claim", shown[1], "--into", str(into)])
    printed = capsys.readouterr().out.replace(str(into), "results/claims")
    # how long runs take, and on how many processors, differs between machines
    assert re.sub(r"about .* processors?,", "", shown[2]) == re.sub(r"about .* processors?,", "", printed)
