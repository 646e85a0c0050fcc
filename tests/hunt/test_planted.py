"""The faults that planted.py plants: each has its line, and changes only that."""

import random
import shutil
from pathlib import Path

import yaml

from tests.hunt.mutants import drawn
from tests.hunt.planted import LIBUTP, MODULES, QUIC, ROOT, Fault, Found, against_random, faults, summary, table
from tests.hunt.reach import CONDITIONS, SEEDS, first


def test_each_fault_can_be_planted(tmp_path: Path) -> None:
    """Those in sources that are fetched, of libutp and quic-go, are planted when they are built."""
    for folder in ("images/tcp_ledbat", "images/implementations/libutp", "images/implementations/anacrolix-utp"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    known = faults()
    assert len({fault.client for fault in known}) == len(known)
    for fault in known:
        fault.plant(tmp_path, known)
        own = tmp_path / "images" / "implementations" / fault.client
        assert yaml.safe_load((own / "implementation.yaml").read_text())["extends"] == fault.of
        made = {file.name for file in own.iterdir()} - {"implementation.yaml"}
        assert made == _expected(fault)


def _expected(fault: Fault) -> set[str]:
    if fault.of in MODULES:
        return set()
    if fault.of == QUIC:
        return {"build", "endpoint.go", "planted"}
    return {"build", "planted.sed"} if fault.file == LIBUTP else {fault.file}


def test_the_table_of_what_was_found() -> None:
    found = [
        Found("deaf", "random", seed, number, "harm" if number else "", 16, runs, 1.0)
        for seed, number, runs in ((2, 7, 30), (1, None, 40))
    ]
    *_, row = table(found)
    assert row == "| it takes the queue to be empty | tcp-ledbat | not in 40, 30 | harm |"
    alarm = Found("harmless-byte", "random", 2, 3, "harm", 16, 30, 1.0)
    assert list(summary([*found, alarm])) == [
        "random, seed 1: 0 of 1 faults found (0 to 79 %), 0 alarms at 0 harmless changes",
        "random, seed 2: 1 of 1 faults found (21 to 100 %), 1 alarms at 1 harmless changes",
    ]


def test_a_search_against_the_random_one() -> None:
    numbers = {"tour": (10, 30, 20, 9), "random": (40, 20, 60)}
    found = [
        Found("deaf", how, seed, 1, "harm", 16, runs, 1.0)
        for how, all_runs in numbers.items()
        for seed, runs in enumerate(all_runs)
    ]
    *_, row = against_random(found)
    assert row == "| it takes the queue to be empty | tour | 20 | 40 | 2.0 | 2 of 3 seeds |"


def test_tours_meet_what_breaks_clients_in_a_fifth_of_the_scenarios() -> None:
    """Twenty repetitions of all conditions together; the page has each."""
    tour, at_random = (
        sum(first(how, seed, condition) for condition in CONDITIONS.values() for seed in SEEDS)
        for how in ("tour", "random")
    )
    assert at_random >= 5 * tour


def test_mutants_are_drawn_and_repeat() -> None:
    """A line that stands twice has no mutant, as sed would change both."""
    text = "\tif (a > 3) {\n\t\tstop();\n\t}\n\twindow = 2 * b;\n\tstop();\n"
    draws = [random.Random(seed) for seed in (1, 1, 2, 3, 4, 5)]  # noqa: S311 (repeats)
    every = [list(drawn("libutp", {"utp_internal.cpp": text}, draw)) for draw in draws]
    assert every[0] == every[1]
    assert {fault.old for faults in every for fault in faults} == {"if (a > 3) {", "window = 2 * b;"}
    changed = {fault.new for faults in every for fault in faults}
    assert changed <= {
        *("if (a >= 3) {", "if (a > 2) {", "if (a > 12) {", "if (a > 0) {", "if (true) {", "if (false) {"),
        *("window = 2 / b;", "window = 3 * b;", "window = 8 * b;", "window = 0 * b;", ";"),
    }
