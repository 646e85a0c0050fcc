"""Captures without a run: every format, flows found, taps located, two captures of one flow put together."""

import csv
import gzip
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.__main__ import main
from analysis.capture import pcap
from analysis.errors import BadInputError
from analysis.observer.standalone import captures, clocks, flows
from analysis.observer.standalone.page import title
from tests.analysis import tunnels
from tests.analysis.browser import speechless
from tests.analysis.synthetic import NS, ORIGIN_NS, frame, over_ipv6, pcapng, utp_frame
from tests.analysis.synthetic import pcap as classic
from tests.analysis.tunnels import LINKS, TUNNELS
from tests.analysis.utp_model import Model

TCP = frame(0x0A000001, 0x0A000002, 1111, 2222, 3, 4)
PACKET = TCP[14:]
TIMES = [1_700_000_000_000_001_000, 1_700_000_000_999_999_000]
AS_LINK = {
    0: b"\x02\0\0\0" + PACKET,
    1: TCP,
    12: PACKET,
    101: PACKET,
    108: b"\0\0\0\x02" + PACKET,
    113: struct.pack(">HHH8sH", 4, 1, 6, b"", 0x0800) + PACKET,
    228: PACKET,
    276: struct.pack(">HHIHBB8s", 0x0800, 0, 1, 1, 4, 6, b"") + PACKET,
}
TAGGED = TCP[:12] + b"\x88\xa8\0\x01\x81\0\0\x02" + TCP[12:]


def read(tmp_path: Path, content: bytes) -> dict[str, list[Any]]:
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    chunks = [chunk.columns for chunk in pcap.read_wide(path)]
    return {name: np.concatenate([chunk[name] for chunk in chunks]).tolist() for name in chunks[0]}


@pytest.mark.parametrize("link", AS_LINK)
@pytest.mark.parametrize("order", "<>")
def test_a_packet_is_the_same_behind_every_link_header_and_in_every_file(tmp_path: Path, link: int, order: str) -> None:
    records = [(time, AS_LINK[link]) for time in TIMES]
    expected = read(tmp_path, classic([(time, TCP) for time in TIMES]))
    expected["direction"] = [2, 2] if link in (113, 276) else [0, 0]
    assert expected["digest"][0]
    files = [classic(records, order=order, link=link), classic(records, order=order, nanoseconds=False, link=link)]
    files += [
        pcapng(records, order=order, resolution=resolution, offset_s=offset, link=link)
        for resolution, offset in ((6, 0), (9, 0), (9, 1_600_000_000), (11, 1_650_000_000), (0x80 | 33, 0))
    ]
    for content in [*files, gzip.compress(files[0]), files[2] + files[3]]:
        read_flows = {name: values[:2] for name, values in read(tmp_path, content).items()}
        assert read_flows["time_ns"] == pytest.approx(TIMES, abs=1)
        assert read_flows | {"time_ns": TIMES} == expected | {"time_ns": TIMES}


def test_tags_and_ipv6_with_extensions(tmp_path: Path) -> None:
    frames = [TCP, TAGGED, over_ipv6(TCP), *(over_ipv6(TCP, extension) for extension in (0, 43, 60, 44))]
    rows = read(tmp_path, classic([(n, data) for n, data in enumerate(frames)]))
    assert rows["ip_version"] == [4, 4, 6, 6, 6, 6, 6]
    for name in ("sport", "dport", "seq", "payload_bytes", "tsval", "digest", "hops", "proto"):
        assert len(set(rows[name])) == 1, name
    assert rows["ip_length"] == [1500, 1500, 1520, 1528, 1528, 1528, 1528]
    assert set(rows["src6"][2:]) == {bytes.fromhex("20010db8") + bytes(8) + bytes([10, 0, 0, 1])}


@pytest.mark.parametrize("family", [10, 24, 28, 30])  # of IPv6 in Linux, NetBSD and OpenBSD, FreeBSD, macOS
def test_ipv6_behind_every_link_header(tmp_path: Path, family: int) -> None:
    data = over_ipv6(TCP)
    packet = data[14:]
    expected = read(tmp_path, classic([(1, data)]))
    for link, head in (
        *((raw, b"") for raw in (12, 101, 229)),
        (0, struct.pack("<I", family)),
        (108, struct.pack(">I", family)),
        (113, struct.pack(">HHH8sH", 0, 1, 6, b"", 0x86DD)),
        (276, struct.pack(">HHIHBB8s", 0x86DD, 0, 1, 1, 0, 6, b"")),
    ):
        assert read(tmp_path, classic([(1, head + packet)], link=link)) | {"direction": [0]} == expected, link


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pcapng([])[:28] + b"\x06\0\0\0\x0d\0\0\0" + bytes(20), "a block of 13 bytes"),
        (classic([(1, TCP)], link=147), "the link type at byte 20 is 147, allowed are 0 .loopback., 1 .Ethernet."),
        (gzip.compress(b"nothing", mtime=0), "7 bytes are too few"),
        (b"\x1f\x8b" + bytes(40), "gzip cannot unpack it"),
    ],
    ids=["short block", "link type", "text in gzip", "broken gzip"],
)
def test_garbage_is_refused_with_file_and_offset(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (pcapng([(1, TCP)], link=195), "1 packet left out: link type 195 (IEEE 802.15.4), which is not read"),
        (
            pcapng([])[:28] + pcapng([(1, TCP)])[-100:],
            "1 packet left out: interface 0, which no block before describes",
        ),
        (pcapng([(1, TCP)], resolution=25), "1 packet left out: no time, or one that cannot be"),
        (struct.pack("<IIII", 3, 16, 66, 16), "1 packet left out: no time, or one that cannot be"),
        (struct.pack("<II24xI", 6, 36, 36), "1 packet left out: interface 0, which no block before describes"),
        (struct.pack("<II8xI", 6, 20, 20), "1 packet left out: a length that contradicts its block"),
        (
            b"\x06\0\0\0\x0d\0\0\0" + bytes(20),
            "is a block of 13 bytes that cannot be one: the file is damaged, and what",
        ),
    ],
    ids=["link type", "no interface", "no time", "simple packet", "no such interface", "short packet", "broken block"],
)
def test_what_is_odd_costs_itself(tmp_path: Path, odd: bytes, said: str) -> None:
    records = [(n, frame(1, 2, 3, 4, 77 * n, n)) for n in range(100)]
    path = tmp_path / "a.pcapng"
    head = pcapng([])[:28] if len(odd) == 36 else b""
    path.write_bytes(pcapng(records) + head + odd)
    captured, _ = captures.read(path)
    assert captured.pkts == 100
    assert said in captured.remarks[0]
    path.write_bytes(odd)
    with pytest.raises(BadInputError):
        captures.read(path)


def test_interfaces_that_nothing_uses_cost_nothing(tmp_path: Path) -> None:
    data = pcapng([(n, frame(1, 2, 3, 4, 77 * n, n)) for n in range(100)])
    section, rest = data[:28], data[28:]
    (length,) = struct.unpack("<I", rest[4:8])
    (tmp_path / "a.pcapng").write_bytes(section + 5000 * rest[:length] + rest[length:])
    captured, _ = captures.read(tmp_path / "a.pcapng")
    assert (captured.pkts, captured.remarks) == (100, [])


@pytest.mark.parametrize("name", TUNNELS)
def test_a_packet_is_the_same_in_every_tunnel(tmp_path: Path, name: str) -> None:
    six = "of IPv6" in name or "IPv6 in" in name or name == "Teredo"
    expected = read(tmp_path, classic([(1, tunnels.SIX if six else tunnels.TCP)]))
    assert expected["sport"] == [1111]
    assert read(tmp_path, classic([(1, TUNNELS[name])])) == expected | {"src": [0], "dst": [0]} if six else expected


def test_other_links(tmp_path: Path) -> None:
    expected = read(tmp_path, classic([(1, tunnels.TCP)]))
    for link, data in (*LINKS.items(), (127, tunnels.PADDED_WIFI)):
        assert read(tmp_path, classic([(1, data)], link=link)) == expected, link


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(TUNNELS)), st.integers(0, 120))
def test_a_tunnel_that_is_cut_anywhere_is_read_or_left(name: str, cut: int) -> None:
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(classic([(1, TUNNELS[name][:-cut])]))
        file.flush()
        [chunk] = pcap.read_wide(Path(file.name))
        assert chunk.columns["sport"][0] in (0, 1111, 50000)


@pytest.mark.parametrize("six", [False, True])
def test_a_mirror_that_gives_each_packet_twice(tmp_path: Path, six: bool) -> None:
    def packet(n: int) -> bytes:
        data = frame(1, 2, 3, 4, 1448 * n, n + 1, tsval=n + 7)
        return over_ipv6(data) if six else data

    seen = [(n / 100, packet(n)) for n in range(100)]
    again = [(t + 2e-5, data) for t, data in seen]
    later = [(2.0, frame(1, 2, 3, 4, 1448 * 50, 900, tsval=60)), (2.5, frame(1, 2, 3, 4, 1448 * 51, 901, tsval=60))]
    captured, packets = captures.read(capture(tmp_path / "a.pcapng", sorted([*seen, *again, *later])))
    assert len(packets) == 102  # what was sent again has a number of its own, or comes later
    assert captured.remarks[0].startswith("100 packets captured twice")


@pytest.mark.parametrize(("copies", "numbered"), [(2, False), (3, False), (2, True)])
def test_a_mirror_gives_answers_and_the_begin_of_a_connection_twice(
    copies: int, numbered: bool, tmp_path: Path
) -> None:
    def packet(n: int, answer: bool) -> bytes:
        if answer:
            data = frame(2, 1, 4, 3, 1, n + 1, tsval=n + 7, length=52)
        else:
            data = frame(1, 2, 3, 4, 1448 * n, n + 1, tsval=n + 7, length=52 if not n else 1500)
            data = data if n else data[:47] + b"\2" + data[48:]  # SYN
        return data if numbered else over_ipv6(data)

    seen = [(n / 100 + 0.04 * answer, packet(n, answer)) for n in range(100) for answer in (False, True)]
    several = [(t + 3e-6 * copy, data) for t, data in seen for copy in range(copies)]
    _, packets = captures.read(capture(tmp_path / "a.pcapng", sorted(several)))
    assert len(packets) == 200


def test_what_was_lost_before_the_tap_counts_once_and_is_not_called_sent_again(tmp_path: Path) -> None:
    def packet(number: int) -> bytes:
        data = frame(1, 2, 3, 4, 1460 * number, 0)
        return data[:22] + b"\x3c" + data[23:46] + b"\x50" + data[47:]  # four routers away, without timestamps

    order = [*range(30), *range(34, 41), *range(30, 34), *range(41, 80), 50]
    seen = [(n / 100, packet(number)) for n, number in enumerate(order)]
    [view] = observed(tmp_path, capture(tmp_path / "a.pcapng", seen))["flows"][0]["seen_in"]
    assert view["payload_bytes"] == 80 * 1460
    late = "4 of 81 packets came late: sent again after a loss before this tap, or overtaken"
    assert view["facts"][1:] == [late, "1 of 81 packets sent again"]


def test_a_packet_that_keeps_a_connection_alive_is_not_sent_again(tmp_path: Path) -> None:
    """It repeats the last byte. What repeats a packet of one byte was sent again."""

    def packet(first: int, payload: int) -> bytes:
        return frame(1, 2, 3, 4, first, 0, length=52 + payload)

    data = [(n / 100, packet(100 * n, 100)) for n in range(40)]
    alive = [(1.0 + n, packet(3999, 1)) for n in range(3)]
    seen = [*data, *alive, (4.0, packet(4000, 1)), (4.5, packet(4000, 1))]
    [view] = observed(tmp_path, capture(tmp_path / "a.pcapng", seen))["flows"][0]["seen_in"]
    assert (view["sent_pkts"], sum(view["retransmitted_pkts"].values())) == (42, 1)


def test_what_has_no_ports_is_named(tmp_path: Path) -> None:
    ping = TCP[:23] + b"\x01" + TCP[24:]
    capture(tmp_path / "a.pcapng", [(0.0, ping), (0.1, ping), (0.2, bytes(60))])
    said = "found 3 packets, 2 ICMP, 1 not of IP, or in a tunnel that is not read; allowed: packets of TCP or UDP"
    with pytest.raises(BadInputError, match=said):
        captures.read(tmp_path / "a.pcapng")


def test_a_writer_that_was_killed(tmp_path: Path) -> None:
    records = [(n, frame(1, 2, 3, 4, 77 * n, n)) for n in range(100)]
    for content in (pcapng(records)[:-9], gzip.compress(classic(records))[:-15]):
        path = tmp_path / "cut"
        path.write_bytes(content)
        captured, _ = captures.read(path)
        assert 90 <= captured.pkts < 100
        assert captured.remarks == ["its last packet is cut off, and omitted"]


def capture(path: Path, seen: list[tuple[float, bytes]], offset_s: float = 0, skew: float = 0) -> Path:
    records = [(ORIGIN_NS + round((t * (1 + skew) + offset_s) * NS), data) for t, data in seen]
    path.write_bytes(pcapng(records))
    return path


@pytest.fixture(scope="module")
def played() -> Model:
    model = Model(duration=14.0, lost=(300, 500), first_seq=100)
    model.play()
    return model


def observed(tmp_path: Path, *paths: Path) -> dict[str, Any]:
    assert main(["observe", *map(str, paths), "--into", str(tmp_path / "out")]) == 0
    document: dict[str, Any] = json.loads((tmp_path / "out" / "observation.json").read_text())
    return document


@pytest.mark.parametrize(("way", "place"), [(0.0, "sender"), (0.5, "between"), (1.0, "receiver")])
def test_the_senders_view_from_wherever_the_tap_is(tmp_path: Path, played: Model, way: float, place: str) -> None:
    # a clock of the tap that is 200 ppm too fast
    document = observed(tmp_path, capture(tmp_path / "a.pcapng", played.at(way), 7.5, 2e-4))
    (flow,) = document["flows"]
    (seen,) = flow["seen_in"]
    assert seen["tap"]["place"] == place
    assert seen["tap"]["to_sender_and_back_ms"] == pytest.approx(50 * way, abs=0.05)
    assert seen["tap"]["to_receiver_and_back_ms"] == pytest.approx(50 * (1 - way), abs=0.05)
    assert seen["rtt_ms"]["min"] == pytest.approx(50, abs=0.05)
    waits = 1e3 * np.array([wait for _, wait in played.waits])
    assert seen["rtt_ms"]["max"] == pytest.approx(50 + waits.max(), abs=2)
    assert seen["one_way_delay_ms"]["forward"]["queuing"]["max"] == pytest.approx(waits.max(), abs=0.1)
    assert seen["in_flight_pkts"]["max"] == pytest.approx(max(window for _, window in played.windows), abs=2)
    assert seen["control"]["target_ms"]["value"] == pytest.approx(60, abs=1.5)
    assert seen["limited_by"]["congestion-window"] > 0.95


def translated(seen: list[tuple[float, bytes]]) -> list[tuple[float, bytes]]:
    """As behind a router that translates the sender's address and port."""
    old, new = bytes([10, 0, 1, 1]), bytes([192, 0, 2, 9])
    port, public = struct.pack(">H", 40001), struct.pack(">H", 61000)

    def packet(data: bytes) -> bytes:
        head = data[14:38].replace(old, new)
        return data[:14] + head[:20] + head[20:].replace(port, public) + data[38:]

    return [(t, packet(data)) for t, data in seen]


def test_two_captures_of_one_flow(tmp_path: Path, played: Model) -> None:
    near = capture(tmp_path / "near.pcapng", played.at(0))
    far = capture(tmp_path / "far.pcapng", translated(played.at(1)), offset_s=-3000, skew=1e-4)
    document = observed(tmp_path, far, near)
    (flow,) = document["flows"]
    assert [sighting["tap"]["place"] for sighting in flow["seen_in"]] == ["sender", "receiver"]
    assert [sighting["sender"] for sighting in flow["seen_in"]] == ["10.0.1.1:40001", "192.0.2.9:61000"]
    (pair,) = flow["between_captures"]
    assert (pair["near_sender"], pair["near_receiver"]) == (str(near), str(far))
    assert pair["base_round_trip_between_ms"] == pytest.approx(50, abs=0.01)
    assert pair["clock_skew_ppm"] == pytest.approx(100, abs=1)
    # the two base delays are equal here, so the offset is right; the page gives it +- 25 ms
    assert pair["clock_offset_ms"] == pytest.approx(-3_000_000, abs=0.1)
    assert pair["clock_offset_uncertainty_ms"] == pytest.approx(25, abs=0.1)
    waits = 1e3 * np.array([wait for _, wait in played.waits])
    assert pair["queuing_ms"]["forward"]["max"] == pytest.approx(waits.max(), abs=0.1)
    assert pair["queuing_ms"]["backward"]["max"] == pytest.approx(0, abs=0.1)
    assert (pair["lost_pkts"], pair["lost_answers"], pair["reordered_pkts"], pair["appeared_pkts"]) == (2, 0, 0, 0)
    page = (tmp_path / "out" / "index.html").read_text()
    assert "2 of" in page and "flow-1.svg" in page
    assert speechless(tmp_path / "out" / "index.html") == []
    rows = list(csv.DictReader((tmp_path / "out" / "flows.csv").read_text().splitlines()))
    assert [row["tap"] for row in rows] == ["sender", "receiver"]
    series = list(csv.DictReader((tmp_path / "out" / "series.csv").read_text().splitlines()))
    busy = [float(row["throughput_bps"]) for row in series if 5 < float(row["time_s"]) < 13]
    assert np.mean(busy) == pytest.approx(12e6, rel=0.02)


def test_one_direction_alone_is_said_to_be(tmp_path: Path, played: Model, capsys: pytest.CaptureFixture[str]) -> None:
    data = [(t, frame) for t, frame in played.at(0) if len(frame) > 70]
    document = observed(tmp_path, capture(tmp_path / "a.pcapng", data))
    (seen,) = document["flows"][0]["seen_in"]
    assert seen["tap"]["place"] == "undecided"
    assert seen["rtt_ms"] == {"not_observed": "no answer was captured"}
    assert seen["control"] == {"not_observed": "no answer was captured"}
    assert any("only one direction was captured" in remark for remark in seen["remarks"])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("flow-1, 10.0.1.1:40001 to ")
    assert ": cannot tell: no answer was captured. Seen: 18,700 kB in 14 s (10.7 Mbit/s); 2 of " in said[0]


def test_several_flows_and_what_is_none(tmp_path: Path, played: Model) -> None:
    def moved(seen: list[tuple[float, bytes]], address: int) -> list[tuple[float, bytes]]:
        return [(t + 0.1, data.replace(bytes([10, 0, 1, 1]), bytes([10, 0, address, 1]))) for t, data in seen]

    noise = [(t / 10, utp_frame(1, 2, 53, 53, kind=7, seq=t, ack=65535, time_us=0, payload=40)) for t in range(50)]
    few = [(t / 10, frame(5, 6, 7, 8, 1000 * t, t)) for t in range(5)]
    six = [(t, over_ipv6(data)) for t, data in moved(played.at(0)[:5000], 3)]
    everything = sorted(played.at(0) + moved(played.at(0)[:2000], 2) + six + noise + few)
    summary = flows.find(*captures.read(capture(tmp_path / "a.pcapng", everything)))
    assert [flow.sender for flow in summary.flows] == ["10.0.1.1:40001", "[2001:db8::a00:301]:40001", "10.0.2.1:40001"]
    assert [flow.transport for flow in summary.flows] == ["utp"] * 3
    assert (summary.small, summary.beyond, summary.datagrams) == (1, 0, 50)


@pytest.mark.parametrize(
    ("controllers", "said"),
    [
        (
            [{"kind": "loss-based", "like": "CUBIC", "confidence": 0.95}],
            "The sender's controller: loss-based, like CUBIC",
        ),
        ([{"not_observed": "too few rounds"}], "The senders' controllers: not observed (1)"),
        (
            [{"kind": "none"}, {"kind": "delay-based"}, {"kind": "none"}],
            "The senders' controllers: none (2), delay-based (1)",
        ),
        ([], "No flow tells anything about its sender"),
    ],
)
def test_the_title_says_what_captures_tell(controllers: list[dict[str, Any]], said: str) -> None:
    assert title([{"seen_in": [{"controller": one}]} for one in controllers]).startswith(said)


def bulk(step: float, way_s: float, opened: bool, answer_ticks: int = 1000) -> list[tuple[float, bytes]]:
    """A receiver's capture of TCP data every `step`, each answered at once; the sender is `way_s` away and back."""

    def packet(back: bool, seq: int, ack: int, length: int, tsval: float, tsecr: float, flags: int = 0x10) -> bytes:
        ends = (2, 1, 80, 9) if back else (1, 2, 9, 80)
        own, other = (answer_ticks, 1000) if back else (1000, answer_ticks)
        data = bytearray(frame(*ends, seq, 0, length=length, tsval=round(own * tsval) + 1))
        data[42:46], data[47] = struct.pack(">I", ack), flags
        data[62:66] = struct.pack(">I", round(other * tsecr) + 1 if tsecr >= 0 else 0)
        return bytes(data)

    seen = []
    if opened:
        seen += [(0.0, packet(False, 0, 0, 52, 0, -1, 2)), (1e-5, packet(True, 0, 1, 52, 0, 0, 0x12))]
        seen += [(1e-5 + way_s, packet(False, 1, 1, 52, way_s, 0))]
    for n in range(400):
        t = 1.0 + n * step
        echoed = 1.0 + step * int((t - way_s - 1.0) / step + 1e-6) if t - way_s >= 1.0 else -1
        seen.append((t, packet(False, 1 + 1448 * n, 1, 1500, t - way_s / 2, echoed)))
        seen.append((t + 1e-5, packet(True, 1, 1 + 1448 * (n + 1), 52, t, t - way_s / 2)))
    return seen


@pytest.mark.parametrize(
    ("step", "way_s", "opened", "place"),
    [
        (0.002, 0.05, False, "receiver"),
        (0.04, 0.04, False, "undecided"),  # one packet at a time: a long path, or an application that waits
        (0.04, 0.04, True, "receiver"),
    ],
)
def test_a_sender_that_waits_is_not_taken_for_a_distant_one(
    tmp_path: Path, step: float, way_s: float, opened: bool, place: str
) -> None:
    document = observed(tmp_path, capture(tmp_path / "a.pcapng", bulk(step, way_s, opened)))
    assert document["flows"][0]["seen_in"][0]["tap"]["place"] == place


@pytest.mark.parametrize("answer_ticks", [1000, 1_000_000, 100])
def test_clocks_of_two_units_make_no_queue(tmp_path: Path, answer_ticks: int) -> None:
    document = observed(tmp_path, capture(tmp_path / "a.pcapng", bulk(0.002, 0.05, False, answer_ticks)))
    [seen] = document["flows"][0]["seen_in"]
    assert seen["one_way_delay_ms"]["forward"]["queuing"]["max"] <= 1001 / answer_ticks + 1
    assert seen["facts"][-2].startswith("packets answered after ")


def test_a_delay_longer_than_the_flow_is_not_told(tmp_path: Path) -> None:
    """The receiver's clock is set forward by a minute in a flow of a second."""
    data = [(t, played) for t, played in bulk(0.002, 0.05, True)]
    for n, (t, packet) in enumerate(data):
        if t > 1.4 and packet[26:30] == bytes([0, 0, 0, 2]):
            stamp = struct.unpack(">I", packet[58:62])[0] + 60_000
            data[n] = t, packet[:58] + struct.pack(">I", stamp) + packet[62:]
    [seen] = observed(tmp_path, capture(tmp_path / "a.pcapng", data))["flows"][0]["seen_in"]
    assert seen["one_way_delay_ms"]["forward"] is None
    assert any(remark.startswith("one-way delays are not known") for remark in seen["remarks"])


def slow_start(trip_s: float) -> list[tuple[float, bytes]]:
    """A sender's capture: ten packets, and twice as many in each round-trip time after."""
    seen, seq, t = [], 1000, 0.0
    for round_pkts in (10, 20, 40, 80):
        for n in range(round_pkts):
            seen.append((t + n * 1e-5, frame(1, 2, 3, 4, seq, seq % 65535, tsval=round(1000 * t) + 1)))
            seq += 1448
            answer = bytearray(frame(2, 1, 4, 3, 1, seq % 65534, length=52, tsval=round(1000 * (t + trip_s / 2)) + 1))
            answer[22], answer[42:46] = 60, struct.pack(">I", seq)
            answer[62:66] = struct.pack(">I", round(1000 * t) + 1)
            seen.append((t + n * 1e-5 + trip_s, bytes(answer)))
        t += trip_s + 1e-3
    return sorted(seen)


def test_a_short_flow_is_described_by_what_is_certain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [(t / 10, frame(5, 6, 7, 8, 1000 * t, t)) for t in range(5)]
    ping = TCP[:23] + b"\x01" + TCP[24:]
    packets = sorted([*slow_start(0.04), *few, (0.5, ping)])
    document = observed(tmp_path, capture(tmp_path / "a.pcapng", packets))
    said = capsys.readouterr().out.splitlines()
    assert "cannot tell: only 4 round-trip times; at least 30 are needed to tell a controller. Seen: " in said[0]
    assert "slow start only, from 10 to 80 packets in 4 round-trip times; no packet was sent again" in said[0]
    assert said[1] == "not described: 1 flow with fewer than 20 data packets, 1 packet without ports"
    assert document["captures"][0]["others"] == {"ICMP": 1}
    assert "slow start only" in (tmp_path / "out" / "index.html").read_text()


def test_streams_over_udp_are_not_described_and_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 1228, 0, 0x4000, 64, 17, 0, 1, 2)
    head, encrypted = bytes(12) + b"\x08\x00" + ip + struct.pack(">HHHH", 443, 50000, 1208, 0), np.random.default_rng(1)
    packets = [(t / 100, head + b"\x40" + encrypted.bytes(1199)) for t in range(50)]
    observed(tmp_path, capture(tmp_path / "a.pcapng", packets))
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "not described: 50 packets of UDP that are not uTP"
    assert said[1].startswith("over UDP: QUIC encrypts its acknowledgements, so the packets of one place do not show")
    page = (tmp_path / "out" / "index.html").read_text()
    assert "No flow of TCP or uTP has enough data packets" in page
    assert "QUIC encrypts its acknowledgements" in page


def test_each_capture_of_a_folder_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "all"
    (folder / "more").mkdir(parents=True)
    capture(folder / "a.pcapng", slow_start(0.04))
    (folder / "more" / "b.pcap.gz").write_bytes(gzip.compress((folder / "a.pcapng").read_bytes()))
    (folder / "broken.cap").write_bytes(b"nothing")
    (folder / "README").write_text("text")
    assert main(["observe", str(folder), "--into", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert [path.parent.name for path in sorted(tmp_path.glob("out/**/index.html"))] == ["a.pcapng", "b.pcap.gz"]
    assert said.out.splitlines()[-1] == "2 captures observed, 1 left out"
    assert said.err.startswith(f"analysis: left out: {folder}/broken.cap: 7 bytes are too few")


def test_pictures_of_captures_before_are_not_left(tmp_path: Path) -> None:
    path = capture(tmp_path / "a.pcapng", slow_start(0.04))
    observed(tmp_path, path)
    (tmp_path / "out" / "flow-7.svg").write_text("old")
    observed(tmp_path, path)
    assert not (tmp_path / "out" / "flow-7.svg").exists()


def test_a_packet_that_a_host_forwards_counts_once(tmp_path: Path, played: Model) -> None:
    def cooked(data: bytes, kind: int) -> bytes:
        return struct.pack(">HHH8sH", kind, 1, 6, b"", 0x0800) + data[14:]

    seen = played.at(0.5)[:1000]
    records = [(ORIGIN_NS + round(t * NS) + 50_000 * kind, cooked(data, kind)) for t, data in seen for kind in (0, 4)]
    path = tmp_path / "any.pcapng"
    path.write_bytes(pcapng(sorted(records), link=113))
    captured, _ = captures.read(path)
    assert captured.pkts == 1000
    assert captured.remarks[0].startswith("1,000 packets captured twice")


def test_skew_and_base_from_delays_both_ways() -> None:
    random = np.random.default_rng(1)
    t = np.sort(random.uniform(0, 100, 3000))
    queue = np.where(t < 5, 0, 0.1) + random.exponential(0.01, len(t))  # a standing queue, nearly always
    there = 0.02 + queue + 5 + 50e-6 * t
    back = 0.03 + random.exponential(0.001, len(t)) - 5 - 50e-6 * t
    base, slope = clocks.skew((t, there), (t, back))
    assert base == pytest.approx(0.05, abs=1e-3)
    assert slope == pytest.approx(50e-6, abs=5e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "found nothing to observe"),
        (["missing.pcap"], "missing.pcap: No such file"),
        (["-i", "lo", "a.pcap"], "allowed: one of the two"),
        (["--seconds", "5", "a.pcap"], "--seconds: found 5; allowed: more than 0, with -i"),
        (["-i", "lo", "--seconds", "nan"], "--seconds: found nan; allowed: more than 0"),
        (["."], ".: found a folder without run.json; allowed: a run folder, or one with runs"),
    ],
)
def test_orders_that_cannot_be(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["observe", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_interrupted_it_says_so_in_a_word(tmp_path: Path) -> None:
    """Ctrl-C comes when it opens the capture."""
    opened = (
        "lambda event, words: event == 'open' and str(words[0]) == sys.argv[2] and signal.raise_signal(signal.SIGINT)"
    )
    begin = "import signal, sys; from testbed.cli import main; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{begin}; sys.addaudithook({opened}); sys.exit(main())"
    (tmp_path / "a.pcap").write_bytes(classic([]))
    command = [sys.executable, "-c", code, "observe", f"{tmp_path}/a.pcap"]
    done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    assert (done.stderr, done.returncode) == (b"interrupted\n", 130)


def test_a_pipe_is_refused_in_words() -> None:
    command = [sys.executable, "-m", "testbed", "observe", "/dev/stdin"]
    done = subprocess.run(command, input=classic([]), stderr=subprocess.PIPE, check=False)
    assert done.stderr == b"analysis: /dev/stdin: found a pipe; allowed: a file, or -i and an interface\n"
