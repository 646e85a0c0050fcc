"""The same scenarios over IPv4 and IPv6: what differs is what 20 more bytes of each header change, and nothing else."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from analysis.capture import pcapng
from analysis.capture.columns import write_columns
from analysis.run import Run
from engine.run import execute, run_folder
from scenarios.resolve import Cell, expand, resolve
from tests.trial import trial

BOTH = """\
experiment: both
title: Flows over both versions of IP
ip: "${ip}"
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 20ms, backward: 20ms}
tcp: {initial_window: 4p}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
  - {name: ledbat, implementation: tcp-ledbat, from: s2, to: d2}
duration: 10s
captures: [bottleneck-in, bottleneck-out, sender, receiver]
matrix: {ip: [4, 6]}
"""
ENDS = {
    4: {"10.0.1.1", "10.0.2.1", "10.1.1.1", "10.1.2.1"},
    6: {"fd00:0:1::1", "fd00:0:2::1", "fd00:1:1::1", "fd00:1:2::1"},
}
TCP, UDP, ICMPV6 = 6, 17, 58
OVER_TCP = ("web", "video", "tcp-cbr", "libtorrent-tcp")

# each topology, and whatever else touches packets or routes
ELSEWHERE = """\
experiment: elsewhere
title: Flows over IPv6 in every topology, through relays, boxes and filters
ip: 6
topology: {name: dumbbell, pairs: 3}
bottleneck: {rate: 10mbit, buffer: 40p}
delay: {forward: 20ms, backward: 20ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: s1, to: d1}
  - {name: ledbat, implementation: tcp-ledbat, from: s2, to: d2}
  - {name: third, implementation: tcp-ledbatpp, from: s3, to: d3}
duration: 4s
cases:
  relayed:
    clocks: [{host: d2, offset: 100ms, skew: 50ppm}]
    middleboxes: [{host: d1, acks: split, ecn: bleached}]
    cards: [{host: s3, rate: 5mbit, buffer: 50p}]
    tcp: {ecn: "on"}
  filtered:
    tcp: {mtu_probing: black-hole}
    events:
      - {at: 1s, on: path, mtu: {forward: 1280B}}
      - {at: 2s, on: path, corrupt: {forward: 1%}, duplicate: {forward: 1%}, loss: {backward: 1%}}
      - {at: 3s, on: path, black_hole: {forward: 1400B}, policed: {backward: 1mbit}, policed_burst: {backward: 9kB}}
  switched:
    topology: {name: two-path}
    delay_b: {forward: 40ms, backward: 40ms}
    events: [{at: 1s, on: route, path: {forward: b}}, {at: 2s, on: route, path: {backward: b}}]
  queued:
    topology: {name: parking-lot}
    more_bottlenecks: [{rate: 8mbit, buffer: 30p}]
    spans: [[1, 2], [2, 2], [1, 1]]
  limited:
    backward_bottleneck: {rate: 2mbit, buffer: 20p}
    flows:
      - {name: tcp, implementation: tcp-reno, from: d1, to: s1}
      - {name: ledbat, implementation: tcp-ledbat, from: s2, to: d2}
"""
SWARM = """\
experiment: peers
title: Peers with IPv6 addresses
ip: 6
topology: {name: swarm, peers: 3}
bottleneck: {rate: 10mbit, buffer: 40p}
backward_bottleneck: {rate: 20mbit, buffer: 40p}
delay: {forward: 20ms, backward: 20ms}
flows:
  - {name: tcp, implementation: tcp-reno, from: p1, to: p2}
  - {name: ledbat, implementation: tcp-ledbat, from: p2, to: p3}
duration: 4s
"""
# long enough for Linux to look through what it learnt, which it does every 30 s
LEARNT = """\
experiment: learnt
title: A sender that learns the MTU of its path
ip: 6
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 2mbit, buffer: 40p}
delay: {forward: 20ms, backward: 20ms}
flows: [{name: tcp, implementation: tcp-reno, from: s1, to: d1}]
events: [{at: 0s, on: path, mtu: {forward: 1280B}}]
duration: 64s
captures: [sender]
"""
MTU_BYTES = 1280


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Run]:
    """A run with columns by its version of IP."""
    folder = tmp_path_factory.mktemp("both")
    return {cell.settings["ip"]: carried_out(cell, folder) for cell in expand(trial(folder, BOTH), "complete")}


def carried_out(cell: Cell, folder: Path) -> Run:
    execute(resolve(cell, 1), folder)
    made = run_folder(folder, cell, 1)
    assert write_columns(made) == []
    return Run(made)


def packets(run: Run) -> pl.DataFrame:
    return pl.read_parquet(run.folder / "columns" / "packets.parquet")


@pytest.mark.parametrize("version", [4, 6])
def test_hosts_talk_over_one_version_and_nobody_else_says_a_word(runs: dict[int, Run], version: int) -> None:
    seen = packets(runs[version])
    assert {*seen["src"].unique(), *seen["dst"].unique()} == ENDS[version]
    assert seen["proto"].unique().to_list() == [TCP]
    assert seen["flow"].null_count() == 0
    assert seen["ip_length"].max() == 1500


def test_a_header_of_40_bytes_leaves_20_bytes_less_for_data(runs: dict[int, Run]) -> None:
    whole = {version: packets(run)["payload_bytes"].max() for version, run in runs.items()}
    assert whole == {4: 1500 - 20 - 32, 6: 1500 - 40 - 32}
    got = {
        version: sum(flow["received_bytes"] for flow in run.summary.data["flows"].values())
        for version, run in runs.items()
    }
    # both are full links of 1500 bytes a packet
    assert got[6] / got[4] == pytest.approx(1428 / 1448, rel=0.01)
    for run in runs.values():
        both = sum(run.throughput(name, 2, 10) for name in ("tcp", "ledbat"))
        assert both == pytest.approx(10e6, rel=0.01)


def test_the_queue_and_the_losses_are_found_in_packets(runs: dict[int, Run], tmp_path: Path) -> None:
    for run in runs.values():
        counted = run.summary.data["counters"]["queues"]["bottleneck"]["dropped_pkts"]
        assert counted > 0
        assert len(run.drops().times) == counted
        pcapng.write(run.folder, tmp_path / "all.pcapng")
        assert (tmp_path / "all.pcapng").read_bytes().count(pcapng.DROPPED.encode()) == counted


@pytest.mark.parametrize(("version", "ip_bytes", "kept_bytes"), [(4, 20, 96), (6, 40, 116)])
def test_captures_keep_all_options(runs: dict[int, Run], version: int, ip_bytes: int, kept_bytes: int) -> None:
    """Those with SACK blocks are the longest: 14 bytes of Ethernet, IP, and 20 + 12 + 28 of TCP."""
    longest = 0
    for file in (runs[version].folder / "pcap").glob("*sender*.gz"):
        content = gzip.decompress(file.read_bytes())
        at = 24
        while at < len(content):
            held, length = struct.unpack_from("<2I", content, at + 8)
            packet = content[at + 16 : at + 16 + held]
            headers = 14 + ip_bytes + packet[14 + ip_bytes + 12] // 16 * 4
            assert held == min(length, kept_bytes) and held >= headers
            longest = max(longest, headers)
            at += 16 + held
    assert longest > 14 + ip_bytes + 20 + 12 + 2 + 8


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """Runs by case."""
    folder = tmp_path_factory.mktemp("elsewhere")
    cells = expand(trial(folder, ELSEWHERE), "complete")
    return {cell.name.removeprefix("case="): carried_out(cell, folder) for cell in cells}


@pytest.mark.parametrize("case", ["relayed", "filtered", "switched", "queued", "limited"])
def test_every_topology_and_every_box_passes_ipv6(elsewhere: dict[str, Run], case: str) -> None:
    """The run's audit, its probe and the check of each qdisc and route passed; and every flow gets data through."""
    run = elsewhere[case]
    for name, flow in run.summary.data["flows"].items():
        assert flow["received_bytes"] > 100_000, name
    # nothing is said but by flows; a damaged packet may be of any kind
    strange = packets(run).filter(pl.col("flow").is_null())["proto"].unique().to_list()
    assert strange == [] or case == "filtered"


def test_a_router_reports_what_is_too_long_and_senders_obey(elsewhere: dict[str, Run]) -> None:
    seen = packets(elsewhere["filtered"]).filter((pl.col("tap") == "bottleneck-out") & pl.col("forward"))
    before, later = (seen.filter(pl.col("time_ns").is_between(*times)) for times in ((0, 10**9), (1.5e9, 2e9)))
    assert before["ip_length"].max() == 1500
    assert later["ip_length"].max() == MTU_BYTES


def test_peers_of_a_swarm_have_ipv6(tmp_path: Path) -> None:
    [cell] = expand(trial(tmp_path, SWARM), "complete")
    run = carried_out(cell, tmp_path)
    assert {flow["received_bytes"] > 100_000 for flow in run.summary.data["flows"].values()} == {True}


PROGRAM = """\
experiment: program
title: A program over IPv6
ip: 6
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 100p}
delay: {forward: 20ms, backward: 20ms}
flows: [{name: it, implementation: NAME, from: s1, to: d1}]
duration: 5s
captures: [sender]
"""


def of_program(name: str, folder: Path) -> pl.DataFrame:
    """Packets of its flow, at its sender."""
    [cell] = expand(trial(folder, PROGRAM.replace("NAME", name)), "complete")
    run = carried_out(cell, folder)
    seen = packets(run)
    assert {*seen["src"].unique(), *seen["dst"].unique()} == {"fd00:0:1::1", "fd00:1:1::1"}
    # at the end, a host reports that nobody listens any more
    assert {*seen.filter(pl.col("flow").is_null())["proto"].unique()} <= {ICMPV6}
    assert run.summary.data["flows"]["it"]["received_bytes"] > 0
    return seen.filter(pl.col("flow").is_not_null())


@pytest.mark.parametrize(
    "name",
    [
        "udp-cbr",
        "video-call",
        "web",
        "video",
        "dns",
        "quic-go",
        "openssl-quic",
        "ngtcp2",
        "tcp-cbr",
        "libtorrent-2.0",
        "libtorrent-tcp",
    ],
)
def test_programs_talk_over_ipv6(program: Callable[[str], None], tmp_path: Path, name: str) -> None:
    program(name)
    assert of_program(name, tmp_path)["proto"].unique().to_list() == [TCP if name in OVER_TCP else UDP]


@pytest.mark.parametrize(("name", "full_bytes"), [("libutp", 1280), ("libutp-alpha1", 350)])
def test_libutp_sends_what_every_link_with_ipv6_carries_or_what_it_is_told(
    program: Callable[[str], None], tmp_path: Path, name: str, full_bytes: int
) -> None:
    program(name)
    seen = of_program(name, tmp_path)
    assert seen["ip_length"].max() == full_bytes
    assert seen["payload_bytes"].max() == full_bytes - 40 - 8 - 20


def test_a_sender_keeps_the_mtu_of_its_path(tmp_path: Path) -> None:
    [cell] = expand(trial(tmp_path, LEARNT), "complete")
    long = packets(carried_out(cell, tmp_path)).filter(pl.col("ip_length") > MTU_BYTES)
    assert 0 < len(long) < 20
    assert long.filter(pl.col("time_ns") >= 2 * 10**9).is_empty()
