"""Same scenario, same seed, same bytes; whatever else the host does."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.run import execute, run_folder
from scenarios.resolve import Cell, expand, resolve
from tests.trust.identity import busy_host


def _bytes(folder: Path) -> dict[str, str]:
    """SHA-256 of every capture and trace."""
    files = [file for part in ("pcap", "traces") for file in sorted((folder / part).iterdir())]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(params=["dumbbell", "two-path"])
def cell(scenario: Path, request: pytest.FixtureRequest) -> Cell:
    if request.param == "two-path":
        routed = "delay_b: {forward: 40ms, backward: 25ms}\nflows:"
        text = scenario.read_text().replace("dumbbell", request.param).replace("flows:", routed)
        scenario.write_text(text.replace("on: path, delay: {forward: 40ms}", "on: route, path: {forward: b}"))
    return expand(scenario, "complete")[0]


def test_repeats_are_identical_on_a_busy_host_and_in_another_folder(cell: Cell, tmp_path: Path) -> None:
    execute(resolve(cell, 1), tmp_path / "quiet")
    elsewhere = tmp_path / "a folder with a longer name" / "and another level"
    with busy_host(2 * (os.cpu_count() or 1)):
        execute(resolve(cell, 1), elsewhere)
    execute(resolve(cell, 2), tmp_path / "quiet")

    first, again, other = (
        _bytes(run_folder(into, cell, seed))
        for into, seed in ((tmp_path / "quiet", 1), (elsewhere, 1), (tmp_path / "quiet", 2))
    )
    assert "bottleneck-out.pcap" in first
    assert first == again
    assert all(first[name] != other[name] for name in first if name != "events.csv")


@pytest.mark.parametrize("calls", [1, 1000])
def test_what_happens_before_a_scenario_moves_nothing_in_it(
    cell: Cell, tmp_path: Path, sabotage: Callable[[str, str, str], None], calls: int
) -> None:
    """Each system call takes 256 ns, and the instants at which timers were set once moved those that follow."""
    execute(resolve(cell, 1), tmp_path / "plain")
    begin = "    network.load_modules(run)\n"
    sabotage("engine/guest/agent.py", begin, f"{begin}    import os\n    [os.stat('/') for _ in range({calls})]\n")
    execute(resolve(cell, 1), tmp_path / "later")
    assert _bytes(run_folder(tmp_path / "later", cell, 1)) == _bytes(run_folder(tmp_path / "plain", cell, 1))
