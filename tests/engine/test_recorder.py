"""The recorder of the guest's kernel: what it records, that it changes nothing, and what happens when it cannot."""

import gzip
import json
import random
import struct
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from engine import images, recorder
from engine import run as execution
from engine.errors import EngineError
from engine.recorder import Recording, records_after
from engine.run import execute, run_folder
from engine.sandbox import Limits
from scenarios.resolve import expand, resolve
from tests.trial import trial
from tests.trust.recorded import of_guest

KINDS = """\
experiment: recorded
title: Kinds of runs that are over soon
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 10mbit, buffer: 40p, queue: "${queue}"}
backward_bottleneck: {rate: 5mbit, buffer: 40p}
delay: {forward: 10ms, backward: 10ms}
flows:
  - {name: one, implementation: "${client}", from: s1, to: d1}
  - {name: other, implementation: tcp-ledbat, from: d2, to: s2, start: 500ms}
start_jitter: 10ms
events:
  - {at: 1s, on: path, jitter: {forward: 2ms}}
  - {at: 2s, on: path, loss: {forward: 1%}}
duration: 3s
captures: [bottleneck-out]
matrix: {client: [tcp-cubic, libutp], queue: [fifo, fq_codel]}
"""
TAPS = ["bottleneck-in", "bottleneck-out", "backward-in", "sender", "receiver"]
HEAD = b"packets\0" + struct.pack("<II", 1, 116)


def test_a_run_is_the_same_whatever_is_recorded_of_it(program: Callable[[str], None], tmp_path: Path) -> None:
    program("libutp")
    for cell in expand(trial(tmp_path, KINDS), "complete"):
        none = of_guest(cell, 1, tmp_path / "none", [], [])
        assert len(none["of_guest"]) > 10 and none["captured"] == {}
        for into, captures, keep in (("one", ["bottleneck-out"], []), ("all", TAPS, TAPS)):
            summary = of_guest(cell, 1, tmp_path / into, captures, keep)
            assert summary["of_guest"] == none["of_guest"], cell.name
            made = {file.name for file in (run_folder(tmp_path / into, cell, 1) / "pcap").iterdir()}
            assert set(summary["captured"]) == made


def test_captures_are_those_that_tcpdump_makes_of_the_same_run(
    scenario: Path, tmp_path: Path, sabotage: Callable[[str, str, str], None]
) -> None:
    asked = f"{{**run, 'agent': {{'captures': {TAPS}}}, 'sizes': {{'capture_buffer_kib': 4096}}}}"
    folders = "import os; [os.makedirs(f'{RESULTS}/logs/{name}') for name in ('pcap', 'logs')]"
    start = "    capturing = captures.start(net, run, RESULTS)\n"
    by_tcpdump = f"    {folders}\n    capturing = captures.start(net, {asked}, f'{{RESULTS}}/logs')\n"
    sabotage("engine/guest/agent.py", start, by_tcpdump)
    sabotage("engine/guest/captures.py", "SNAP_BYTES = 116", "SNAP_BYTES = 96")  # the recorder's over IPv4
    scenario.write_text(scenario.read_text().replace("keep_captures: true\n", ""))
    (cell,) = expand(scenario, "complete")
    execute(resolve(cell, 1), tmp_path, keep=TAPS)
    folder = run_folder(tmp_path, cell, 1)
    theirs = sorted((folder / "logs/pcap").iterdir())
    assert len(theirs) == 9
    for file in theirs:
        ours = gzip.decompress((folder / "pcap" / f"{file.name}.gz").read_bytes())
        assert ours[24:] == file.read_bytes()[24:]  # the heads differ in the longest record
        assert file.stat().st_size > 50_000


def test_many_interfaces(scenario: Path, tmp_path: Path) -> None:
    (cell,) = expand(scenario, "complete")
    many = replace(cell, settings={**cell.settings, "topology": {"name": "dumbbell", "pairs": 40}})
    summary = execute(resolve(many, 1), tmp_path, keep=TAPS)
    assert len(summary["captured"]) == 4 * 40 + 1
    with pytest.raises(EngineError, match=r"found the tap 'sendr'; allowed: .*sender"):
        execute(resolve(cell, 1), tmp_path, keep=["sendr"])


@pytest.mark.parametrize(("what", "less"), [("pkts", 1), ("wire_bytes", 20)])
def test_a_capture_that_has_less_than_was_counted_fails_its_run(what: str, less: int) -> None:
    captures = [
        recorder.RecordedTap("x.pcap.gz", "x", "r1-r2", "inout"),
        recorder.RecordedTap("y.pcap", "y", "r1-r2", "out"),
    ]
    counted = {"r1-r2": {"received_pkts": 2, "received_bytes": 132, "sent_pkts": 3, "sent_bytes": 4500}}
    held = {"x.pcap.gz": {"pkts": 5, "wire_bytes": 4632}, "y.pcap": {"pkts": 3, "wire_bytes": 4500}}
    recorder.check(captures, held, counted)
    held["y.pcap"][what] -= less
    with pytest.raises(EngineError, match=r"audit: the capture at y \(r1-r2\) has \d+ (packets|bytes), the interface"):
        recorder.check(captures, held, counted)


def test_a_recorder_that_may_not_go_on_leaves_the_run_and_fails_its_audit(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cell,) = expand(scenario, "complete")
    plain = execute(resolve(cell, 1), tmp_path / "plain")
    monkeypatch.setattr(execution, "_check_space", lambda *_: (1 << 30, 200_000))
    with pytest.raises(EngineError, match="audit: the captures break off: they take more bytes than this run may"):
        execute(resolve(cell, 1), tmp_path)
    failed = run_folder(tmp_path, cell, 1).with_name("failed-seed-1")
    summary = json.loads((failed / "summary.json").read_text())
    for what in ("flows", "counters", "ended_ns", "virtual_s"):
        assert summary[what] == plain[what]
    whole = (run_folder(tmp_path / "plain", cell, 1) / "pcap/bottleneck-out.pcap").read_bytes()
    written = (failed / "pcap/bottleneck-out.pcap").read_bytes()
    assert 60_000 < len(written) < len(whole) and whole.startswith(written)


def test_what_was_recorded_before_a_guest_was_ended_stays(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario.write_text(scenario.read_text().replace("duration: 5s", "duration: 100min"))
    (cell,) = expand(scenario, "complete")
    monkeypatch.setattr(execution, "Limits", lambda **_: Limits(disk_bytes=1 << 20))
    with pytest.raises(EngineError, match="its run folder takes"):
        execute(resolve(cell, 1), tmp_path)
    failed = run_folder(tmp_path, cell, 1).with_name("failed-seed-1")
    for file in ("bottleneck-out.pcap", "bottleneck-in.r1-s1.pcap"):
        assert records_after(failed / "pcap" / file, 0)["pkts"] > 1000


def test_a_kernel_that_cannot_read_what_to_record_does_not_boot(
    scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def wrong(*_: object) -> Iterator[tuple[list[str], list[int]]]:
        yield ["record=3,0,r1-r2:4"], []

    monkeypatch.setattr(Recording, "started", wrong)
    (cell,) = expand(scenario, "complete")
    with pytest.raises(EngineError, match=r"record=3,0,r1-r2:4: allowed: FD,FROM,DEVICE:DIRECTIONS"):
        execute(resolve(cell, 1), tmp_path)


def test_packets_after_the_counters_were_read_do_not_count(tmp_path: Path) -> None:
    (run := tmp_path / "run").mkdir()
    stream = HEAD + _long(10**18) + _record(0, 200) + _record(5, 60) + _record(5, 1500)
    captures = [recorder.RecordedTap("x.pcap.gz", "x", "r1-r2", "inout")]
    recording = Recording(captures, 0, tmp_path / "own", 1 << 20)
    with recording.started(images.load().tools, 0) as (_, [into]):
        subprocess.run(["tee", f"/dev/fd/{into}"], input=stream, stdout=subprocess.DEVNULL, pass_fds=[into], check=True)
    recording.move(run)
    assert recording.until(10**18 + 10, run) == {"x.pcap.gz": {"pkts": 3, "wire_bytes": 1760}}
    assert recording.until(10**18 + 9, run) == {"x.pcap.gz": {"pkts": 2, "wire_bytes": 260}}


def _record(since_ns: int, length: int, device: int = 1, same: bool = False) -> bytes:
    what = same << 31 | device << 19 | length
    return struct.pack("<II", since_ns, what) + (b"" if same else bytes(range(256))[: min(length, 116)])


def _long(instant_ns: int) -> bytes:
    return struct.pack("<IQ", 0xFFFFFFFF, instant_ns)


def _recorded(
    stream: bytes, into: Path, forms: Sequence[str] = ("gz", "pcap"), limit_bytes: int = 10**6
) -> tuple[list[str], list[bytes]]:
    with ExitStack() as opened:
        files = [opened.enter_context((into / form).open("wb")) for form in forms]
        words = [f"{file.fileno()}:1:3:{form}" for file, form in zip(files, forms, strict=True)]
        command = [str(images.load().tools / recorder.PROGRAM), str(limit_bytes), *words]
        descriptors = [file.fileno() for file in files]
        done = subprocess.run(command, input=stream, capture_output=True, pass_fds=descriptors, check=True)
    return done.stdout.decode().splitlines(), [(into / form).read_bytes() for form in forms]


def test_a_stream_that_is_no_recorders_breaks_off(tmp_path: Path) -> None:
    good = HEAD + _long(10**18) + _record(0, 200) + _record(7, 200, same=True) + _record(1, 40) + _record(2, 1500)
    said, (packed, plain) = _recorded(good, tmp_path)
    assert said == ["4 1940", "4 1940", f"{10**18 + 10} "]
    assert gzip.decompress(packed) == plain
    assert len(plain) == 24 + 4 * 16 + 116 + 116 + 40 + 116
    for bad, why in (
        (b"anything else at all" + good, "speaks another language"),
        (HEAD + _record(0, 9, same=True), "like none"),
        (HEAD + _long(2**64 - 1) + _record(0, 9), "after 2106"),
    ):
        said, (packed, plain) = _recorded(bad, tmp_path)
        assert why in said[-1] and said[0] == "0 0" and gzip.decompress(packed) == plain
    source = random.Random(1)  # noqa: S311 (repeatable on purpose)
    for _ in range(100):
        damaged = bytearray(good * 3)
        for _ in range(source.randrange(1, 9)):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        said, (packed, plain) = _recorded(bytes(damaged), tmp_path)
        assert gzip.decompress(packed) == plain and said[0] == said[1]


def _ethernet(kind: str, number: int, source: random.Random) -> bytes:
    """The first bytes of a packet of a conversation: TCP whose sides echo each other's clocks, uTP, or anything."""
    if kind == "anything":
        return source.randbytes(source.randrange(117))
    back = number % 2
    clocks = struct.pack(">II", 7 * number, 7 * (number - 11))
    address = bytes([10, back, 1, 1])
    if kind == "utp":
        payload = b"".join(struct.pack(">Q", 170 * number + each) for each in range(9))
        ip = b"\x45\0\5\xdc\0\0\x40\0\x40\x11\0\0" + address * 2
        return bytes(12) + b"\x08\0" + ip + bytes(8) + b"\1\0" + clocks + bytes(10) + payload
    tcp = b"\x13\x89\xdf\xf8" + struct.pack(">II", 1448 * number, 1448 * number + 9) + b"\x80\x10\xfa\xf0\0\0\0\0"
    version = b"\x86\xdd\x60" + bytes(7) + address * 8 if kind == "ipv6" else b"\x08\0\x45" + bytes(11) + address * 2
    return (bytes(12) + version + tcp + b"\1\1\x08\x0a" + clocks + bytes(96))[: 66 if back and kind == "tcp" else None]


@pytest.mark.parametrize("kinds", [["tcp"], ["ipv6"], ["utp"], ["anything"], ["tcp", "ipv6", "utp", "anything"]])
def test_what_is_packed_is_what_was_recorded_in_few_bytes(kinds: list[str], tmp_path: Path) -> None:
    source = random.Random(1)  # noqa: S311 (repeatable on purpose)
    stream = bytearray(HEAD + _long(10**18))
    for number in range(11, 15_000):  # several blocks, and more than a window
        held = _ethernet(source.choice(kinds), number, source)
        most = 96 if held[12:14] == b"\x08\0" else 116
        length = len(held) if len(held) < most else source.choice([most, 1514])
        stream += struct.pack("<II", source.randrange(10**6), 1 << 19 | length) + held[:most]
    said, (packed, plain) = _recorded(bytes(stream), tmp_path, limit_bytes=10**8)
    assert said[0] == said[1]
    assert gzip.decompress(packed) == plain
    assert len(packed) < (1.1 * len(plain) if "anything" in kinds else len(gzip.compress(plain, 1)))


def test_a_full_disk_ends_the_captures(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [str(images.load().tools / recorder.PROGRAM), "1000000", f"{full.fileno()}:1:3:gz"]
        stream = HEAD + _long(10**18) + _record(0, 200)
        done = subprocess.run(command, input=stream, capture_output=True, pass_fds=[full.fileno()], check=True)
    assert done.stdout.decode().splitlines()[-1] == f"{10**18} No space left on device"
