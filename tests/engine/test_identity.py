"""Same scenario, same seed, same bytes; whatever else the host does."""

import hashlib
import os
from pathlib import Path

import pytest

from engine.run import execute, run_folder
from scenarios.resolve import expand
from tests.trust.identity import busy_host


def _bytes(folder: Path) -> dict[str, str]:
    """SHA-256 of every capture and trace."""
    files = [file for part in ("pcap", "traces") for file in sorted((folder / part).iterdir())]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.parametrize("topology", ["dumbbell", "two-path"])
def test_repeats_are_identical_on_a_busy_host_and_in_another_folder(
    scenario: Path, tmp_path: Path, topology: str
) -> None:
    if topology == "two-path":
        routed = "delay_b: {forward: 40ms, backward: 25ms}\nflows:"
        text = scenario.read_text().replace("dumbbell", topology).replace("flows:", routed)
        scenario.write_text(text.replace("on: path, delay: {forward: 40ms}", "on: route, path: {forward: b}"))
    (cell,) = expand(scenario, "full")
    execute(cell, 1, tmp_path / "quiet")
    elsewhere = tmp_path / "a folder with a longer name" / "and another level"
    with busy_host(2 * (os.cpu_count() or 1)):
        execute(cell, 1, elsewhere)
    execute(cell, 2, tmp_path / "quiet")

    first, again, other = (
        _bytes(run_folder(into, cell, seed))
        for into, seed in ((tmp_path / "quiet", 1), (elsewhere, 1), (tmp_path / "quiet", 2))
    )
    assert "bottleneck-out.pcap" in first
    assert first == again
    assert all(first[name] != other[name] for name in first if name != "events.csv")
