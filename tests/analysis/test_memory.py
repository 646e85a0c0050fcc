"""Bounded memory: the analysis needs no more for longer captures, nor for more runs."""

import gc
import json
import os
import shutil
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from analysis.claims.question import Question
from analysis.runs import Runs
from analysis.table_cache import TableCache, held_bytes
from tests.analysis.synthetic import NS, ORIGIN_NS, Made, frame, pcap, vouch, write

PACKETS = 500_000
EVERY_NS = 600_000


ASK = """
import json, sys
from pathlib import Path
from analysis.claims.question import Question
from analysis.runs import Runs
ask = Question(Runs(Path(sys.argv[1])), "made-by-hand", {})
ask.ask_ahead((one, None) for one in sys.argv[2:])
print(json.dumps([ask.numbers(one, None)[0] for one in sys.argv[2:]]))
"""


# what a process has used counts from before it executes its program, when it still is pytest
WAIT_FOR = """\
import os, sys
process = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(process, 0)
print(usage.ru_maxrss, file=sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def most_mb(*arguments: str | Path) -> tuple[float, str]:
    """Run Python; return the peak of its memory, and what it printed."""
    command = [sys.executable, "-c", WAIT_FOR, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1]) / 1024, done.stdout


def long_capture(number: int, delay_ns: int) -> bytes:
    """Data packets of one flow, one each `EVERY_NS`, later by a delay."""
    data = frame(0x0A000101, 0x0A010101, 40001, 5001, 0, 0)
    records = np.tile(np.frombuffer(pcap([(0, data)])[24:], np.uint8), (number, 1))
    turn = np.arange(number, dtype=np.int64)
    times = ORIGIN_NS + turn * EVERY_NS + delay_ns
    records[:, :8] = np.stack([times // NS, times % NS], 1).astype("<u4").view(np.uint8)
    records[:, 16 + 38 : 16 + 42] = (turn * 1448 % 2**32).astype(">u4").view(np.uint8).reshape(number, 4)
    return pcap([]) + records.tobytes()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six runs with the same packets, without columns yet; only the first has captures."""
    root = tmp_path_factory.mktemp("runs")
    folder = write(root, Made([], duration=PACKETS * EVERY_NS / NS, flows=("tcp",), keep_captures=False))
    for tap, delay_ns in (("bottleneck-in.r1-s1", 0), ("bottleneck-out", 3_000_000)):
        (folder / "pcap" / f"{tap}.pcap").write_bytes(long_capture(PACKETS, delay_ns))
    vouch(folder)
    return root


def test_columns_do_not_hold_a_capture_and_measures_not_all_runs(runs: Path, tmp_path: Path) -> None:
    (first,) = runs.glob("made/*/single/seed-1")
    start, _ = most_mb("-m", "analysis", "columns", write(tmp_path, Made([])))
    most, _ = most_mb("-m", "analysis", "columns", first)
    assert most < start + 100  # of two captures of 41 MB each, as columns 90 MB
    for seed in range(2, 7):
        other = first.with_name(f"seed-{seed}")
        shutil.copytree(first, other, copy_function=os.link)
        (other / "run.json").unlink()
        settings = json.loads((first / "run.json").read_text())
        (other / "run.json").write_text(json.dumps(settings | {"seed": seed}))
        vouch(other)
    most, said = most_mb("-c", ASK, runs, 'waited_ms("tcp").mean(1, 2)', "loss_rate()", "utilization()")
    assert most < 600
    waited_ms, lost, _ = json.loads(said)
    assert waited_ms == pytest.approx({str(seed): 3.0 for seed in range(1, 7)})
    assert set(lost.values()) == {0.0}


def test_the_runs_of_a_question_go_with_it(tmp_path: Path) -> None:
    write(tmp_path, Made([]))
    ask = Question(Runs(tmp_path), "made-by-hand", {})
    assert ask.numbers("cell('single').flow_count + mean_over_seeds('single', 'flow_count')", None)
    runs = weakref.ref(ask.runs)
    del ask
    gc.collect()
    assert runs() is None


def test_what_was_not_used_for_longest_is_let_go() -> None:
    cache = TableCache(most_bytes=3000)
    made: list[str] = []

    def get(key: str, numbers: int) -> int:
        def make() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
            made.append(key)
            return np.zeros(numbers)

        return len(cache.get(key, make))

    for key in "aba":
        assert get(key, 150) == 150
    get("c", 150)
    assert made == ["a", "b", "c"]
    get("a", 150)
    get("b", 150)
    assert made == ["a", "b", "c", "b"]
    get("large", 1000)  # one value is kept whatever its size
    get("large", 1000)
    assert made[4:] == ["large"]
    assert held_bytes({"x": np.zeros(2), "y": [1.0]}) == 16 + 40
