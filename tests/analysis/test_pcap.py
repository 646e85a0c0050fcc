import re
import struct
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.capture import _dissect, pcap
from analysis.errors import BadInputError
from tests.analysis.synthetic import frame, utp_frame
from tests.analysis.synthetic import pcap as make_pcap

UTP = [name for name in pcap.COLUMNS if name.startswith("utp_")]
TIMES = [1_700_000_000_000_001_000, 1_700_000_000_999_999_000]
RECORDS = [(TIMES[0], frame(1, 2, 3, 4, 5, 6)), (TIMES[1], frame(11, 12, 13, 14, 15, 16, length=52, tsval=17))]


def read(tmp_path: Path, content: bytes) -> pcap.CapturedPackets:
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
        "window_scale": 0,
        "payload_bytes": 1448,
        "tsval": 7,
        "tsecr": 9,
        **dict.fromkeys(UTP, 0),
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
        (b"{" + b"\n" * 40, "found JSON; allowed: JSON of iperf3 (-J), flent or qlog, or a capture (pcap or pcapng)"),
        (b"ESTAB 0 0 10.0.0.1:1 10.0.0.2:2\n cubic", "found what ss prints of sockets; allowed: a capture"),
        (b"\x28\xb5\x2f\xfd" + bytes(40), "found packed by zstd; allowed: pcap and pcapng, plain or packed"),
        (b"snoop\0\0\0" + bytes(40), "editcap -F pcap FILE NEW makes pcap of it"),
        (damaged(20, 195), "link type at byte 20 is 195 (IEEE 802.15.4), allowed are 0 (loopback), 1 (Ethernet)"),
        (damaged(SECOND + 8, 0x7FFFFFFF), f"record at byte {SECOND} says that it holds 2147483647 captured bytes"),
        (
            damaged(SECOND + 4, 1_000_000_000),
            f"1 packet left out: no time, or one that cannot be (the first at byte {SECOND})",
        ),
    ],
)
def test_garbage_is_refused_with_file_and_offset(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(BadInputError, match=re.escape(message)) as caught:
        read(tmp_path, content)
    assert str(tmp_path / "a.pcap") in str(caught.value)


def decode(data: bytes) -> dict[str, int]:
    """An independent decoder: the same rules, straight from the formats, on one frame."""
    row = dict.fromkeys(list(pcap.COLUMNS)[1:], 0)
    start = 14
    while data[start - 2 : start] in (b"\x81\x00", b"\x88\xa8") and start < 22:
        start += 4
    if len(data) < start or data[start - 2 : start] != b"\x08\x00":
        return row
    ip = data[start:]
    if len(ip) < 20 or ip[0] >> 4 != 4 or (ip[0] & 15) < 5:
        return row
    header = (ip[0] & 15) * 4
    length, row["ip_id"], fragment = struct.unpack(">HHH", ip[2:8])
    length = length or len(ip)
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
        return row | (decode_utp(rest[8:], length - header - 8) or {"seq": first_bytes(rest[8:], length - header)})
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
        if options[:2] == b"\x03\x03":
            row["window_scale"] = min(options[2] + 1, 255)
        options = options[options[1] :]
    return row


def first_bytes(data: bytes, length: int) -> int:
    """Give what tells a datagram that is not uTP from others: the lower half of a 64-bit FNV-1a hash."""
    digest = 0xCBF29CE484222325 ^ length
    for byte in data[:28]:
        digest = (digest ^ byte) * 0x100000001B3 % 2**64
    return digest % 2**32 if data else 0


def decode_utp(data: bytes, length: int) -> dict[str, int]:
    """Decode a datagram of that length as uTP; nothing if it is not uTP."""
    if len(data) < 20:
        return {}
    if data[0] & 15 == 1 and data[0] >> 4 < 5 and data[1] < 4:
        kind, extension, size = data[0] >> 4, data[1], 20
        names = ("utp_connection", "tsval", "utp_difference_us", "utp_window_bytes", "seq", "ack")
        row = dict(zip(names, struct.unpack(">HIIIHH", data[2:20]), strict=True)) | {"utp_version": 1}
    elif len(data) >= 23:
        connection, s, us, difference, window, extension, kind, seq, ack = struct.unpack(">IIIIBBBHH", data[:23])
        if kind >= 5 or extension >= 4 or us >= 1_000_000:
            return {}
        size = 23
        row = {"utp_connection": connection, "tsval": (s * 1_000_000 + us) % 2**32, "utp_difference_us": difference}
        row |= {"utp_window_bytes": window * 350, "seq": seq, "ack": ack, "utp_version": 0}
    else:
        return {}
    row |= {"utp_type": kind, "utp_extensions": 0, "utp_sack": 0}
    while extension:
        chain = data[size:]
        if length - size < 2:
            return {}
        if len(chain) < 2:
            break  # not captured
        if chain[0] > 3 or size + 2 + chain[1] > length:
            return {}
        row["utp_extensions"] |= 1 << (extension - 1)
        if extension == 1:
            row["utp_sack"] |= int.from_bytes(chain[2 : 2 + chain[1]][:8], "little")
        extension, size = chain[0], size + 2 + chain[1]
    if kind == 2:
        if any(data[size:length]):
            return {}
        size = length
    if kind == 0 and size == length:
        return {}
    return row | {"utp_header_bytes": size, "payload_bytes": length - size}


def nearly_utp(draw: st.DrawFn) -> bytes:
    """A uTP packet of either version that is almost right."""
    chain = b"".join(
        bytes([follower, len(data)]) + data
        for follower, data in draw(st.lists(st.tuples(st.integers(0, 4), st.binary(max_size=12)), max_size=3))
    )
    numbers = draw(st.tuples(*[st.integers(0, 65535)] * 4))
    data = utp_frame(
        2, 3, 4, 5, kind=draw(st.integers(0, 5)), connection=numbers[0], seq=numbers[1], ack=numbers[2],
        time_us=numbers[3], extension=draw(st.integers(0, 4)), chain=chain, payload=draw(st.integers(0, 30)),
        version=draw(st.integers(0, 2)), snap=10_000,
    )  # fmt: skip
    changed = bytearray(data)
    for index in draw(st.lists(st.integers(34, len(data) - 1), max_size=2)):
        changed[index] = draw(st.integers(0, 255))
    return bytes(changed[: draw(st.integers(50, len(data)))])


def mutated(draw: st.DrawFn) -> bytes:
    """A frame that is almost right: random header fields and options, some bytes hit, the end cut off."""
    options = draw(
        st.lists(
            st.one_of(
                st.just(b"\x01"),
                st.just(b"\x08\x0a" + bytes(range(8))),
                st.just(b"\x03\x03\x07"),
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
    vlan = draw(st.sampled_from([b"", b"\x81\x00\x00\x01", b"\x88\xa8\x00\x01\x81\x00\x00\x02"]))
    data = bytearray(bytes(12) + vlan + b"\x08\x00" + ip + tcp + options + b"payload")
    for index in draw(st.lists(st.integers(0, len(data) - 1), max_size=3)):
        data[index] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.one_of(st.composite(mutated)(), st.composite(nearly_utp)(), st.binary(max_size=120)), max_size=8),
    st.sampled_from("<>"),
)
def test_agrees_with_an_independent_decoder(frames: list[bytes], order: str) -> None:
    content = make_pcap([(n, data) for n, data in enumerate(frames)], order=order)
    headers = _dissect.headers(False, order == ">", 1_000_000_000, 1)
    columns = {name: np.full(len(frames) + 1, 7, dtype) for name, dtype in pcap.COLUMNS.items()}
    filled = _dissect.fill(content, pcap.FILE_HEADER_BYTES, headers, tuple(columns.values()))
    assert filled == (len(frames), len(content), 0, 0)
    assert _dissect.left_out(headers) == []
    for row, data in enumerate(frames):
        assert {name: int(column[row]) for name, column in columns.items() if name != "time_ns"} == decode(data)


@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 12), st.booleans())
def test_no_bytes_crash_the_reader(content: bytes, rows: int, swapped: bool) -> None:
    columns = tuple(np.empty(rows, dtype) for dtype in pcap.COLUMNS.values())
    headers = _dissect.headers(False, swapped, 1_000_000, 1)
    records, offset, ending, _ = _dissect.fill(content, 24, headers, columns)
    assert ending in (0, 1, 2, 3)
    assert 24 <= offset <= max(len(content), 24)
    assert records <= rows


def rows_of(tmp_path: Path, *frames: bytes) -> list[dict[str, int]]:
    return read(tmp_path, make_pcap([(n, data) for n, data in enumerate(frames)])).packets.rows(named=True)


def test_utp_of_either_version(tmp_path: Path) -> None:
    sack = bytes([0, 4, 0b101, 0, 0, 0x80])
    new, old = rows_of(
        tmp_path,
        utp_frame(1, 2, 3, 4, kind=2, seq=7, ack=65535, time_us=5, difference_us=2**32 - 9, extension=1, chain=sack),
        utp_frame(
            1, 2, 3, 4, kind=0, seq=8, ack=6, time_us=4_296_000_000, connection=70_000, payload=300, version=0,
            window_bytes=7000,
        ),
    )  # fmt: skip
    assert (new["utp_version"], new["utp_type"], new["seq"], new["ack"], new["tsval"]) == (1, 2, 7, 65535, 5)
    assert new["utp_difference_us"] == 2**32 - 9
    assert (new["utp_header_bytes"], new["payload_bytes"]) == (26, 0)
    assert (new["utp_extensions"], new["utp_sack"]) == (1, 1 | 4 | 1 << 31)
    assert (old["utp_version"], old["utp_type"], old["utp_connection"], old["seq"]) == (0, 0, 70_000, 8)
    assert old["tsval"] == 4_296_000_000 - 2**32
    assert (old["utp_window_bytes"], old["utp_header_bytes"], old["payload_bytes"]) == (7000, 23, 300)


def test_zeros_behind_an_acknowledgement_are_no_data(tmp_path: Path) -> None:
    zeros = utp_frame(1, 2, 3, 4, kind=2, seq=7, ack=6, time_us=5, chain=bytes(6))  # as utp-go sends them
    [row] = rows_of(tmp_path, zeros)
    assert (row["utp_type"], row["seq"], row["ack"], row["payload_bytes"]) == (2, 7, 6, 0)


def test_a_long_sack_is_known_as_far_as_it_was_captured(tmp_path: Path) -> None:
    chain = bytes([0, 40]) + b"\xff" * 40
    whole, cut = rows_of(
        tmp_path,
        utp_frame(1, 2, 3, 4, kind=2, seq=1, ack=1, time_us=1, extension=1, chain=chain),
        utp_frame(1, 2, 3, 4, kind=2, seq=1, ack=1, time_us=1, extension=1, chain=chain, snap=67),
    )
    assert (whole["utp_header_bytes"], whole["utp_sack"]) == (62, 2**64 - 1)
    assert (cut["utp_header_bytes"], cut["utp_sack"]) == (62, 2**24 - 1)


@pytest.mark.parametrize(
    "data",
    [
        utp_frame(1, 2, 3, 4, kind=0, seq=1, ack=1, time_us=1),  # data without data
        utp_frame(1, 2, 3, 4, kind=2, seq=1, ack=1, time_us=1, chain=b"data"),  # acknowledges and carries data
        utp_frame(1, 2, 3, 4, kind=0, seq=1, ack=1, time_us=1, extension=1, payload=1),  # half an extension
        utp_frame(1, 2, 3, 4, kind=0, seq=1, ack=1, time_us=1, extension=1, chain=b"\x00\xff", payload=99),
        utp_frame(1, 2, 3, 4, kind=5, seq=1, ack=1, time_us=1, difference_us=2**31, payload=99),
        frame(1, 2, 3, 4, 5, 6),
    ],
)
def test_what_has_not_the_form_of_utp_is_none(tmp_path: Path, data: bytes) -> None:
    assert [rows_of(tmp_path, data)[0][name] for name in UTP] == [0] * len(UTP)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b""]), st.booleans())
def test_any_file_is_read_or_refused(content: bytes, magic: bytes, ethernet: bool) -> None:
    rest = bytes(16) + (b"\x01\0\0\0" if magic[:1] == b"\xd4" else b"\0\0\0\x01") if ethernet else b""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(magic + rest + content)
        file.flush()
        try:
            packets = pcap.read(Path(file.name)).packets
        except BadInputError as error:
            assert file.name in str(error)
        else:
            assert 16 * len(packets) <= len(content)


def test_columns_that_do_not_fit_are_refused() -> None:
    columns = [np.empty(3, dtype) for dtype in pcap.COLUMNS.values()]
    for wrong in ([*columns[:-1], np.empty(2, np.uint32)], [*columns[:-1], np.empty(3, np.uint8)], columns[:-1]):
        with pytest.raises(ValueError, match="column"):
            _dissect.fill(make_pcap(RECORDS), 24, _dissect.headers(False, False, 1_000_000, 1), tuple(wrong))
    with pytest.raises(ValueError, match="offset"):
        _dissect.fill(make_pcap(RECORDS), -1, _dissect.headers(False, False, 1_000_000, 1), tuple(columns))
    with pytest.raises(ValueError, match="headers"):
        _dissect.fill(make_pcap(RECORDS), 24, bytearray(3), tuple(columns))


@pytest.mark.parametrize("most_pkts", [1, 2, 3])
def test_a_capture_in_chunks_is_the_whole_capture(tmp_path: Path, most_pkts: int) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(make_pcap([*RECORDS, *RECORDS, RECORDS[0]])[:-1])
    chunks = list(pcap.read_chunks(path, most_pkts))
    assert max(len(chunk.packets) for chunk in chunks) == most_pkts
    assert [chunk.truncated for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert pl.concat([chunk.packets for chunk in chunks]).equals(pcap.read(path).packets)
    assert len(pcap.read(path).packets) == 4


def test_compiles_without_a_warning(tmp_path: Path) -> None:
    source = Path(pcap.__file__).with_name("_dissect.c")
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-c", str(source), "-o", str(tmp_path / "d.o")]
    subprocess.run([*command, f"-I{sysconfig.get_paths()['include']}"], check=True)


def test_damaged_captures_make_no_reader_go_astray(tmp_path: Path) -> None:
    """A short run of what `make trial NAME=fuzz` does at length."""
    source = Path(__file__).with_name("fuzz_records.c")
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(tmp_path / "fuzz")], check=True)
    capture = source.with_name("data") / "fuzz.pcap"
    done = subprocess.run(
        [tmp_path / "fuzz", str(capture), "300000"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
