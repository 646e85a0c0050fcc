"""The module on Debian's own kernel with four processors, under flows that change their congestion control at random.

The emulator's processors take turns, so a run repeats and does not depend on the host's speed. They are interrupted
anywhere, but never write at the same time. The kernel checks what it allocates (slub_debug); it has no KASAN.
"""

import json
import shutil
from pathlib import Path

import pytest

from engine import images
from engine.backends.qemu import EMULATOR
from images import index
from tests.reach import machine

PACKETS = 100_000
PROCESSORS = 4

pytestmark = [
    pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed"),
    pytest.mark.skipif(not images.index_of(index.STOCK).exists(), reason="`python -m images.stock` has not been run"),
]


def test_random_changes_of_control_on_four_processors(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    shutil.copy(Path(__file__).with_name("stress.py"), added)
    said = machine.printed(added, f"python3 -S /stress.py {PACKETS}", 7200, PROCESSORS)
    outcome = json.loads(said.splitlines()[-1])
    assert outcome["complaints"] == [], said
    assert outcome["removed"]
    assert outcome["packets"] >= PACKETS
    assert outcome["processors"] == PROCESSORS
    assert outcome["changes"] > PACKETS / 1000
