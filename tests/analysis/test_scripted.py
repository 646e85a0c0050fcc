"""The observer on packets that a script gives: why a packet was sent again, and which round-trip times count."""

from pathlib import Path

import pytest

from analysis.capture.columns import write_columns
from analysis.observer.flight import Flight, RetransmitCause
from analysis.run import Run
from tests.analysis.scripted import captured

BEGINNING = """\
# A way of 50 ms and back, and one packet is sent twice
0          < SYN seq=1
+0.05...1  > STATE ack=1
+0         < DATA seq=2 bytes=1000
+0.05...1  > STATE ack=2
+0         < DATA seq=3 bytes=1000
+0         < DATA seq=4 bytes=1000
+0         < DATA seq=5 bytes=1000
"""
BY_ANSWERS = """\
+0.05...1  > STATE ack=2
+0...1     > STATE ack=2
+0.001     < DATA seq=3 bytes=1000
+0.05...1  > STATE ack=5
+0         < DATA seq=6 bytes=1000
+0.05...1  > STATE ack=6
"""
BY_A_TIMER = """\
+1         < DATA seq=3 bytes=1000
+0.05...1  > STATE ack=5
+0         < DATA seq=6 bytes=1000
+0.05...1  > STATE ack=6
"""


def flight(tmp_path: Path, text: str) -> Flight:
    folder = captured(tmp_path, text)
    assert write_columns(folder) == []
    return Run(folder).flight("utp")


@pytest.mark.parametrize(
    ("repair", "cause"), [(BY_ANSWERS, RetransmitCause.FAST), (BY_A_TIMER, RetransmitCause.TIMEOUT)]
)
def test_why_a_packet_was_sent_again(tmp_path: Path, repair: str, cause: RetransmitCause) -> None:
    seen = flight(tmp_path, BEGINNING + repair)
    assert seen.retransmissions.causes == [cause]
    # packets 2 and 6; the answer to 5 also acknowledges 3, which was sent twice (Karn)
    assert seen.round_trips.values == pytest.approx([0.05, 0.05])
