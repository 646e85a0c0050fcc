"""The module on a kernel with four processors, under flows that change their congestion control at random.

It is Debian's own in QEMU, which checks what it allocates (slub_debug), and has no KASAN. Its processors are threads of
this host, so as many run at once as the host has.

TESTBED_STRESS_PACKETS says how many packets it carries; a long test has millions, or is the sum of several with a
TESTBED_STRESS_SEED each.
"""

import json
import os
import shutil
from pathlib import Path
from typing import Final

import pytest

from engine import images
from engine.backends.qemu import EMULATOR
from images import index
from tests.reach import machine

HERE: Final = Path(__file__).parent
SEED: Final = int(os.environ.get("TESTBED_STRESS_SEED", "1"))
PACKETS: Final = int(os.environ.get("TESTBED_STRESS_PACKETS", "100_000"))
PROCESSORS: Final = 4
LIMIT_S: Final = 7200 + PACKETS / 20


@pytest.mark.skipif(shutil.which(EMULATOR) is None, reason=f"{EMULATOR} is not installed")
@pytest.mark.skipif(not images.index_of(index.STOCK).exists(), reason="`python -m images --stock` has not been run")
def test_random_changes_of_control_on_debians_kernel(tmp_path: Path) -> None:
    added = tmp_path / "added"
    added.mkdir()
    shutil.copy(HERE / "stress.py", added)
    said = machine.printed(added, f"python3 -S /stress.py {PACKETS} {SEED}", LIMIT_S, PROCESSORS)
    outcome = json.loads(said.splitlines()[-1])
    assert outcome["complaints"] == []
    assert outcome["removed"]
    assert outcome["packets"] >= PACKETS
    assert outcome["processors"] == PROCESSORS
    assert outcome["changes"] > PACKETS / 1000
