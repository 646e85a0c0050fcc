"""`testbed gate versions` and `testbed gate bisect`: wrong orders, the search, and the page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.judge.verdict import Verdict
from scenarios import implementations
from scenarios.resolve import expand
from testbed import own_study
from testbed.cli import main
from testbed.gate import pictures
from testbed.gate.bisect import is_nearer, search
from testbed.gate.judge import BudgetResult, JudgedBudgets
from testbed.shared.panel import filled, panel

ROOT = Path(__file__).parents[2]
BISECT = ["gate", "bisect", "libtorrent"]
PAGE = (ROOT / "docs/howto/gate.md").read_text().partition("## Over the versions of a client")[2].partition("\n## ")[0]


def test_the_page_speaks_of_versions_that_are_listed() -> None:
    listed = implementations.versions()
    assert set(re.findall(r"^\| `([\w.-]+)` \|", PAGE, re.MULTILINE)) == listed.keys()
    commands = [shlex.split(line) for line in re.findall(r"^testbed gate (.*)$", PAGE, re.MULTILINE)]
    assert {words[0] for words in commands} == {"versions", "bisect"}
    for _, name, *options in commands:
        named = {value for option, value in pairwise(options) if option in ("--from", "--to", "--good", "--bad")}
        assert named <= listed[name].keys()


def test_a_version_stands_wherever_an_implementation_does(tmp_path: Path) -> None:
    """In the matrix of a scenario, and in the pipeline, which knows folders by its name."""
    name = panel()[0].name
    own_study.write(tmp_path, "gate", {name: filled(panel()[0], ["libtorrent@2.0.9"], 1)})
    assert expand(tmp_path / "studies" / "gate" / name, "complete")[0].name == "client=libtorrent@2.0.9"
    order = f"folder= {json.dumps(str(tmp_path), ensure_ascii=False)} "
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        f"{ROOT}/testbed/pipeline.smk",
        "--dry-run",
        "--config",
        order,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gate", "versions", "libutp"], "libutp lists no versions; allowed: libtorrent, transmission"),
        (["gate", "versions", "libtorent"], "unknown implementation 'libtorent'; allowed: libtorrent"),
        (["gate", "versions", "libtorrent", "--from", "2.0.4"], "--from: found '2.0.4'; allowed: 2.0.5"),
        (
            ["gate", "versions", "libtorrent", "--from", "2.0.7", "--to", "2.0.5"],
            "--from: found 2.0.7, which comes after 2.0.5",
        ),
        (
            [
                "gate",
                "bisect",
                "libtorrent",
                "--good",
                "2.0.7",
                "--bad",
                "2.0.7",
                "--measure",
                "jain()",
                "--scenario",
                "alone",
            ],
            "--bad: found 2.0.7, the good one",
        ),
    ],
)
def test_a_wrong_order_is_one_message(words: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    assert main([*words, "--into", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "alon", "--measure", 'alone("throughput")'], "--scenario: found 'alon', no file; allowed: "),
        (["--scenario", "alone", "--measure", " "], "--measure: found nothing; allowed: an expression"),
        (
            ["--scenario", "alone", "--measure", 'alone("share")'],
            "--measure: found alone('share'), not one of throughput, queuing delay, retransmissions; "
            "allowed: an expression in the words of docs/reference/claims.md and docs/howto/gate.md\n",
        ),
        (
            ["--scenario", "alone", "--cell", "case=2mbit", "--measure", 'alone("throughput")'],
            "--cell: found 'case=2mbit'; allowed: case=1mbit, case=10mbit, case=50mbit",
        ),
    ],
)
def test_bisect_names_the_option_that_is_wrong(options: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    into = ["--into", str(tmp_path / "out")]
    assert main([*BISECT, "--good", "2.1.1", "--bad", "2.0.5", *options, *into]) == 2
    assert capsys.readouterr().err.startswith(message)


@given(
    st.integers(2, 200).flatmap(lambda number: st.tuples(st.just(number), st.integers(1, number - 1))), st.booleans()
)
@settings(deadline=None)
def test_the_search_finds_the_change_in_few_runs(where: tuple[int, int], downwards: bool) -> None:
    number, change = where  # the good and the bad versions meet before place `change`
    tried: list[int] = []

    def is_good(place: int) -> bool:
        tried.append(place)
        return (place < change) is not downwards

    good, bad = search(number - 1, 0, is_good) if downwards else search(0, number - 1, is_good)
    assert (good, bad) == ((change, change - 1) if downwards else (change - 1, change))
    assert 2 ** (len(tried) - 1) <= number


@pytest.mark.parametrize(
    ("number", "good", "bad", "nearer"),
    [(3, 2, 5, True), (4, 2, 5, False), (inf, inf, 5, True), (1, inf, 5, False), (1, 5, inf, True)],
)
def test_a_number_is_near_to_that_of_one_version(number: float, good: float, bad: float, nearer: bool) -> None:
    """What never happens is infinite."""
    assert is_nearer(number, good, bad) is nearer


def judgement(version: str, measured: float | None, verdict: Verdict) -> JudgedBudgets:
    why = f"share = {measured}, allowed below 20"
    outcome = BudgetResult("leaves", "race", "single", verdict, measured, 20.0, why, "", 1.0, "%")
    return JudgedBudgets(f"mine@{version}", version, 1, [outcome])


def test_the_page_shows_every_version(tmp_path: Path) -> None:
    """Also one whose runs failed, and one in which it never happened."""
    judgements = {
        "1.0": judgement("1.0", 12.5, Verdict.HOLDS),
        "1.1": judgement("1.1", None, Verdict.FAILS),
        "1.2": None,
    }
    folders = {version: tmp_path / f"mine@{version}" for version in judgements}
    again = "testbed gate versions mine"
    shown = pictures.write(tmp_path, "mine", judgements, folders, again).read_text()
    row = r'<tr><th scope="row">([\d.]+)</th><td>\s*<span class="verdict ([\w-]+)">([\w ]+)</span></td><td>(.*?)[<\n]'
    assert "mine 1.0 to 1.2 differ in 1 of 1 budget" in shown
    assert re.findall(row, shown) == [
        ("1.0", "holds", "holds", "share = 12.5, allowed below 20"),
        ("1.1", "does-not-hold", "does not hold", "share = None, allowed below 20"),
        ("1.2", "open", "open", "its runs failed"),
    ]
    assert "Leaves [%]; 1.0. The budget: 20. 1.0 12.5, holds." in shown
    assert (tmp_path / "budget-1-narrow.svg").exists()
    assert '<a href="mine%401.0/index.html">1.0</a>' in shown and f"<code>{again}</code>" in shown
    data = json.loads((tmp_path / "versions.json").read_text())
    assert data["budgets"][0]["by_version"].keys() == {"1.0", "1.1"}
