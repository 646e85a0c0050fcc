"""Layers that read a socket themselves, in the kernel of `testbed exec`: MPTCP, BPF's sockmap and kernel TLS.

No kernel here has NVMe over TCP: KUnit cases stand for it.
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


@pytest.mark.parametrize("first", ["mptcp", "sockmap-first", "tls-first"])
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


def test_kernel_tls_that_comes_later_leaves_the_window_to_the_module(tmp_path: Path) -> None:
    """It reads records as a program would, so the module sees them."""
    (later,) = downloads(tmp_path, "tls-later")
    assert later["said"] == []
    assert later["mbit_s"] > 0.9 * 9
    assert later["round_trip_ms"] < BASE_MS + 1.2 * TARGET_MS


def test_ledbatpp_sends_what_the_kernel_encrypts(tmp_path: Path) -> None:
    """As what is not encrypted; slowdowns take a tenth of the time at most."""
    for each in downloads(tmp_path, "ledbatpp", "ledbatpp-tls"):
        assert each["mbit_s"] > 0.9 * 9
        assert each["round_trip_ms"] < BASE_MS + 1.2 * TARGET_MS
