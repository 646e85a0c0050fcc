"""What `make bench` compares with: programs under test on the host's own kernel, in real time."""

from collections.abc import Callable

import pytest

from engine.bench import native
from engine.bench.measure import PROGRAMS
from scenarios.resolve import Cell, expand


@pytest.mark.parametrize("cell", expand(PROGRAMS, "complete"), ids=lambda cell: cell.name)
def test_each_program_transfers_on_the_host(cell: Cell, program: Callable[[str], None]) -> None:
    """Each side has files of its own: a BitTorrent client that found its peer's had nothing to fetch."""
    program(cell.settings["flows"][0]["implementation"])
    assert native.cpu_s(cell) > 0
