"""ledbatpp beside receivers that delay acknowledgements by at most 40, 100 or 200 ms, on long and on short paths."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine import images
from engine.errors import EngineError
from images import index

TESTBED = Path(sys.executable).parent / "testbed"
CASES_MS = (40, 100, 200)
FULL_MBIT_S = 57.4
SETTLED = 3  # tens of seconds


@pytest.mark.parametrize("one_way_ms", [5, 60, 150])
def test_a_receivers_timer_makes_no_queue(tmp_path: Path, one_way_ms: int) -> None:
    try:
        images.load(index.LAB)
    except EngineError as error:
        pytest.skip(str(error))
    script = Path(__file__).with_name("delayed_acks.py")
    words = ["exec", "--into", str(tmp_path / "results"), str(script), *map(str, (one_way_ms, *CASES_MS))]
    done = subprocess.run([TESTBED, *words], capture_output=True, text=True, check=True)
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [each["delay_us"] for each in said] == [1000 * most_ms for most_ms in CASES_MS]
    for each in said:
        settled = each["mbit_s"][SETTLED:]
        assert max(settled) > 0.99 * FULL_MBIT_S
        assert min(settled) > 0.6 * FULL_MBIT_S  # with a slowdown in these ten seconds
        assert sum(settled) > 0.85 * FULL_MBIT_S * len(settled)
