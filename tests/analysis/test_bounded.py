"""Captures that ask the observer for more than a computer has: it tells what it can, within bounds."""

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.capture import pcap
from analysis.errors import BadInputError
from analysis.observer import delay
from analysis.observer.conversation import Samples
from analysis.observer.standalone import captures
from tests.analysis import crafted

PKTS = 20_000
MEMORY_BYTES = 600 << 20
CPU_S = 30
WITHOUT_DRAWING = """\
import sys
from analysis.figures import svg
svg.plain = lambda _: "<svg></svg>"  # V8 takes more memory than the captures
from analysis.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def bound() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


@pytest.mark.parametrize("name", crafted.CRAFTED)
def test_no_capture_takes_more_than_its_packets_may(tmp_path: Path, name: str) -> None:
    capture = crafted.write(tmp_path / "a.pcap", crafted.CRAFTED[name](PKTS))
    command = [sys.executable, "-c", WITHOUT_DRAWING, "observe", str(capture), "--into", str(tmp_path / "out")]
    done = subprocess.run(command, preexec_fn=bound, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    flows = json.loads((tmp_path / "out" / "observation.json").read_text())["flows"]
    if name in ("one_distant_stamp", "distant_stamps"):
        said = flows[0]["seen_in"][0]["limited_by"]["not_observed"]
        assert "s apart, allowed are" in said and "the longest silence: from" in said


def test_more_packets_than_fit_are_refused_with_the_number_of_the_first(tmp_path: Path) -> None:
    capture = crafted.write(tmp_path / "a.pcap", crafted.one_flow(400))
    assert captures.read(capture, 400)[0].pkts == 400
    with pytest.raises(BadInputError, match=r"a.pcap: packet 301: too many packets of TCP and UDP; allowed: "):
        captures.read(capture, 300)


def test_a_packed_capture_is_not_unpacked_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(crafted.write(tmp_path / "a.pcap", crafted.one_flow(100_000)).read_bytes()))
    monkeypatch.setattr(pcap, "MOST_UNPACKED_BYTES", 1 << 20)
    with pytest.raises(BadInputError, match=r"more bytes when unpacked; allowed: 1048576 bytes"):
        list(pcap.read_chunks(path))


@given(st.lists(st.tuples(st.floats(0, 3000), st.floats(-1, 1)), min_size=1))
def test_the_base_is_the_smallest_delay_of_ten_minutes(drawn: list[tuple[float, float]]) -> None:
    times, values = np.array(sorted(drawn)).T
    minutes = times // 60
    expected = [
        min(values[: i + 1][minutes[: i + 1] > minutes[i] - delay.BASE_HISTORY_MINUTES]) for i in range(len(times))
    ]
    assert delay.base(Samples(times, values)).tolist() == expected
