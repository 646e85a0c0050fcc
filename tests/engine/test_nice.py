"""TCP Nice does what its paper says: it fills an idle link, leaves CUBIC nearly all of it, and comes back."""

from pathlib import Path

from analysis.run import Run
from tests.trial import carried_out

SCENARIO = """\
experiment: nice
title: TCP Nice alone, then beside CUBIC, then alone
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 25ms, backward: 25ms}
flows:
  - {name: low, implementation: tcp-nice, from: s1, to: d1}
  - {name: cubic, implementation: tcp-cubic, from: s2, to: d2, start: 20s, stop: 50s}
duration: 80s
captures: [bottleneck-out]
"""


def test_nice_takes_what_cubic_leaves(tmp_path: Path) -> None:
    run = Run(carried_out(tmp_path, SCENARIO)[0])
    assert run.throughput("low", 5, 20) > 9.8e6
    # Vegas's two to four packets of 1.2 ms
    assert run.queue_ms.mean(5, 20) < 6
    # below one packet a round trip, which would be 0.08 Mbit/s
    assert run.throughput("low", 30, 50) < 0.02e6
    assert run.throughput("cubic", 30, 50) > 9.8e6
    # the packet that waits for its turn comes within 48 round trips
    assert run.throughput("low", 65, 80) > 9.8e6
