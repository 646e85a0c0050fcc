"""The faults that planted.py plants: each has its line, and changes only that."""

import shutil
from pathlib import Path

import yaml

from tests.hunt.planted import LIBUTP, MODULE, ROOT, Found, faults, table


def test_each_fault_can_be_planted(tmp_path: Path) -> None:
    """Those in libutp's own source, which is fetched, are planted when it is built."""
    for folder in ("images/tcp_ledbat", "images/implementations/libutp"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    known = faults()
    assert len({fault.client for fault in known}) == len(known)
    for fault in known:
        fault.plant(tmp_path)
        own = tmp_path / "images" / "implementations" / fault.client
        assert yaml.safe_load((own / "implementation.yaml").read_text())["extends"] == fault.of
        made = {file.name for file in own.iterdir()} - {"implementation.yaml"}
        expected = {MODULE: set(), "libutp": {"build", "planted.sed"} if fault.file == LIBUTP else {fault.file}}
        assert made == expected[fault.of]


def test_the_table_of_what_was_found() -> None:
    found = [
        Found("deaf", "random", seed, number, "harm" if number else "", 16, 40, 1.0)
        for seed, number in ((2, 7), (1, None))
    ]
    *_, row = table(found)
    assert row == "| it takes the queue to be empty | tcp-ledbat | not in 16, 7 | harm |"
