"""The faults that planted.py plants: each has its line, and changes only that."""

import shutil
from pathlib import Path

import yaml

from tests.hunt.planted import LIBUTP, MODULES, QUIC, ROOT, Fault, Found, against_random, faults, table
from tests.hunt.reach import CONDITIONS, SEEDS, first


def test_each_fault_can_be_planted(tmp_path: Path) -> None:
    """Those in sources that are fetched, of libutp and quic-go, are planted when they are built."""
    for folder in ("images/tcp_ledbat", "images/implementations/libutp", "images/implementations/anacrolix-utp"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    known = faults()
    assert len({fault.client for fault in known}) == len(known)
    for fault in known:
        fault.plant(tmp_path)
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


def test_a_search_against_the_random_one() -> None:
    numbers = {"tour": (10, 30, 20, 9), "random": (40, 20, 60)}
    found = [
        Found("deaf", how, seed, 1, "harm", 16, runs, 1.0)
        for how, all_runs in numbers.items()
        for seed, runs in enumerate(all_runs)
    ]
    *_, row = against_random(found)
    assert row == "| it takes the queue to be empty | tour | 20 | 40 | 2.0 | 2 of 3 seeds |"


def test_tours_meet_bursts_of_losses_in_a_fifth_of_the_scenarios() -> None:
    """Twenty repetitions; the page has what is less rare, and what tours do not help to meet."""
    condition = CONDITIONS["2 % of losses and more, in bursts"]
    tour, random = (sum(first(how, seed, condition) for seed in SEEDS) for how in ("tour", "random"))
    assert random >= 5 * tour
