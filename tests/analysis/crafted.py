"""Large captures that ask the observer for as much as they can, made with numpy."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tests.analysis.synthetic import NS, ORIGIN_NS, frame, pcap, utp_frame

Ints = NDArray[np.int64]

FIRST_NS: Final = ORIGIN_NS
TCP: Final = frame(0x0A000101, 0x0A010101, 40001, 5001, 0, 0)[14:]  # raw IP, the smallest records
UTP: Final = utp_frame(
    0x0A000101, 0x0A010101, 40001, 5001, kind=0, seq=0, ack=0, time_us=0, difference_us=1, payload=500, snap=14 + 48
)[14:]
RECORD_HEADER_BYTES: Final = 16


def records(packet: bytes, times_ns: Ints, **fields: tuple[int, str, Ints]) -> NDArray[np.uint8]:
    """Copies of a packet as records of a pcap file: a row each, with fields at their offset, type and values."""
    rows = np.tile(np.frombuffer(pcap([(0, packet)], link=101)[24:], np.uint8), (len(times_ns), 1))
    stamps = np.stack([times_ns // NS, times_ns % NS], 1).astype("<u4")
    rows[:, :8] = stamps.view(np.uint8)
    for offset, kind, values in fields.values():
        width = np.dtype(kind).itemsize
        at = RECORD_HEADER_BYTES + offset
        rows[:, at : at + width] = values.astype(kind).view(np.uint8).reshape(-1, width)
    return rows


def turned(rows: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same from the receiver to the sender, without payload."""
    acks = rows.copy()
    ip = RECORD_HEADER_BYTES
    acks[:, ip + 12 : ip + 16], acks[:, ip + 16 : ip + 20] = rows[:, ip + 16 : ip + 20], rows[:, ip + 12 : ip + 16]
    acks[:, ip + 20 : ip + 22], acks[:, ip + 22 : ip + 24] = rows[:, ip + 22 : ip + 24], rows[:, ip + 20 : ip + 22]
    acks[:, ip + 2 : ip + 4] = np.array([0, rows.shape[1] - ip], np.uint8)
    acks[:, ip + 8] = 63  # it passed a router, so the capture was taken at the sender
    return acks


def _turn(number: int) -> Ints:
    return np.arange(number, dtype=np.int64)


def _each(number: int, every_ns: int) -> Ints:
    return FIRST_NS + _turn(number) * every_ns


def _data(times_ns: Ints, step: int = 1448) -> NDArray[np.uint8]:
    turn = _turn(len(times_ns))
    stamps = (times_ns - times_ns[0]) // 1_000_000 % 2**32
    return records(TCP, times_ns, seq=(24, ">u4", turn * step % 2**32), tsval=(44, ">u4", stamps))


def _answered(times_ns: Ints, step: int = 1448, after_ns: int = 20_000_000) -> NDArray[np.uint8]:
    """Data and an answer to each, in turn, by time where they do not overtake each other."""
    data = _data(times_ns, step)
    answers = turned(_data(times_ns + after_ns, 0))
    acked = (_turn(len(times_ns)) + 1) * step % 2**32
    at = RECORD_HEADER_BYTES + 28
    answers[:, at : at + 4] = acked.astype(">u4").view(np.uint8).reshape(-1, 4)
    return np.stack([data, answers], 1).reshape(-1, data.shape[1])


def one_flow(number: int) -> NDArray[np.uint8]:
    """One flow, each packet answered."""
    return _answered(_each(number // 2, 25_000_000))


def one_distant_stamp(number: int) -> NDArray[np.uint8]:
    """The same; the last two packets' time is 82 years later."""
    rows = one_flow(number)
    rows[-2:, :4] = np.array([2**32 - 1], "<u4").view(np.uint8)
    return rows


def distant_stamps(number: int) -> NDArray[np.uint8]:
    """Each pair of packets a minute and more after the one before."""
    return _answered(_each(number // 2, min(61 * NS, (2**32 * NS - FIRST_NS) // number)))


def backwards(number: int) -> NDArray[np.uint8]:
    """Stamps that run backwards."""
    return one_flow(number)[::-1]


def no_time(number: int) -> NDArray[np.uint8]:
    """All packets at one instant."""
    return _answered(np.full(number // 2, FIRST_NS), after_ns=0)


def many_flows(number: int) -> NDArray[np.uint8]:
    """Flows of one packet each."""
    rows = _data(_each(number, 1000))
    turn = _turn(number)
    ip = RECORD_HEADER_BYTES
    rows[:, ip + 12 : ip + 16] = turn.astype(">u4").view(np.uint8).reshape(-1, 4)
    return rows


def flows_of_twenty(number: int) -> NDArray[np.uint8]:
    """Flows of as many packets as are needed to be described."""
    rows = _data(_each(number, 1000))
    ip = RECORD_HEADER_BYTES
    rows[:, ip + 12 : ip + 16] = (_turn(number) // 20).astype(">u4").view(np.uint8).reshape(-1, 4)
    return rows


def utp_flows_of_twenty(number: int) -> NDArray[np.uint8]:
    """The same over uTP, numbered, with random differences."""
    turn = _turn(number)
    return records(
        UTP,
        _each(number, 1000),
        src=(12, ">u4", turn // 20),
        seq=(28 + 16, ">u2", turn % 2**16),
        difference=(28 + 8, ">u4", np.random.default_rng(1).integers(0, 2**32, number)),
    )


def sent_again(number: int) -> NDArray[np.uint8]:
    """One flow, whose later half sends the first again in small steps while answers come."""
    rows = _answered(_each(number // 2, 1_000_000), after_ns=500_000)
    half = len(rows) // 4 * 2
    ip = RECORD_HEADER_BYTES
    rows[half::2, ip + 24 : ip + 28] = rows[0:half:2, ip + 24 : ip + 28][: len(rows[half::2])]
    return rows


def jumping_numbers(number: int) -> NDArray[np.uint8]:
    """Sequence numbers half their circle apart."""
    return _answered(_each(number // 2, 25_000_000), step=2**31 - 1)


CRAFTED: Final[dict[str, Callable[[int], NDArray[np.uint8]]]] = {
    made.__name__: made
    for made in (
        one_flow,
        one_distant_stamp,
        distant_stamps,
        backwards,
        no_time,
        many_flows,
        flows_of_twenty,
        utp_flows_of_twenty,
        sent_again,
        jumping_numbers,
    )
}


def write(path: Path, rows: NDArray[np.uint8]) -> Path:
    """Write records into a pcap file; returns it."""
    with path.open("wb") as file:
        file.write(pcap([], link=101))
        rows.tofile(file)
    return path
