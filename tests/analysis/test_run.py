import gzip
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analysis import bottleneck
from analysis.capture.columns import drop, write_columns
from analysis.errors import BadInputError
from analysis.run import Run
from analysis.run import folder as run_folder
from analysis.series import NeverHappenedError, NotMeasuredError
from common import sums
from common.sums import DamagedError
from tests.analysis.synthetic import NS, ORIGIN_NS, Made, Packet, pcap, plain, utp_frame, vouch, write


@pytest.fixture
def run(tmp_path: Path) -> Run:
    folder = write(tmp_path, plain())
    assert write_columns(folder) == []
    return Run(folder)


def test_shares_and_fairness(run: Run) -> None:
    # in 4 s: 2000 packets of flow 0 and 500 of flow 1
    assert run.bytes_of("tcp", 1, 5) == 2000 * 1500
    assert run.share("ledbat", 1, 5) == pytest.approx(0.2)
    assert run.jain(1, 5) == pytest.approx((0.8 + 0.2) ** 2 / (2 * (0.8**2 + 0.2**2)))
    assert run.throughput("ledbat", 1, 5) == pytest.approx(500 * 12000 / 4)


def test_throughput_over_time(run: Run) -> None:
    assert run.rate("tcp", 0.5).at(2) == pytest.approx(500 * 12000)


def test_utilization_counts_ip_bytes(run: Run) -> None:
    # 625 packets a second of the 1000 that fit
    assert run.utilization(1, 5) == pytest.approx(0.625)


def test_utilization_after_a_change_of_rate(tmp_path: Path) -> None:
    made = plain()
    made.changes = {"events": [{"at_ns": 3_000_000_000, "on": "bottleneck", "rate_bps": 24_000_000}]}
    folder = write(tmp_path, made)
    write_columns(folder)
    assert Run(folder).utilization(1, 5) == pytest.approx(0.625 * 12 / 18)


def test_drops_by_flow(run: Run) -> None:
    assert run.drops().count() == 4
    assert run.drops("tcp").times == pytest.approx([5.0001, 5.0002, 5.0003])
    assert run.drops("ledbat").times == pytest.approx([5.0007])
    offered = 2500 + 4
    assert run.loss_rate(4, 8) == pytest.approx(4 / offered, rel=1e-3)
    offered_by_flow = dict(
        run.passages.filter(pl.col("time_ns").is_between(4e9, 8e9, "left"))["flow"].value_counts().iter_rows()
    )
    assert run.loss_rate(4, 8, "tcp") == pytest.approx(3 / offered_by_flow["tcp"])
    assert run.loss_rate(4, 8, "ledbat") == pytest.approx(1 / offered_by_flow["ledbat"])


def test_intervals_side_by_side_count_every_packet_once(tmp_path: Path) -> None:
    # packets arrive, leave and are dropped at the very instants that bound the intervals
    packets = [Packet(n % 2, float(n), n + 1.0) for n in range(9)] + [Packet(0, n + 0.0, None) for n in range(1, 8)]
    folder = write(tmp_path, Made(sorted(packets, key=lambda packet: packet.arrives)))
    write_columns(folder)
    run = Run(folder)
    halves = ((0, 5), (5, 10))
    assert sum(run.bytes_of("tcp", *half) for half in halves) == run.bytes_of("tcp", 0, 10) == 5 * 1500
    assert [run.drops().count(*half) for half in halves] == [4, 3]
    offered = [9, 7]
    assert [run.loss_rate(*half) for half in halves] == pytest.approx([4 / offered[0], 3 / offered[1]])
    # at 5 s a packet of flow 0 leaves: it belongs to the second half
    assert [run.queue_share("tcp", *half) for half in halves] == pytest.approx([2 / 4, 3 / 5])
    assert run.rate("tcp", 5.0).values * 5 / 8 == pytest.approx([2 * 1500, 3 * 1500])


def test_packets_still_waiting_at_the_end_are_not_dropped(tmp_path: Path) -> None:
    packets = [Packet(0, 1.0, 1.1), Packet(0, 2.0, None), Packet(0, 3.0, 3.1), Packet(0, 9.9, None)]
    folder = write(tmp_path, Made(packets))
    write_columns(folder)
    assert Run(folder).drops().times == [2.0]


def test_datagrams_without_a_number_are_told_apart_by_their_bytes(tmp_path: Path) -> None:
    """QUIC's often have one length, and 0 as their IP header's number, as all of an unconnected socket on Linux."""
    packets = [Packet(0, n / 10, None if n == 20 else n / 10 + 0.05) for n in range(1, 90)]
    folder = write(tmp_path, Made(packets))
    for tap in ("bottleneck-in.r1-s1", "bottleneck-out"):
        came = [(p.arrives if tap == "bottleneck-in.r1-s1" else p.leaves, n) for n, p in enumerate(packets)]
        records = [(ORIGIN_NS + round(at * NS), datagram(n)) for at, n in came if at is not None]
        (folder / "pcap" / f"{tap}.pcap").write_bytes(pcap(records))
    vouch(folder)
    write_columns(folder)
    assert Run(folder).drops("tcp").times == [2.0]
    assert Run(folder).waited_ms("tcp").max() == pytest.approx(50)


def datagram(number: int) -> bytes:
    """First bytes of a datagram as QUIC's are: nothing but the payload tells it from others."""
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, 1280, 0, 0x4000, 64, 17, 0, 0x0A000101, 0x0A010101)
    udp = struct.pack(">HHHH", 40001, 5001, 1260, 0)
    return bytes(12) + b"\x08\x00" + ip + udp + b"\x40" + b"\xff" * 8 + struct.pack(">Q", number) + b"\xff" * 37


@pytest.mark.parametrize("slice_pkts", [1, 2, 3, 1000])
def test_slices_of_time_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_pkts: int) -> None:
    """Packets wait across the ends of slices, are dropped there, and still wait at the end."""
    packets = [Packet(0, n / 10, n / 10 + 0.35) if n % 7 else Packet(1, n / 10, None) for n in range(1, 60)]
    packets += [Packet(0, 8.0, 9.5), Packet(1, 8.5, None), Packet(0, 9.9, None)]
    folder = write(tmp_path, Made(packets))
    write_columns(folder)
    whole = Run(folder).passages
    monkeypatch.setattr(bottleneck, "SLICE_PKTS", slice_pkts)
    assert Run(folder).passages.equals(whole)
    assert whole["dropped"].sum() == 8
    assert whole["left_ns"].null_count() == 8 + 2


def test_what_takes_too_much_memory_is_not_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "MOST_BYTES", 100_000)
    for ask in (lambda: run.loss_rate(), lambda: run.throughput("tcp"), lambda: run.flight("tcp")):
        with pytest.raises(NotMeasuredError, match=r"^the run has [\d,]+ packets, and this is measured of at most"):
            ask()


def test_one_packet_sent_twice_is_two(tmp_path: Path) -> None:
    folder = write(tmp_path, Made([Packet(0, 1.0, 1.1), Packet(0, 3.0, 3.1)]))
    for tap in ("bottleneck-in.r1-s1", "bottleneck-out"):
        path = folder / "pcap" / f"{tap}.pcap"
        content = bytearray(path.read_bytes())
        second = 24 + 16 + 66 + 16
        content[second : second + 66] = content[24 + 16 : 24 + 16 + 66]
        path.write_bytes(content)
    vouch(folder)
    write_columns(folder)
    assert Run(folder).waited_ms("tcp").values == pytest.approx([100, 100])


def test_waiting(run: Run) -> None:
    assert run.waited_ms("tcp").mean(1, 9) == pytest.approx(3)
    # all wait equally long, so the queue is shared like the packets
    assert run.queue_share("ledbat", 1, 5) == pytest.approx(0.2, abs=0.001)


def test_queue_and_windows(tmp_path: Path) -> None:
    made = plain()
    made.queue = [(0.0, 0), (2.0, 10), (4.0, 20)]
    made.cwnd = {"tcp": [(0.1, 1), (5.0, 30)]}
    folder = write(tmp_path, made)
    write_columns(folder)
    run = Run(folder)
    assert run.queue_pkts.at(3) == 10
    assert run.queue_ms.at(5) == pytest.approx(20)  # a packet a millisecond
    assert run.cwnd("tcp").at(6) == 30
    assert run.queuing_delay_ms("ledbat").at(1) == pytest.approx(0.1)
    with pytest.raises(NotMeasuredError, match="flow tcp reports no base_delay"):
        run.base_delay_ms("tcp")


@pytest.mark.parametrize("packets", [True, False])
def test_tables_stay_when_captures_and_traces_go(tmp_path: Path, packets: bool) -> None:
    kept = write(tmp_path / "kept", plain())
    made = plain()
    made.keep_captures = False
    folder = write(tmp_path / "removed", made)
    captures = {file.name for file in (folder / "pcap").iterdir()}
    for _ in range(2):  # the second call finds what the first one made
        for each in (kept, folder):
            assert write_columns(each) == []
            drop(each, packets)
    assert {file.name for file in (folder / "pcap").iterdir()} == (set() if packets else captures)
    assert [path.name for path in (folder / "traces").iterdir()] == ["events.csv"]
    assert (kept / "traces/queue.csv").exists() and len(list((kept / "pcap").iterdir())) == len(captures)
    for table in (kept / "columns").iterdir():
        assert pl.read_parquet(folder / "columns" / table.name).equals(pl.read_parquet(table))
    assert Run(folder).drops().count() == 4


def test_packets_that_no_scenario_asks_for_change_no_table(tmp_path: Path) -> None:
    plainly, more = (write(tmp_path / name, plain()) for name in ("plain", "more"))
    shutil.copy(more / "pcap/bottleneck-out.pcap", more / "pcap/sender.s1-eth0.pcap")
    (more / "pcap/bottleneck-out.pcap.gz").write_bytes(gzip.compress((more / "pcap/bottleneck-out.pcap").read_bytes()))
    (more / "pcap/bottleneck-out.pcap").unlink()
    vouch(more)
    for folder in (plainly, more):
        write_columns(folder)
    one, other = (pl.read_parquet(folder / "columns/packets.parquet") for folder in (plainly, more))
    assert one.equals(other)


def test_utp_packets_have_a_table_of_their_own(tmp_path: Path) -> None:
    folder = write(tmp_path, Made([Packet(0, 1.0, 1.1)], flows=("tcp", "utp")))
    ends: dict[str, Any] = {"src": 0x0A000201, "dst": 0x0A010201, "sport": 9, "dport": 5002}
    data = utp_frame(**ends, kind=0, seq=7, ack=1, time_us=11, difference_us=5, window_bytes=9, payload=1382)
    path = folder / "pcap" / "bottleneck-out.pcap"
    path.write_bytes(path.read_bytes() + pcap([(ORIGIN_NS, data)])[24:])
    vouch(folder)
    write_columns(folder)
    utp = pl.read_parquet(folder / "columns" / "utp.parquet")
    assert utp.select("utp_header_bytes", "utp_difference_us", "utp_window_bytes").rows() == [(20, 5, 9)]
    packet = pl.read_parquet(folder / "columns" / "packets.parquet")[utp["packet"]]
    shared = packet.select("flow", "forward", "seq", "tsval", "ip_length", "payload_bytes")
    assert shared.row(0) == ("utp", True, 7, 11, 1430, 1382)


def test_a_receiver_may_answer_from_another_port(tmp_path: Path) -> None:
    """As the crate utp does, which accepts each connection on a socket of its own."""
    folder = write(tmp_path, Made([Packet(0, 1.0, 1.1)], flows=("tcp", "utp")))
    sender, receiver = (0x0A000201, 9), (0x0A010201, 5002)
    elsewhere, stranger = (receiver[0], 46022), (0x0A010101, 46022)
    path = folder / "pcap" / "bottleneck-out.pcap"
    for n, (end, other) in enumerate(
        [(elsewhere, sender), (sender, receiver), (elsewhere, sender), (sender, elsewhere), (sender, stranger)]
    ):
        ends: dict[str, Any] = {"src": end[0], "sport": end[1], "dst": other[0], "dport": other[1]}
        data = utp_frame(**ends, kind=0, seq=n, ack=1, time_us=11)
        path.write_bytes(path.read_bytes() + pcap([(ORIGIN_NS + n, data)])[24:])
    vouch(folder)
    write_columns(folder)
    packets = pl.read_parquet(folder / "columns" / "packets.parquet").filter(proto=17)
    assert packets.select("flow", "forward").rows() == [
        *[("utp", False), ("utp", True), ("utp", False), ("utp", True)],
        (None, None),
    ]


def test_a_cut_capture_is_reported(tmp_path: Path) -> None:
    folder = write(tmp_path, plain())
    path = folder / "pcap" / "bottleneck-out.pcap"
    path.write_bytes(path.read_bytes()[:-5])
    vouch(folder)
    assert [str(path) in warning for warning in write_columns(folder)] == [True]


def test_a_damaged_capture_is_refused_and_leaves_no_table(tmp_path: Path) -> None:
    folder = write(tmp_path, plain())
    path = folder / "pcap" / "bottleneck-out.pcap"
    content = bytearray(path.read_bytes())
    content[-82 + 8 : -82 + 12] = b"\xff" * 4  # the captured length of the last record
    path.write_bytes(content)
    vouch(folder)
    with pytest.raises(BadInputError, match=f"{path}: the record at byte {len(content) - 82} says"):
        write_columns(folder)
    assert not (folder / "columns").exists()


def test_an_empty_capture_has_empty_tables(tmp_path: Path) -> None:
    folder = write(tmp_path, Made([]))
    write_columns(folder)
    assert len(pl.read_parquet(folder / "columns" / "packets.parquet")) == 0
    assert len(pl.read_parquet(folder / "columns" / "utp.parquet")) == 0


def test_strangers_belong_to_no_flow(tmp_path: Path) -> None:
    made = Made([Packet(0, 1.0, 1.1), Packet(1, 1.0, 1.1)], flows=("tcp", "ledbat"))
    folder = write(tmp_path, made)
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"10.1.2.1"', '"10.1.9.1"'))
    vouch(folder)
    write_columns(folder)
    packets = pl.read_parquet(folder / "columns" / "packets.parquet")
    assert sorted(packets["flow"].cast(pl.String).to_list(), key=str) == [None, None, "tcp", "tcp"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 1}, "format: found 1, allowed is 2"),
        ({"origin_ns": "now"}, "origin_ns: found 'now', allowed is a whole number"),
        ({"bottleneck": {"buffer_pkts": 40}}, "bottleneck.rate_bps: found nothing, allowed is a whole number"),
        (
            {"bottleneck": {"rate_bps": 0, "buffer_pkts": 40}},
            "bottleneck.rate_bps: found 0, allowed is a number above 0",
        ),
        ({"flows": [{"name": "a", "implementation": "b", "start_ns": 0, "to_address": "x1"}]}, "flows[0].to_address"),
        ({"keep_captures": 1}, "keep_captures: found 1, allowed is true or false"),
    ],
)
def test_bad_settings_are_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    made = plain()
    made.changes = changes
    folder = write(tmp_path, made)
    with pytest.raises(BadInputError) as caught:
        write_columns(folder)
    assert message in str(caught.value)
    assert "run.json" in str(caught.value)


def test_what_tables_are_made_of_is_compared_with_its_sum(tmp_path: Path) -> None:
    folder = write(tmp_path, plain())
    (folder / "pcap/bottleneck-out.pcap").write_bytes(b"")
    with pytest.raises(DamagedError, match=r"bottleneck-out\.pcap: damaged"):
        write_columns(folder)
    sums.write(folder, {name: of for name, of in sums.read(folder).items() if name != "traces/queue.csv"})
    with pytest.raises(DamagedError, match=r"(pcap: damaged|queue\.csv: found no sum)"):
        write_columns(folder)


def test_missing_pieces_are_named(tmp_path: Path) -> None:
    folder = write(tmp_path, plain())
    with pytest.raises(BadInputError, match="python -m analysis columns"):
        _ = Run(folder).queue_pkts
    (folder / "pcap" / "bottleneck-out.pcap").unlink()
    vouch(folder)
    with pytest.raises(BadInputError, match="no capture of bottleneck-out"):
        write_columns(folder)
    folder = write(tmp_path, plain())
    (folder / "traces" / "queue.csv").write_text("time_ns,backlog_pkts\n0,0\n")
    vouch(folder)
    with pytest.raises(BadInputError, match="the header lacks backlog_bytes"):
        write_columns(folder)


def test_completion_and_length_of_a_run_that_ended_with_its_flows(tmp_path: Path) -> None:
    folder = write(tmp_path, plain())
    summary = json.loads((folder / "summary.json").read_text())
    flows = {"tcp": {"completed_ns": 7_500_000_000}, "ledbat": {"completed_ns": None}}
    (folder / "summary.json").write_text(json.dumps(summary | {"ended_ns": 8_000_000_000, "flows": flows}))
    vouch(folder)
    assert Run(folder).duration == 8
    assert Run(folder).completed("tcp") == 7.5
    with pytest.raises(NeverHappenedError):
        Run(folder).completed("ledbat")


def test_a_flow_without_end_is_never_asked_when_it_was_done(run: Run) -> None:
    with pytest.raises(BadInputError, match="flow tcp has no bytes"):
        run.completed("tcp")


def test_a_strangers_run_folder_changes_nothing_outside_of_it(tmp_path: Path) -> None:
    """Captures and traces that are not kept are removed: in this folder, whatever links and names say."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.csv").write_text("mine")
    names = write(tmp_path / "names", plain())
    document = json.loads((names / "run.json").read_text())
    document["keep_captures"] = False
    (names / "traces" / "cwnd-..").mkdir()
    document["flows"][0]["name"] = f"../../{'../' * len(names.parts)}{outside}/mine"
    (names / "run.json").write_text(json.dumps(document))
    vouch(names)
    write_columns(names)
    drop(names, packets=True)
    for place in ("pcap", "columns"):
        links = write(tmp_path / place, plain())
        if place == "pcap":
            (links / place).rename(links / "was")
        (links / place).symlink_to(outside)
        with pytest.raises(DamagedError, match="found a link"):
            write_columns(links)
    assert [path.name for path in outside.iterdir()] == ["mine.csv"]
