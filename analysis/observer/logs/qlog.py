"""A sender's qlog (any version since draft-00, as JSON or a record a line) as the observer takes a stream over QUIC.

The log says what captures hide: which packets an acknowledgement names. Packets are numbered as in
`analysis.observer.datagrams`. QUIC tells its sender no one-way delays, so what stands for them are round-trip times,
less the time for which the receiver says that it waited.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from analysis.errors import BadInputError
from analysis.observer.conversation import FEWEST_PKTS, Answers, Conversation, DataPackets, Ints, Samples
from analysis.observer.datagrams import PROTOCOL, accounted
from analysis.series import Floats

FIELDS: Final = {"qlog_version", "qlog_format", "file_schema"}
HEADERS_BYTES: Final = {4: 28, 6: 48}  # IP and UDP
OVERHEAD_BYTES: Final = 30  # about what of a QUIC packet is no data of a stream, where a log lists no frames
LATEST_S: Final = 4e9  # since the epoch
LARGEST_NUMBER: Final = (1 << 62) - 1  # of a packet
LARGEST_BYTES: Final = (1 << 16) - 1  # of a packet
DELTAS: Final = ("delta", "delta_time", "relative_to_previous_event")


@dataclass(frozen=True, eq=False)
class Connection:
    """A connection as the log of its sender has it."""

    path: Path
    sender: str
    receiver: str
    began_ns: int | None  # since the epoch
    lasts_s: float
    seen: Conversation
    program: str | None


class _Event(NamedTuple):
    at_s: float
    name: str
    data: dict[str, Any]


class _Sent(NamedTuple):
    number: int
    at_s: float
    packet_bytes: int
    payload_bytes: int


class _Answer(NamedTuple):
    at_s: float
    ranges: list[tuple[int, int]]
    delay_s: float
    marked_pkts: int


def read(path: Path, documents: list[dict[str, Any]]) -> list[Connection]:
    """Read the traces of a file.

    Raises BadInputError where none has FEWEST_PKTS packets with data that were sent, or a field is not qlog's.
    """
    found, most = [], 0
    for trace in _traces(documents):
        try:
            sent, answers, about = _looked_through(trace)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise BadInputError(f"{path}: found an event that is none of qlog's ({error}); allowed: qlog") from None
        most = max(most, len(sent))
        if len(sent) >= FEWEST_PKTS:
            found.append(_connection(path, trace, sent, answers, about))
    if not found:
        raise BadInputError(
            f"{path}: found a qlog with {most} packets with data that were sent; allowed: {FEWEST_PKTS} or more, as in "
            "the log of the side that sends the data, with the events packet_sent and packet_received"
        )
    return found


def _traces(documents: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the traces, each with its events in a list."""
    first, *rest = documents
    if isinstance(first.get("traces"), list):
        yield from (
            trace for trace in first["traces"] if isinstance(trace, dict) and isinstance(trace.get("events"), list)
        )
        return
    trace = first.get("trace")
    yield {**(trace if isinstance(trace, dict) else {}), "events": rest}


def _fields(trace: dict[str, Any], name: str) -> dict[str, Any]:
    value = trace.get(name)
    return value if isinstance(value, dict) else {}


def _looked_through(trace: dict[str, Any]) -> tuple[list[_Sent], list[_Answer], dict[str, Any]]:
    sent, answers = {}, []
    about: dict[str, Any] = {}
    for event in _events(trace):
        name = event.name.rpartition(":")[2].lower()
        if name == "connection_started":
            about |= event.data
        if name not in ("packet_sent", "packet_received"):
            continue
        header = event.data.get("header") or {}
        kind = str(event.data.get("packet_type", header.get("packet_type", ""))).lower()
        frames = event.data.get("frames")
        if kind in ("initial", "handshake", "0rtt", "retry", "version_negotiation", "stateless_reset"):
            continue
        if name == "packet_sent":
            packet = _sent(event, header, frames)
            if packet and packet.number not in sent:
                sent[packet.number] = packet
        else:
            answers += [_answer(event.at_s, frame) for frame in frames or () if _kind(frame) == "ack"]
    return sorted(sent.values()), answers, about


def _events(trace: dict[str, Any]) -> Iterator[_Event]:
    """Yield the events with instants in seconds, from the same zero."""
    configuration, common = _fields(trace, "configuration"), _fields(trace, "common_fields")
    unit_s = 1e-6 if configuration.get("time_units") == "us" else 1e-3
    columns = [str(name).lower() for name in trace.get("event_fields") or ()]
    how, now = str(common.get("time_format", "absolute")), 0.0
    for event in filter(None, trace["events"]):  # some writers end with an empty one
        if isinstance(event, list):
            row = dict(zip(columns, event, strict=False))
            name = str(row.get("event_type", row.get("event", "")))
            at_name = next((one for one in ("relative_time", "delta_time") if one in row), "time")
        else:
            row, name, at_name = event, str(event["name"]), "time"
        at_s = unit_s * float(row[at_name])
        now = now + at_s if at_name in DELTAS or how in DELTAS else at_s
        if not -LATEST_S <= now <= LATEST_S:
            raise ValueError(f"time {row[at_name]!r}")
        data = row.get("data")
        yield _Event(now, name, data if isinstance(data, dict) else {})


def _kind(frame: dict[str, Any]) -> str:
    return str(frame.get("frame_type", "")).lower()


def _sent(event: _Event, header: dict[str, Any], frames: list[dict[str, Any]] | None) -> _Sent | None:
    """A packet with data of streams, or None."""
    raw = event.data.get("raw") or {}
    length = raw.get("length") or header.get("packet_size") or event.data.get("packet_size") or 0
    packet_bytes = _whole(length, LARGEST_BYTES)
    payload_bytes = max(0, packet_bytes - OVERHEAD_BYTES)
    if frames is not None:
        of_streams = [frame for frame in frames if _kind(frame) in ("stream", "datagram")]
        if not of_streams:
            return None
        lengths: list[Any] = [one.get("length", (one.get("raw") or {}).get("payload_length")) for one in of_streams]
        if None not in lengths:
            payload_bytes = _whole(sum(map(int, lengths)), LARGEST_BYTES)
    if payload_bytes <= 0:
        return None
    number = _whole(header["packet_number"], LARGEST_NUMBER)
    return _Sent(number, event.at_s, max(packet_bytes, payload_bytes), payload_bytes)


def _answer(at_s: float, frame: dict[str, Any]) -> _Answer:
    ranges = [
        (_whole(one[0], LARGEST_NUMBER), _whole(one[-1], LARGEST_NUMBER)) for one in frame.get("acked_ranges") or ()
    ]
    delay_s = 1e-3 * float(frame.get("ack_delay") or 0)
    if not 0 <= delay_s <= LATEST_S:
        raise ValueError(f"ack_delay {frame['ack_delay']!r}")
    return _Answer(at_s, ranges, delay_s, _whole(frame.get("ce") or 0, LARGEST_NUMBER))


def _whole(written: Any, most: int) -> int:
    """A number that some logs write as text. Raises ValueError beyond `most`, and below 0."""
    value = int(written)
    if not 0 <= value <= most:
        raise ValueError(f"number {written!r}")
    return value


def _connection(
    path: Path, trace: dict[str, Any], sent: list[_Sent], answers: list[_Answer], about: dict[str, Any]
) -> Connection:
    zero = min(sent[0].at_s, *(answer.at_s for answer in answers[:1]))
    sent_s = np.maximum.accumulate(np.array([packet.at_s for packet in sent])) - zero
    heard_s = np.maximum.accumulate(np.array([answer.at_s for answer in answers] or [zero])) - zero
    heard_s = heard_s[: len(answers)]
    numbers_sent = np.array([packet.number for packet in sent])
    came_s, own_delays = _acknowledged(numbers_sent, answers, heard_s)
    numbers, acked, newest = accounted(sent_s, came_s, heard_s, heard_s)
    payload = np.array([packet.payload_bytes for packet in sent], np.int64)
    headers = HEADERS_BYTES[6 if ":" in str(_where(about, "src")) else 4]
    ip_bytes = np.array([packet.packet_bytes + headers for packet in sent], np.int64)
    tells = np.append(-1, newest)[:-1] != newest  # an answer that acknowledges nothing new is no sample
    trips = (came_s - sent_s)[newest[tells]]
    waited = np.minimum(own_delays[newest[tells]], trips)
    nothing = Samples(np.zeros(0), np.zeros(0))
    end = float(max(sent_s[-1], heard_s[-1] if len(heard_s) else 0.0))
    seen = Conversation(
        protocol=PROTOCOL,
        version=None,
        place="sender",
        end=end + 1e-9,
        sent=DataPackets(sent_s, numbers, numbers + 1, payload, ip_bytes),
        answers=Answers(heard_s, acked, np.zeros(len(heard_s), np.uint64), np.full(len(heard_s), np.inf)),
        forward=Samples(heard_s[tells], trips - waited),
        backward=nothing,
        connections=1,
        marked_pkts=max((answer.marked_pkts for answer in answers), default=0),
    )
    vantage = _fields(trace, "vantage_point")
    side = str(vantage.get("type", "sender")).lower()
    other = {"client": "server", "server": "client"}.get(side, "receiver")
    named = vantage.get("name")
    return Connection(
        path,
        _where(about, "src") or side,
        _where(about, "dst") or other,
        _began_ns(trace, zero),
        end,
        seen,
        str(named) if named else None,
    )


def _acknowledged(numbers: Ints, answers: list[_Answer], heard_s: Floats) -> tuple[Floats, Floats]:
    """When each packet was first acknowledged (infinite: never), and how long its receiver had waited until then, s."""
    came_s, delays = np.full(len(numbers), np.inf), np.zeros(len(numbers))
    onwards = list(range(len(numbers) + 1))  # from each packet on, the first that nothing acknowledges yet

    def first_open(packet: int) -> int:
        way = []
        while onwards[packet] != packet:
            way.append(packet)
            packet = onwards[packet]
        for one in way:
            onwards[one] = packet
        return packet

    for answer, at_s in zip(answers, heard_s.tolist(), strict=True):
        for low, high in answer.ranges:
            packet = first_open(int(np.searchsorted(numbers, low)))
            while packet < len(numbers) and numbers[packet] <= high:
                came_s[packet], delays[packet] = at_s, answer.delay_s
                onwards[packet] = packet + 1
                packet = first_open(packet + 1)
    return came_s, delays


def _where(about: dict[str, Any], side: str) -> str | None:
    """Address and port by the event connection_started, in either of its forms."""
    own = about.get({"src": "local", "dst": "remote"}[side])
    if isinstance(own, dict):
        for version in ("v4", "v6"):
            if f"ip_{version}" in own:
                return _written(own[f"ip_{version}"], own.get(f"port_{version}"))
    return _written(about[f"{side}_ip"], about.get(f"{side}_port")) if f"{side}_ip" in about else None


def _written(address: object, port: object) -> str:
    host = f"[{address}]" if ":" in str(address) else str(address)
    return f"{host}:{port}" if port is not None else host


def _began_ns(trace: dict[str, Any], zero_s: float) -> int | None:
    """When the first packet was sent, since the epoch, if the log says so."""
    reference = _fields(trace, "common_fields").get("reference_time", 0)
    try:
        began_s = 1e-3 * float(reference) + zero_s
    except (TypeError, ValueError):
        return None
    return round(began_s * 1e9) if 1e9 < began_s < LATEST_S else None
