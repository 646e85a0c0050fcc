import re
import struct
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.capture import _dissect, pcap
from analysis.errors import BadInputError
from tests.analysis.synthetic import frame
from tests.analysis.synthetic import pcap as make_pcap

TIMES = [1_700_000_000_000_001_000, 1_700_000_000_999_999_000]
RECORDS = [(TIMES[0], frame(1, 2, 3, 4, 5, 6)), (TIMES[1], frame(11, 12, 13, 14, 15, 16, length=52, tsval=17))]


def read(tmp_path: Path, content: bytes) -> pcap.Capture:
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    return pcap.read(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [True, False])
def test_every_kind_of_file(tmp_path: Path, order: str, nanoseconds: bool) -> None:
    packets, truncated = read(tmp_path, make_pcap(RECORDS, order=order, nanoseconds=nanoseconds))
    assert not truncated
    assert packets["time_ns"].to_list() == TIMES
    assert packets.row(0, named=True) == {
        "time_ns": TIMES[0],
        "ip_length": 1500,
        "src": 1,
        "dst": 2,
        "sport": 3,
        "dport": 4,
        "proto": 6,
        "ip_id": 6,
        "seq": 5,
        "ack": 1,
        "flags": 0x10,
        "window": 512,
        "payload_bytes": 1448,
        "tsval": 7,
        "tsecr": 9,
    }
    assert packets["payload_bytes"].to_list() == [1448, 0]


@pytest.mark.parametrize("cut", [1, 30, 66, 70, 81])
def test_cut_last_record_is_left_out_and_reported(tmp_path: Path, cut: int) -> None:
    packets, truncated = read(tmp_path, make_pcap(RECORDS)[:-cut])
    assert truncated
    assert packets["time_ns"].to_list() == TIMES[:1]


def test_empty_capture(tmp_path: Path) -> None:
    packets, truncated = read(tmp_path, make_pcap([]))
    assert len(packets) == 0
    assert not truncated


def damaged(offset: int, word: int) -> bytes:
    content = bytearray(make_pcap(RECORDS))
    content[offset : offset + 4] = struct.pack("<I", word)
    return bytes(content)


SECOND = 24 + 16 + 66  # offset of the second record


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes are too few"),
        (b"\xa1\xb2\xc3\xd4", "4 bytes are too few"),
        (b"\n" * 40, "magic number at byte 0 is 0a0a0a0a"),
        (damaged(20, 101), "link type at byte 20 is 101, allowed is 1"),
        (damaged(SECOND + 8, 0x7FFFFFFF), f"record at byte {SECOND} says that it holds 2147483647 captured bytes"),
        (damaged(SECOND + 4, 1_000_000_000), f"record at byte {SECOND} has the fraction of a second 1000000000"),
    ],
)
def test_garbage_is_refused_with_file_and_offset(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(message)) as caught:
        read(tmp_path, content)
    assert str(tmp_path / "a.pcap") in str(caught.value)


def decode(data: bytes) -> dict[str, int]:
    """An independent decoder: the same rules, straight from the formats, on one frame."""
    row = dict.fromkeys(list(pcap.COLUMNS)[1:], 0)
    start = 18 if data[12:14] == b"\x81\x00" else 14
    if len(data) < start or data[start - 2 : start] != b"\x08\x00":
        return row
    ip = data[start:]
    if len(ip) < 20 or ip[0] >> 4 != 4 or (ip[0] & 15) < 5:
        return row
    header = (ip[0] & 15) * 4
    length, row["ip_id"], fragment = struct.unpack(">HHH", ip[2:8])
    row["ip_length"], row["proto"] = length, ip[9]
    row["src"], row["dst"] = struct.unpack(">II", ip[12:20])
    if fragment & 0x1FFF or length < header or len(ip) < header:
        return row
    rest = ip[header:length]
    if row["proto"] not in (6, 17) or len(rest) < 4:
        return row
    row["sport"], row["dport"] = struct.unpack(">HH", rest[:4])
    if row["proto"] == 17:
        row["payload_bytes"] = max(length - header - 8, 0)
        return row
    if len(rest) < 20:
        return row
    row["seq"], row["ack"] = struct.unpack(">II", rest[4:12])
    row["flags"], row["window"] = rest[13], struct.unpack(">H", rest[14:16])[0]
    offset = (rest[12] >> 4) * 4
    if not 20 <= offset <= length - header:
        return row
    row["payload_bytes"] = length - header - offset
    options = rest[20:offset]
    while options and options[0] != 0:
        if options[0] == 1:
            options = options[1:]
            continue
        if len(options) < 2 or not 2 <= options[1] <= len(options):
            break
        if options[:2] == b"\x08\x0a":
            row["tsval"], row["tsecr"] = struct.unpack(">II", options[2:10])
            break
        options = options[options[1] :]
    return row


def mutated(draw: st.DrawFn) -> bytes:
    """A frame that is almost right: random header fields and options, some bytes hit, the end cut off."""
    options = draw(
        st.lists(
            st.one_of(
                st.just(b"\x01"),
                st.just(b"\x08\x0a" + bytes(range(8))),
                st.binary(min_size=1, max_size=6),
                st.just(b"\x05\x0a" + bytes(8)),
            ),
            max_size=5,
        ).map(b"".join)
    )[:40]
    options += bytes(-len(options) % 4)
    protocol = draw(st.sampled_from([6, 6, 6, 17, 1]))
    length = draw(st.sampled_from([1500, 52, 40 + len(options), 0, 19, 65535]))
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, length, 1, draw(st.sampled_from([0, 0x4000, 185])), 64, protocol, 0, 2, 3)
    tcp = struct.pack(">HHIIBBHHH", 4, 5, 6, 7, (5 + len(options) // 4) << 4, 0x18, 8, 0, 0)
    vlan = draw(st.sampled_from([b"", b"\x81\x00\x00\x01"]))
    data = bytearray(bytes(12) + vlan + b"\x08\x00" + ip + tcp + options + b"payload")
    for index in draw(st.lists(st.integers(0, len(data) - 1), max_size=3)):
        data[index] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.composite(mutated)(), st.binary(max_size=120)), max_size=8), st.sampled_from("<>"))
def test_agrees_with_an_independent_decoder(frames: list[bytes], order: str) -> None:
    content = make_pcap([(n, data) for n, data in enumerate(frames)], order=order)
    swapped = order == ">"
    records, offset, ending = _dissect.survey(content, swapped, 1_000_000_000)
    assert (records, offset, ending) == (len(frames), len(content), 0)
    columns = {name: np.full(records, 7, dtype) for name, dtype in pcap.COLUMNS.items()}
    assert _dissect.fill(content, swapped, 1_000_000_000, tuple(columns.values())) == records
    for row, data in enumerate(frames):
        assert {name: int(column[row]) for name, column in columns.items() if name != "time_ns"} == decode(data)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 12), st.booleans())
def test_no_bytes_crash_the_reader(content: bytes, rows: int, swapped: bool) -> None:
    records, offset, ending = _dissect.survey(content, swapped, 1_000_000)
    assert ending in (0, 1, 2, 3)
    assert offset <= max(len(content), 24)
    columns = tuple(np.empty(rows, dtype) for dtype in pcap.COLUMNS.values())
    assert _dissect.fill(content, swapped, 1_000_000, columns) == min(rows, records)


def test_columns_that_do_not_fit_are_refused() -> None:
    columns = [np.empty(3, dtype) for dtype in pcap.COLUMNS.values()]
    for wrong in ([*columns[:-1], np.empty(2, np.uint32)], [*columns[:-1], np.empty(3, np.uint8)], columns[:-1]):
        with pytest.raises(ValueError, match="column"):
            _dissect.fill(make_pcap(RECORDS), False, 1_000_000_000, tuple(wrong))


def test_compiles_without_a_warning(tmp_path: Path) -> None:
    source = Path(pcap.__file__).with_name("_dissect.c")
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", str(source), "-o", str(tmp_path / "d.o")]
    subprocess.run([*command, f"-I{sysconfig.get_paths()['include']}"], check=True)
