"""A run is what its scenario says, and the checks notice when it is not."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.capture import pcap
from engine import crosscheck
from engine.errors import EngineError
from engine.recorder import BOTTLENECK, wanted
from engine.run import _check_space, execute, run_folder
from scenarios.errors import ScenarioError
from scenarios.resolve import Cell, expand, resolve
from topologies.links.base import LATENESS_NS

Sabotage = Callable[[str, str, str], None]

FAST = """\
experiment: fast
title: One TCP flow over a link of RATE
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: RATE, buffer: BUFFER}
delay: {forward: 1ms, backward: 1ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
duration: DURATION
sample: 1ms
captures: [bottleneck-out]
"""


def _cell(scenario: Path, **words: str) -> Cell:
    text = FAST
    for name, value in words.items():
        text = text.replace(name, value)
    scenario.write_text(text)
    (cell,) = expand(scenario, "complete")
    return cell


@pytest.fixture
def cell(scenario: Path) -> Cell:
    return expand(scenario, "complete")[0]


@pytest.mark.parametrize(
    ("rate", "bps", "buffer", "duration"),
    [
        ("100mbit", 100_000_000, "200p", "2s"),
        ("1gbit", 1_000_000_000, "500p", "500ms"),
        ("10gbit", 10**10, "2000p", "150ms"),
    ],
)
def test_a_fast_link_has_its_rate_on_average_and_at_each_packet(
    scenario: Path, tmp_path: Path, rate: str, bps: int, buffer: str, duration: str
) -> None:
    cell = _cell(scenario, RATE=rate, BUFFER=buffer, DURATION=duration)
    summary = execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)
    assert summary["probe"]["s1-d1"]["capacity_bps"] == pytest.approx(bps, rel=0.001)
    with (folder / "traces" / "queue.csv").open() as file:
        rows = [(int(row["time_ns"]), int(row["backlog_pkts"])) for row in csv.DictReader(file)]
    start_ns, end_ns = _longest_busy_ns(rows)
    origin_ns = json.loads((folder / "run.json").read_text())["origin_ns"]
    packets = pcap.read(folder / "pcap" / "bottleneck-out.pcap.gz").packets
    times_ns = packets["time_ns"].to_numpy() - origin_ns
    data = (packets["src"].to_numpy() == packets["src"].to_numpy()[0]) & (times_ns >= start_ns) & (times_ns < end_ns)
    times_ns, sizes_bytes = times_ns[data], packets["ip_length"].to_numpy()[data].astype(float)
    assert len(times_ns) > 1000
    # each packet follows the ones before it by their transmission times, to a packet's time or what the limiter is late
    due_ns = np.concatenate([[0], np.cumsum(8e9 * sizes_bytes[:-1] / bps)])
    assert np.ptp(times_ns - due_ns) <= max(8e9 * 1500 / bps, 2 * LATENESS_NS)
    measured_bps = 8e9 * sizes_bytes[:-1].sum() / (times_ns[-1] - times_ns[0])
    clock_step = 256 / (times_ns[-1] - times_ns[0])
    assert measured_bps == pytest.approx(bps, rel=0.0001 + clock_step)


def _longest_busy_ns(rows: list[tuple[int, int]]) -> tuple[int, int]:
    """Start and end of the longest time in which packets waited at every sample."""
    best, since = (0, 0), None
    for time_ns, waiting in rows:
        if waiting < 5:
            since = None
        elif since is None:
            since = time_ns
        elif time_ns - since > best[1] - best[0]:
            best = (since, time_ns)
    return best


def test_a_slow_link_is_probed_and_drained_as_long_as_it_takes(scenario: Path, tmp_path: Path) -> None:
    cell = _cell(scenario, RATE="1kbit", BUFFER="10p", DURATION="20s")
    summary = execute(resolve(cell, 1), tmp_path)
    assert summary["probe"]["s1-d1"]["capacity_bps"] == pytest.approx(1000, rel=0.0001)


@pytest.mark.parametrize(
    ("rate", "bps", "one_way", "buffer", "duration_s"),
    [("100mbit", 10**8, "250ms", "4200p", 12), ("1gbit", 10**9, "50ms", "8400p", 4)],
)
def test_a_long_fast_link_is_filled(
    scenario: Path, tmp_path: Path, rate: str, bps: int, one_way: str, buffer: str, duration_s: int
) -> None:
    """6 and 12.5 MB in flight, more than the usual 4 MB."""
    words = {"RATE": rate, "BUFFER": buffer, "DURATION": f"{duration_s}s", "1ms": one_way, "[bottleneck-out]": "[]"}
    cell = _cell(scenario, **words)
    execute(resolve(cell, 1), tmp_path)
    with (run_folder(tmp_path, cell, 1) / "traces" / "queue.csv").open() as file:
        sent = {int(row["time_ns"]): int(row["sent_bytes"]) for row in csv.DictReader(file)}
    second = 10**9
    best_bps = max(
        8 * (sent[at + second] - sent[at]) for at in range(0, duration_s * second, second // 4) if at + second in sent
    )
    assert best_bps == pytest.approx(bps, rel=0.001)


def _described(cell: Cell, **changes: Any) -> dict[str, Any]:
    """What run.json says when some of the cell's settings differ."""
    return resolve(replace(cell, settings={**cell.settings, **changes}), 1)


def test_lead_grows_with_pairs_and_round_trip(scenario: Path) -> None:
    cell = _cell(scenario, RATE="10mbit", BUFFER="40p", DURATION="1s")
    assert _described(cell)["lead"]["probe_ns"] == 10_000_000_000
    flow = cell.settings["flows"][0]
    many = replace(cell, start_jitter_ns={str(pair): 0 for pair in range(1, 251)})
    text = _described(
        many,
        flows=[{**flow, "name": str(pair), "from": f"s{pair}", "to": f"d{pair}"} for pair in range(1, 251)],
        topology={"name": "dumbbell", "pairs": 250},
        delay={"forward_ns": 300_000_000, "backward_ns": 300_000_000},
    )["lead"]
    # 250 times two ways there and two back, at least
    assert text["probe_ns"] - text["endpoints_ns"] >= 250 * 4 * 300_000_000
    assert text["endpoints_ns"] >= 5_000_000_000


def test_sizes_follow_what_can_be_under_way(scenario: Path) -> None:
    cell = _cell(scenario, RATE="10mbit", BUFFER="400p", DURATION="1s")
    standard = _described(cell)["sizes"]
    assert (standard["memory_mib"], standard["kernel"]) == (512, {})
    far = {"forward_ns": 50_000_000, "backward_ns": 50_000_000}
    fast = {"rate_bps": 10**9, "buffer_pkts": 8000}
    large = _described(cell, bottleneck=fast, delay=far)["sizes"]
    assert large["receive_buffer_bytes"] >= 2 * 12_500_000
    assert large["kernel"].keys() == {"net/ipv4/tcp_mem", "net/core/netdev_max_backlog"}
    event = {"at_ns": 0, "on": "path", "delay": {"forward_ns": 950_000_000}}
    larger = _described(cell, bottleneck=fast, delay=far, events=[event])["sizes"]
    assert larger["memory_mib"] > large["memory_mib"]
    with pytest.raises(ScenarioError, match=r"needs a guest of \d+ MiB: .*; allowed: .* a guest of 8192 MiB"):
        _described(cell, bottleneck={"rate_bps": 10**10, "buffer_pkts": 8000}, delay={**far, "forward_ns": 10**9})


def test_memory_of_captures_is_shared(scenario: Path) -> None:
    cell = _cell(scenario, RATE="10mbit", BUFFER="40p", DURATION="1s")
    assert resolve(cell, 1, "qemu")["sizes"]["capture_buffer_kib"] == 16384
    settings = {"topology": {"name": "dumbbell", "pairs": 250}, "captures": ["sender", "receiver"]}
    many = replace(cell, settings={**cell.settings, **settings})
    assert 500 * resolve(many, 1, "qemu")["sizes"]["capture_buffer_kib"] <= 256 << 10
    for what in ("sizes", "lead"):  # what the kernel records makes no difference
        assert _described(many)[what] == _described(many, captures=[])[what]


def test_what_begins_late_fails_the_run(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage(
        "engine/guest/agent.py",
        '    _begin("the endpoints\' start"',
        '    sleep_until(origin_ns - 4_000_000_000)\n    _begin("the endpoints\' start"',
    )
    with pytest.raises(
        EngineError, match=r"the endpoints' start would begin 1\.\d+ s late: what comes before took too long"
    ):
        execute(resolve(cell, 1), tmp_path)


@pytest.mark.parametrize(
    ("file", "words", "others", "told"),
    [
        ("base", "pfifo limit {self.buffer_pkts}", "pfifo limit {self.buffer_pkts - 1}", "buffer_pkts of r1-r2 is 39"),
        ("netem", "{self._LIMIT_PKTS} delay", "{self._LIMIT_PKTS} loss 0.0005% delay", r"loss_ppm of r[12]-\w+ is 5"),
        ("netem", "netem limit {self._LIMIT_PKTS}", "netem limit 1000", r"limit_pkts of r[12]-\w+ is 1000"),
    ],
)
def test_the_kernels_own_account_is_compared(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, file: str, words: str, others: str, told: str
) -> None:
    sabotage(f"topologies/links/{file}.py", words, others)
    with pytest.raises(EngineError, match=rf"audit: before the probe: {told}, the scenario says"):
        execute(resolve(cell, 1), tmp_path)


def test_an_event_without_effect_fails_the_run(scenario: Path, tmp_path: Path, sabotage: Sabotage) -> None:
    """Also if a later event reverts it, so that everything is right at the end."""
    back = "  - {at: 2500ms, on: bottleneck, rate: 10mbit}\n  - {at: 3s, on: path"
    scenario.write_text(scenario.read_text().replace("  - {at: 3s, on: path", back))
    (cell,) = expand(scenario, "complete")
    sabotage("topologies/network.py", "        batch.run()\n        self.egress", "        self.egress")
    told = r"audit: after the event at 2 s: rate_bps of r1-r2 is 10000000, the scenario says 5000000"
    with pytest.raises(EngineError, match=told):
        execute(resolve(cell, 1), tmp_path)


def _before_the_scenario(act: str) -> tuple[str, str, str]:
    call = '    outcome["latest_event_ns"] = _scenario'
    return "engine/guest/agent.py", call, f"    {act}\n{call}"


def test_unexpected_packets_are_named(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    send = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('239.192.152.143', 6771))"
    act = "import socket; from topologies.batch import entered; inside = entered(net['s1'].namespace); "
    sabotage(*_before_the_scenario(f"{act}inside.__enter__(); [{send} for _ in range(10)]; inside.__exit__()"))
    told = r"10 to 239\.192\.152\.143 \(multicast\), UDP port 6771 at r1-s1"
    with pytest.raises(
        EngineError, match=rf"packets came to the bottleneck, .*; not for a host of the scenario: {told}"
    ):
        execute(resolve(cell, 1), tmp_path)


def test_packets_lost_before_anybody_counted_them_fail_the_run(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage(*_before_the_scenario("open('/proc/sys/net/core/netdev_max_backlog', 'w').write('0')"))
    with pytest.raises(EngineError, match=r"audit: .* lost \d+ packets|audit: \d+ packets were lost in softnet"):
        execute(resolve(cell, 1), tmp_path)


def test_a_sampler_that_ended_otherwise_fails_the_run(cell: Cell, tmp_path: Path, sabotage: Sabotage) -> None:
    sabotage(*_before_the_scenario("import os; os.kill(samplers[0], 9)"))
    with pytest.raises(EngineError, match="a queue's sampler ended with -9"):
        execute(resolve(cell, 1), tmp_path)


def test_a_relay_that_ended_fails_the_run(scenario: Path, tmp_path: Path, sabotage: Sabotage) -> None:
    scenario.write_text(scenario.read_text() + "clocks: [{host: s2, offset: 1s}]\n")
    sabotage(*_before_the_scenario("import os; os.kill(relays._processes['s2'], 9)"))
    with pytest.raises(EngineError, match=r"the relay of s2 ended with -9|flow ledbat: sender exited"):
        execute(resolve(expand(scenario, "complete")[0], 1), tmp_path)


def test_a_backward_limit_counts_for_disk_and_not_for_the_forward_rate(cell: Cell, tmp_path: Path) -> None:
    fast = _described(cell, backward_bottleneck={"rate_bps": 10**9, "buffer_pkts": 100})
    needed = [_check_space(tmp_path, run, wanted(run, BOTTLENECK))[1] for run in (fast, _described(cell))]
    assert needed[0] > 10 * (needed[1] - 4 * (64 << 20))
    backward = {"at_ns": 0, "on": "backward_bottleneck", "rate_bps": 1_000_000}
    assert crosscheck._rate_bps({"bottleneck": {"rate_bps": 10_000_000}, "events": [backward]}, 1) == 10_000_000
