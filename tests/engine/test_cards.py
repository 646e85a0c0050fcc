"""A host's own network card and socket buffers limit what they should."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.run import execute
from scenarios.errors import ScenarioError
from scenarios.resolve import expand, resolve
from tests.trial import trial

SCENARIO = """\
experiment: cards
title: A host whose card is slower than the network
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 100mbit, buffer: 400p}
cards: [{host: s1, rate: 20mbit, buffer: 1000p, queue: fq}]
delay: {forward: 20ms, backward: 20ms}
flows:
  - {name: it, implementation: udp-cbr, from: s1, to: d1, params: {rate: 30mbit}}
cases:
  flow-limit: {}
  small-buffer: {sockets: {send: 20kB}}
  tcp: {flows: [{name: it, implementation: tcp-cubic, from: s1, to: d1}]}
  window: {flows: [{name: it, implementation: tcp-cubic, from: s2, to: d2}], sockets: {receive: 100kB}}
duration: 4s
captures: []
"""


@pytest.fixture(scope="module")
def cards(program: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Summaries by case."""
    program("udp-cbr")
    folder = tmp_path_factory.mktemp("cards")
    cells = expand(trial(folder, SCENARIO), "complete")
    return {cell.name.removeprefix("case="): execute(resolve(cell, 1), folder) for cell in cells}


def test_a_card_sends_at_its_rate(cards: dict[str, dict[str, Any]]) -> None:
    assert cards["tcp"]["probe"]["s1-d1"]["capacity_bps"] == pytest.approx(20e6, rel=0.001)
    assert cards["tcp"]["counters"]["queues"]["bottleneck"]["dropped_pkts"] == 0
    assert cards["tcp"]["flows"]["it"]["received_bytes"] == pytest.approx(4 * 20e6 / 8, rel=0.1)
    # the queue is the host's own, so TCP does not fill it
    assert cards["tcp"]["counters"]["cards"]["s1"]["dropped_pkts"] == 0


def test_datagrams_are_refused_by_a_full_queue_and_wait_for_a_full_buffer(cards: dict[str, dict[str, Any]]) -> None:
    full_queue, full_buffer = (cards[case]["counters"]["cards"]["s1"] for case in ("flow-limit", "small-buffer"))
    # fq holds 100 packets of a flow; a socket of 20 kB fewer, and the program waits for room
    assert full_queue["dropped_pkts"] == full_queue["refused_datagrams"] > 1000
    assert full_buffer["dropped_pkts"] == 0


def test_a_receive_buffer_limits_the_window(cards: dict[str, dict[str, Any]]) -> None:
    received_bps = 8 * cards["window"]["flows"]["it"]["received_bytes"] / 4
    # at most the buffer in each round trip of 40 ms
    assert 2e6 < received_bps < 8 * 100e3 / 0.04
    assert cards["window"]["probe"]["s2-d2"]["capacity_bps"] == pytest.approx(100e6, rel=0.001)


def test_a_card_needs_a_host(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        expand(trial(tmp_path, SCENARIO.replace("host: s1", "host: s3")), "complete")
    assert "cards[0].host: unknown host 's3'; allowed: s1, s2, d1, d2" in str(caught.value)
