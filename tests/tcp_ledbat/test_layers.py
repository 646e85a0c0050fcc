"""Layers that read a socket themselves, beside rledbat, in the kernel of `testbed exec`: MPTCP and BPF's sockmap.

No kernel here has kernel TLS or NVMe over TCP: KUnit cases stand for those.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine import images
from engine.errors import EngineError
from images import index

TESTBED = Path(sys.executable).parent / "testbed"
BASE_MS, TARGET_MS = 40, 60
LEFT_ALONE = ["another layer reads the socket: window left alone"]


def downloads(tmp_path: Path, *cases: str) -> list[dict[str, Any]]:
    try:
        images.load(index.LAB)
    except EngineError as error:
        pytest.skip(str(error))
    words = ["exec", "--into", str(tmp_path / "results"), str(Path(__file__).with_name("layers.py")), *cases]
    done = subprocess.run([TESTBED, *words], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("first", ["mptcp", "sockmap-first"])
def test_a_layer_that_was_there_first_leaves_the_window_alone(tmp_path: Path, first: str) -> None:
    """And the kernel's log says so, once in a boot."""
    layered, alone, again = downloads(tmp_path, first, "none", first)
    assert (layered["said"], alone["said"], again["said"]) == (LEFT_ALONE, [], [])
    for each in (layered, again):
        assert each["mbit_s"] > 9
        assert each["round_trip_ms"] > BASE_MS + 2 * TARGET_MS
    assert alone["mbit_s"] > 9
    assert alone["round_trip_ms"] < BASE_MS + 1.2 * TARGET_MS


def test_a_layer_that_comes_later_freezes_the_window(tmp_path: Path) -> None:
    """The download goes on with the window that it had."""
    later, cubic = downloads(tmp_path, "sockmap-later", "cubic")
    assert later["said"] == []
    assert later["mbit_s"] > 9
    assert later["round_trip_ms"] < BASE_MS + 1.2 * TARGET_MS
    assert cubic["round_trip_ms"] > BASE_MS + 2 * TARGET_MS
