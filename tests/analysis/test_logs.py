"""What other programs measured, handed to `testbed observe`: iperf3, flent, qlog and mm-link, and what is none."""

import contextlib
import copy
import csv
import functools
import gzip
import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.capture import foreign
from analysis.errors import BadInputError
from analysis.observer.description import described
from analysis.observer.logs import files, qlog
from analysis.observer.logs.log import Log
from analysis.observer.standalone import measured, sender_log
from tests.analysis.browser import speechless
from tests.analysis.synthetic import frame
from tests.analysis.synthetic import pcap as classic


def observed(tmp_path: Path, *paths: Path) -> dict[str, Any]:
    assert main(["observe", *map(str, paths), "--into", str(tmp_path / "out")]) == 0
    document: dict[str, Any] = json.loads((tmp_path / "out" / "observation.json").read_text())
    return document


def written(tmp_path: Path, name: str, content: object) -> Path:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def interval(start: float, bps: float, **more: object) -> dict[str, Any]:
    row = {"socket": 5, "start": start, "end": start + 1, "seconds": 1, "bytes": 1, "bits_per_second": bps}
    return {"streams": [row | {"omitted": False, "sender": True} | more], "sum": {}}


def of_iperf3() -> dict[str, Any]:
    connected = {"socket": 5, "local_host": "10.0.0.1", "local_port": 4, "remote_host": "10.0.0.2", "remote_port": 5201}
    return {
        "start": {
            "connected": [connected],
            "version": "iperf 3.12",
            "timestamp": {"time": "Sun, 29 Nov 2026 07:00:00 GMT"},
            "test_start": {"protocol": "TCP"},
        },
        "intervals": [
            interval(0, 9e6, omitted=True, retransmits=50, rtt=20_000, snd_cwnd=14_480),
            interval(0, 1e7, retransmits=1, rtt=20_000, snd_cwnd=28_960),
            interval(1, 2e7, retransmits=2, rtt=50_000, snd_cwnd=57_920),
        ],
        "end": {"sender_tcp_congestion": "cubic"},
    }


def test_iperf3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = of_iperf3()
    [flow] = observed(tmp_path, written(tmp_path, "a.json", document))["flows"]
    [seen] = flow["seen_in"]
    assert (flow["sender"], flow["receiver"]) == ("10.0.0.1:4", "10.0.0.2:5201")
    assert (seen["mean_throughput_bps"], seen["retransmitted_pkts"], seen["named_control"]) == (15_000_000, 3, "cubic")
    assert (seen["rtt_ms"]["min"], seen["rtt_ms"]["max"], seen["queuing_ms"]["max"]) == (20, 50, 30)
    assert seen["window_bytes"]["max"] == 57_920
    assert "not_observed" in seen["controller"]
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("flow-1, 10.0.0.1:4 to 10.0.0.2:5201: 15 Mbit/s on average, from 10 to 20; round-trip")
    assert said[1].startswith("no controller is judged: values of whole intervals hide")
    assert speechless(tmp_path / "out" / "index.html") == []
    rows = list(csv.DictReader((tmp_path / "out" / "series.csv").read_text().splitlines()))
    assert [row["value"] for row in rows if row["quantity"] == "rtt_ms"] == ["20.0", "50.0"]
    lines = [{"event": "start", "data": document["start"]}]
    lines += [{"event": "interval", "data": one} for one in document["intervals"]]
    lines += [{"event": "end", "data": document["end"]}]
    stream = written(tmp_path, "b.json", "\n".join(map(json.dumps, lines)))
    assert observed(tmp_path, stream)["flows"][0]["seen_in"][0] == seen | {"file": str(stream)}


def test_iperf3_at_the_side_that_receives(tmp_path: Path) -> None:
    document = of_iperf3()
    document["intervals"] = [interval(0, 1e7, sender=False, packets=100, lost_packets=3)]
    written_file = written(tmp_path, "a.json", document)
    document = observed(tmp_path, written_file)
    [flow] = document["flows"]
    assert (flow["sender"], flow["receiver"]) == ("10.0.0.2:5201", "10.0.0.1:4")
    assert (flow["seen_in"][0]["lost_pkts"], flow["seen_in"][0]["rtt_ms"]) == (3, None)
    assert document["logs"][0]["remarks"] == [
        "it has no round-trip times: iperf3 writes them at the side that sends over TCP"
    ]


def of_flent() -> dict[str, Any]:
    raw = [{"t": 1000.0, "val": 1.0, "dur": 0.2}, {"t": 1000.3, "tcp_rtt": 42.0, "tcp_cwnd": 10, "tcp_rtt_var": 1}]
    return {
        "version": 4,
        "x_values": [0.0, 0.2, 0.4],
        "results": {
            "TCP upload::1": [None, 8.0, 4.0],
            "TCP upload::1::tcp_rtt": [None, None, None],
            "TCP upload sum": [None, 8.0, 4.0],
            "TCP download::1": [None, 2.0, 2.0],
            "Ping (ms) ICMP": [20.0, None, 25.0],
            "HTTP latency": [1.0, 2.0, 3.0],
            "VoIP::loss": [0.0, 0.0, 0.0],
        },
        "raw_values": {"TCP upload::1": raw, "Ping (ms) ICMP": [{"t": 1000.1, "val": 20}]},
        "metadata": {
            "NAME": "tcp_nup",
            "TITLE": "at home",
            "TIME": "2026-11-29T07:00:00Z",
            "FLENT_VERSION": "2.0.1",
            "SERIES_META": {
                "TCP upload::1": {"UNITS": "Mbits/s", "CONG_CONTROL": "cubic,cubic", "TCP_RETRANSMIT": "7"},
                "TCP upload sum": {"UNITS": "Mbits/s"},
                "TCP download::1": {"UNITS": "Mbits/s", "CONG_CONTROL": "reno,cubic", "TCP_RETRANSMIT": 0},
                "Ping (ms) ICMP": {"UNITS": "ms"},
                "HTTP latency": {"UNITS": "ms"},
            },
        },
    }


def test_flent(tmp_path: Path) -> None:
    path = tmp_path / "a.flent.gz"
    path.write_bytes(gzip.compress(json.dumps(of_flent()).encode()))
    document = observed(tmp_path, path)
    seen = {flow["seen_in"][0]["name"]: flow["seen_in"][0] for flow in document["flows"]}
    assert list(seen) == ["TCP upload::1", "TCP download::1", "Ping (ms) ICMP", "HTTP latency"]
    assert seen["TCP download::1"]["facts"] == ["2 Mbit/s on average, from 2 to 2"]
    upload = seen["TCP upload::1"]
    assert (upload["mean_throughput_bps"], upload["retransmitted_pkts"], upload["named_control"]) == (
        6_000_000,
        7,
        "cubic",
    )
    assert (upload["rtt_ms"]["max"], upload["window_pkts"]["max"]) == (42, 10)
    assert (seen["Ping (ms) ICMP"]["queuing_ms"]["max"], seen["HTTP latency"]["latency_ms"]["max"]) == (5, 3)
    assert document["logs"][0]["program"] == "flent 2.0.1"
    assert document["logs"][0]["remarks"] == [
        "test tcp_nup: at home",
        "left out: 1 series without values or in other units (VoIP::loss)",
    ]
    (row,) = [
        row
        for row in csv.DictReader((tmp_path / "out" / "series.csv").read_text().splitlines())
        if row["quantity"] == "window_pkts"
    ]
    assert float(row["time_s"]) == pytest.approx(0.3)


def test_the_log_of_a_link(tmp_path: Path) -> None:
    rows = "".join(
        f"{ms} + 1504\n{ms} # 1504\n{ms + 30} - 1504 {30 if ms < 1500 else 80}\n" for ms in range(0, 2000, 2)
    )
    path = written(tmp_path, "uplink.log", f"# mahimahi mm-link (uplink) [a.up] > uplink.log\n{rows}1990 d 2 3008\n20")
    [flow] = observed(tmp_path, path)["flows"]
    [seen] = flow["seen_in"]
    assert (seen["name"], seen["lost_pkts"]) == ("uplink", 2)
    assert seen["mean_throughput_bps"] == pytest.approx(8 * 1504 / 0.002, rel=0.02)
    assert (seen["queuing_ms"]["min"], seen["queuing_ms"]["max"]) == (30, 80)


RTT_S = 0.05
LOST = (40, 41, 300)


def sent_and_heard(window: int = 10, count: int = 1000) -> list[tuple[float, str, dict[str, Any]]]:
    """Events of a sender with a window of packets: what is lost is missing in all acknowledgements that follow."""
    events = []
    for number in range(count):
        at_s = RTT_S * (number // window) + 0.001 * (number % window)
        frames = [{"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 1200}]
        header = {"packet_type": "1RTT", "packet_number": number}
        events.append((at_s, "packet_sent", {"header": header, "frames": frames, "raw": {"length": 1240}}))
        if number in LOST:
            continue
        edges = [-1, *(one for one in LOST if one < number), number + 1]
        ranges = [[a + 1, b - 1] for a, b in pairwise(edges) if b - 1 >= a + 1]
        acks = [{"frame_type": "ack", "ack_delay": 1.0, "acked_ranges": ranges[::-1]}]
        events.append((at_s + RTT_S - 1e-4, "packet_received", {"header": {"packet_type": "1RTT"}, "frames": acks}))
    return sorted(events, key=lambda event: event[0])


def forms() -> dict[str, str]:
    """The same log in all forms that are in use."""
    events = sent_and_heard()
    now = 1_790_000_000_000.0
    named: list[dict[str, Any]] = [
        {"time": now + 1e3 * at, "name": f"transport:{name}", "data": data} for at, name, data in events
    ]
    side = {"name": "a", "type": "server"}
    common = {"reference_time": now, "time_format": "relative"}
    relative = [{**one, "time": one["time"] - now} for one in named]
    records = [
        {"qlog_format": "JSON-SEQ", "qlog_version": "0.3", "trace": {"vantage_point": side, "common_fields": common}}
    ]
    deltas: list[dict[str, Any]] = [
        {**one, "time": b["time"] - a["time"]}
        for one, a, b in zip(relative, [{"time": 0}, *relative], relative, strict=False)
    ]
    old = {
        "configuration": {"time_units": "us"},
        "vantage_point": side,
        "common_fields": {"reference_time": str(now)},
        "event_fields": ["relative_time", "CATEGORY", "EVENT_TYPE", "DATA"],
        "events": [[str(round(1e6 * at)), "TRANSPORT", name.upper(), data] for at, name, data in events] + [[]],
    }
    steps = {"vantage_point": side, "common_fields": {"time_format": "relative_to_previous_event"}, "events": deltas}
    return {
        "absolute": json.dumps({"qlog_version": "0.3", "traces": [{"vantage_point": side, "events": named}]}),
        "records": "".join(f"\x1e{json.dumps(one)}\n" for one in [*records, *relative]) + '\x1e{"time": 99',
        "since draft-00": json.dumps({"qlog_version": "draft-00", "traces": [old]}),
        "deltas": json.dumps({"file_schema": "urn:ietf:params:qlog:file:contained", "traces": [steps]}),
    }


@pytest.mark.parametrize("form", forms())
def test_qlog(tmp_path: Path, form: str) -> None:
    [flow] = observed(tmp_path, written(tmp_path, "a.qlog", forms()[form]))["flows"]
    [seen] = flow["seen_in"]
    assert (flow["sender"], flow["receiver"]) == ("server", "client")
    assert (seen["tap"]["place"], seen["transport"], seen["sent_pkts"]) == ("sender", "udp", 1000)
    assert sum(seen["retransmitted_pkts"].values()) == len(LOST)
    assert seen["rtt_ms"]["median"] == pytest.approx(1e3 * RTT_S - 0.1, abs=0.01)
    assert seen["one_way_delay_ms"]["forward"]["base_with_clock_offset"] == pytest.approx(1e3 * RTT_S - 1.1, abs=0.01)
    assert 9 < seen["in_flight_pkts"]["mean"] < 12
    assert seen["packet_sizes"]["counts"] == {"1268": 1000 - len(LOST)}
    assert seen["controller"]["kind"] == "none" or "not_observed" in seen["controller"]
    assert "a (qlog)" in (tmp_path / "out" / "index.html").read_text()
    assert speechless(tmp_path / "out" / "index.html") == []


def test_acknowledgements_of_anything_cost_no_more_than_the_log(tmp_path: Path) -> None:
    """Ranges of all numbers that there are, as in each answer."""
    events = sent_and_heard(count=100)
    for _, name, data in events:
        if name == "packet_received":
            data["frames"][0]["acked_ranges"] = [[0, (1 << 62) - 1]]
    trace = {"events": [{"time": at, "name": name, "data": data} for at, name, data in events]}
    [connection] = qlog.read(tmp_path, [{"qlog_version": "0.3", "traces": [trace]}])
    assert np.isfinite(connection.seen.answers.times).all()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"a": 1, "b": "some more bytes"},
            "found JSON with a, b; allowed: JSON of iperf3 (-J), flent or qlog, or a capture",
        ),
        ("{" + " " * 40, "not JSON"),
        ("[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "found JSON; allowed: JSON of iperf3"),
        ({"start": {}, "intervals": [], "error": "unable to connect"}, "found no interval (iperf3: unable to connect)"),
        (
            of_iperf3() | {"intervals": [interval(0, -1)]},
            "bits_per_second: found -1.0, allowed is a number from 0 to 1e+15",
        ),
        (of_iperf3() | {"intervals": [{"streams": [{"socket": "x"}]}]}, "intervals[0].streams[0].socket: found 'x'"),
        (of_flent() | {"x_values": [1, 1, 1]}, "x_values: found '3 numbers', allowed is finite numbers"),
        (
            of_flent() | {"results": {"VoIP::loss": [0, 0, 0]}},
            "found no series of rates or delays (series: VoIP::loss)",
        ),
        ({"qlog_version": "0.3", "traces": []}, "found a qlog with 0 packets with data that were sent; allowed: 20"),
        ({"qlog_version": "0.3", "traces": [{"events": [{"time": "x", "name": "packet_sent"}]}]}, "none of qlog's"),
        ({"qlog_version": "0.3", "traces": [{"events": [7]}]}, "found an event that is none of qlog's"),
        (
            "# mahimahi mm-link (uplink)\n1 + 1504\nx\n1 - 1 1\n",
            "line 3: found 'x'; allowed: rows as mm-link writes them",
        ),
        ("0\n94\n106\n133\n160\n", "found a trace of Mahimahi, in which each line is a ms"),
        ("0\n94\n106\n133\n160\n" * 20, "found text"),
        ("time_s,rate_bps\n0,1000000\n", "found steps of a rate; a scenario takes them: rate_traces"),
        ("+ 1.0 /NodeList/0/DeviceList/0/$ns3::PointToPointNetDevice/TxQueue/Enqueue ns3::PppHeader", "trace of ns-3"),
        ("+ 0.1 0 2 tcp 40 ------- 1 0.0 3.0 0 0\n", "found a trace of ns-2, whose packets have no headers"),
        (
            "07:00:00.123456 IP 10.0.0.1.1 > 10.0.0.2.2: Flags",
            "found packets as tcpdump prints them; allowed: a capture",
        ),
        ("ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n cubic", "found what ss prints of sockets; allowed: a capture"),
        ("Connecting to host 10.0.0.1, port 5201\n", "found what iperf3 prints; allowed: its JSON, by `iperf3 -J`"),
        ("# mine\nexperiment: a\ntitle: b\n", "found a scenario; `testbed run FILE` carries it out"),
        ("d8:announce35:udp://tracker.example.org:6969", "found a torrent"),
        ("just some text of a letter", "found text; allowed: a capture of the packets"),
    ],
)
def test_each_kind_of_file_has_its_answer(
    tmp_path: Path, content: object, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "a", content)
    assert main(["observe", str(path), "--into", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert message in said
    assert not (tmp_path / "out").exists()


def test_packets_and_intervals_are_not_put_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(classic([(n, frame(1, 2, 3, 4, 77 * n, n)) for n in range(100)]))
    assert main(["observe", str(written(tmp_path, "a.json", of_iperf3())), str(capture), "--into", str(tmp_path)]) == 2
    assert "a.pcap: found packets beside iperf 3.12's file; allowed: a command for each" in capsys.readouterr().err


def test_a_log_stands_beside_captures(tmp_path: Path) -> None:
    capture = tmp_path / "a.pcap"
    capture.write_bytes(classic([(n * 10**7, frame(1, 2, 3, 4, 77 * n, n)) for n in range(100)]))
    document = observed(tmp_path, written(tmp_path, "a.qlog", forms()["absolute"]), capture)
    assert [flow["name"] for flow in document["flows"]] == ["flow-1", "flow-2"]
    assert [one["flows"] for one in document["captures"]] == [1, 1]


def test_large_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    with pytest.raises(BadInputError, match=r"found \d+ bytes; allowed of such files: 100"):
        files.read(written(tmp_path, "a.json", of_iperf3()))


def test_a_capture_is_not_taken_for_text() -> None:
    assert foreign.told(classic([])) is None


JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    10**30,
    float("nan"),
    "",
    "x",
    "1e999",
    [],
    [None],
    {},
    {"a": 1},
    1 << 62,
)


def fields_of(content: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all fields of a document."""
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [way] * bool(way) + [found for name, value in inside for found in fields_of(value, (*way, name))]


@pytest.mark.parametrize("kind", ["iperf3", "flent", "qlog"])
def test_whatever_stands_in_a_field_the_file_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    events = [{"time": 1e3 * at, "name": name, "data": data} for at, name, data in sent_and_heard(count=30)]
    trace = {"vantage_point": {"type": "server"}, "common_fields": {"reference_time": 1.79e12}, "events": events}
    whole = {"iperf3": of_iperf3(), "flent": of_flent(), "qlog": {"qlog_version": "0.3", "traces": [trace]}}[kind]
    draws = random.Random(kind)  # noqa: S311
    fields, read = fields_of(whole), 0
    for _ in range(200):
        content = copy.deepcopy(whole)
        *way, last = draws.choice(fields)
        place: Any = functools.reduce(lambda inside, name: inside[name], way, content)
        place[last] = draws.choice(JUNK)
        with contextlib.suppress(BadInputError):
            found = files.read(written(tmp_path, "a", content))
            if isinstance(found, Log):
                json.dumps([measured.described("flow", found, stream) for stream in found.streams], allow_nan=False)
            else:
                assert found is not None
                views = sender_log.views(found)
                json.dumps([described(view.best) for view in views], allow_nan=False)
            read += 1
    assert 20 < read < 180
