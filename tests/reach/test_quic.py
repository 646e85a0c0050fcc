"""QUIC stacks, some of whose builds take minutes: each sends, and the same seed gives the same packets."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.run import run_folder
from tests.trust import identity

TOOLS = {"quinn": "cargo", "noq": "cargo", "s2n-quic": "cargo", "quiche": "cargo", "x-net-quic": "go"}
LEAST_BYTES = 2_000_000
"""Of the 5 MB that fit into the 20 s; 1 % of the packets is lost in the second half."""


@pytest.mark.parametrize(
    "name", ["quinn", "noq", "aioquic", "picoquic", "ngtcp2", "openssl-quic", "x-net-quic", "s2n-quic", "quiche"]
)
def test_a_stack_sends_the_same_packets_twice(program: Callable[[str], None], tmp_path: Path, name: str) -> None:
    if (tool := TOOLS.get(name)) and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    program(name)
    cell = identity.of_implementations(tmp_path)[name]
    digests, different = identity.differing(cell, tmp_path)
    assert "pcap/bottleneck-out.pcap.gz" in digests
    assert not different
    flow = json.loads((run_folder(tmp_path / "alone", cell, identity.SEED) / "summary.json").read_text())["flows"]["it"]
    assert (flow["sender_exit"], flow["receiver_exit"]) == (0, 0)
    assert flow["received_bytes"] > LEAST_BYTES


def test_quic_go_receives_from_a_stack_that_knows_no_ed25519(program: Callable[[str], None], tmp_path: Path) -> None:
    """picoquic refuses such a certificate, and a receiver that leaves before its last answer is out."""
    for name in ("picoquic", "quic-go"):
        program(name)
    words = ["interop", "picoquic", "quic-go", "--case", "transfer", "--into", str(tmp_path)]
    subprocess.run([Path(sys.executable).parent / "testbed", *words], check=True)
    [document] = tmp_path.glob("*/interop.json")
    results = json.loads(document.read_text())["results"]
    [told] = {entry["result"] for entry in results if (entry["sender"], entry["receiver"]) == ("picoquic", "quic-go")}
    assert told == "passed"
