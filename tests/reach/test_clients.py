"""Clients whose builds or checks take minutes keep the contract, but for docs/results/findings.md."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.check import command as check

TOOLS = {"utp-go": "go", "utp-js": "npm", "irontide-utp": "cargo"}
WRONG = {"irontide-utp": ["transfers 1 MB from sender to receiver"]}


TRANSMISSIONS = ["transmission-3.00", "transmission-4", "transmission-4.1.3", "transmission-4.1.4"]


@pytest.mark.parametrize("name", ["utp-go", "utp-js", "libktorrent", "irontide-utp", *TRANSMISSIONS])
def test_a_client_keeps_the_contract(program: Callable[[str], None], tmp_path: Path, name: str) -> None:
    if (tool := TOOLS.get(name)) and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    program(name)
    findings = list(check.check(name, tmp_path))
    assert [finding.demand for finding in findings if finding.wrong] == WRONG.get(name, [])
