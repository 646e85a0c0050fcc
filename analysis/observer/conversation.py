"""One flow as its sender sees it: what it sent, and what came back, each with the instant, in one form for TCP and uTP.

The place is the sender's own interface where a scenario captures it. With the captures at the bottleneck
alone, data is taken at its arrival there (access links hold no packet back), and what comes back is dated later by the
scenario's backward delay, which lies behind that tap; that needs a backward delay that no event changes.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.run_json import NS, Flow, Settings
from analysis.series import Floats, NotMeasuredError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TCP, UDP = 6, 17
FEWEST_PKTS: Final = 20  # with data, of a flow that is described; less tells nothing of a controller
SYN, RST, FIN_FLAG = 0x02, 0x04, 0x01
DATA, FIN, STATE, RESET, UTP_SYN = range(5)  # types of uTP packets
LARGEST_FRAME: Final = 1500  # bytes of an IP packet on Ethernet
NO_SAMPLE: Final = (0, 0x7FFFFFFF)  # differences that say "no packet came yet", the second from old clients
COLUMNS: Final = (
    *("time_ns", "forward", "src", "sport", "dst", "dport", "proto", "payload_bytes", "ip_length"),
    *("flags", "seq", "ack", "window", "window_scale", "tsval", "tsecr"),
)
TICKS_PER_S: Final = (10, 100, 250, 1000, 1_000_000)  # clocks of TCP timestamps that systems are known to use


@dataclass(frozen=True, eq=False)
class DataPackets:
    """Packets that carry data, by time. What is numbered: bytes by TCP, packets by uTP; both without wrapping."""

    times: Floats  # s of scenario time
    first: Ints  # number of the first unit in the packet
    behind: Ints  # number behind its last unit
    payload_bytes: Ints
    ip_bytes: Ints


@dataclass(frozen=True, eq=False)
class Answers:
    """Packets that came back, by time."""

    times: Floats  # s of scenario time
    acked: Ints  # everything numbered below this has come
    sack: NDArray[np.uint64]  # bit i: unit acked + 1 + i has come, too (uTP)
    window_bytes: Floats  # what the receiver lets the sender have on its way; infinite before it is known
    is_closed: Bools | None = None  # whether that is 0, which it is in any unit; None: not known of any


@dataclass(frozen=True, eq=False)
class Samples:
    """Delays in seconds at instants; off by an unknown constant where two clocks are involved."""

    times: Floats
    values: Floats


@dataclass(frozen=True, eq=False)
class Conversation:
    """The largest connection of a flow: clients may open several."""

    protocol: str  # "tcp" or "utp"
    version: int | None  # of uTP's header
    place: str  # where it was captured: "sender" or "bottleneck"
    end: float  # of the run, s
    sent: DataPackets
    answers: Answers
    forward: Samples  # one-way delays of data, at the instants their answers arrive
    backward: Samples  # one-way delays of answers, at the instants the sender reports them
    connections: int
    clocks_disagree: bool = False  # delays longer than the flow would follow from them, so there are no samples
    answer_pkts: int | None = (
        None  # packets without data that the receiver sent once data came; None: they are encrypted
    )
    marked_pkts: int = 0  # of all that the bottleneck's queue marked, if the sender may have asked for marks


def load(settings: Settings, packets: pl.LazyFrame, utp: pl.LazyFrame, flow: Flow, end: float) -> Conversation:
    """Take a flow out of the tables of a run that ended at `end`, s.

    Raises NotMeasuredError when the flow's packets were not captured where they are needed.
    """
    tap = "receiver" if flow.backward else "sender"
    place = tap if tap in settings.captures else "bottleneck"
    own = packets.with_row_index("packet").filter(pl.col("flow") == flow.name)
    own = _at_bottleneck(settings, flow, own) if place == "bottleneck" else own.filter(pl.col("tap") == tap)
    seen = own.select("packet", *COLUMNS).collect().sort("time_ns", maintain_order=True)
    over_udp = bool((seen["proto"] == UDP).any())
    if over_udp:
        of_utp = utp.join(seen.lazy().select("packet"), on="packet", how="semi").collect()
        seen = seen.join(of_utp, on="packet", how="left", maintain_order="left")
    carries = pl.col("forward") & (pl.col("payload_bytes") > 0)
    ends = ["src", "sport", "dst", "dport", "proto"] + (["utp_connection"] if over_udp else [])
    by_connection = seen.filter(carries).group_by(ends).agg(pl.col("payload_bytes").cast(pl.Int64).sum().alias("bytes"))
    if not len(by_connection):
        raise NotMeasuredError(f"flow {flow.name} sent no data that was captured at the {place}")
    largest = by_connection.sort("bytes", *ends, descending=True, nulls_last=True).row(0, named=True)
    there, back = both_ways(seen, largest)
    if largest["proto"] == UDP and largest.get("utp_connection") is None:
        raise NotMeasuredError(f"flow {flow.name} is neither TCP nor uTP")
    return converse(there, back, place=place, end=end, connections=len(by_connection))


def converse(there: pl.DataFrame, back: pl.DataFrame, *, place: str, end: float, connections: int) -> Conversation:
    """Take what a connection's two directions say, `there` being that of the data; both by time."""
    over_tcp = int(there["proto"][0]) == TCP
    sent, answers, forward, backward = _tcp(there, back) if over_tcp else _utp(there, back)
    ends = [float(side["time_ns"][at]) / NS for side in (there, back) if len(side) for at in (0, -1)]
    disagree = any(len(way.values) and np.ptp(way.values) > max(ends) - min(ends) for way in (forward, backward))
    if disagree:
        forward = backward = Samples(np.zeros(0), np.zeros(0))
    return Conversation(
        protocol="tcp" if over_tcp else "utp",
        version=None if over_tcp else int(there["utp_version"][0]),
        place=place,
        end=end,
        sent=sent,
        answers=answers,
        forward=forward,
        backward=backward,
        connections=connections,
        clocks_disagree=disagree,
        answer_pkts=_answer_pkts(there, back),
    )


def _answer_pkts(there: pl.DataFrame, back: pl.DataFrame) -> int:
    """Count the packets without data that came back after the first data, one that opens or ends a connection aside."""
    carrying = there.filter(pl.col("payload_bytes") > 0)["time_ns"]
    after = back.filter((pl.col("payload_bytes") == 0) & (pl.col("time_ns") >= carrying.min()))
    over_tcp = int(there["proto"][0]) == TCP
    answers = pl.col("flags") & (SYN | FIN_FLAG | RST) == 0 if over_tcp else pl.col("utp_type") == STATE
    return len(after.filter(answers))


def unwrapped(values: Ints, bits: int, first: int | None = None) -> Ints:
    """Numbers that count on where the wire's begin again, from `first` (default: the first value itself)."""
    if not len(values):
        return values
    half, whole = 1 << (bits - 1), 1 << bits
    start = int(values[0]) if first is None else first
    steps = np.diff(values, prepend=np.int64(start % whole))
    result: Ints = start + np.cumsum((steps + half) % whole - half)
    return result


def _at_bottleneck(settings: Settings, flow: Flow, own: pl.LazyFrame) -> pl.LazyFrame:
    if flow.backward or not {"bottleneck-in", "bottleneck-out"} <= set(settings.captures):
        raise NotMeasuredError(
            f"what the sender of flow {flow.name} sees needs a capture at its host (sender, for flows from a d host "
            "receiver), or for flows towards a d host captures on both sides of the bottleneck"
        )
    if settings.backward_changes:
        raise NotMeasuredError(
            f"an event changes the backward delay: what the sender of flow {flow.name} sees needs a capture at its host"
        )
    there = own.filter((pl.col("tap") == "bottleneck-in") & pl.col("forward"))
    back = own.filter((pl.col("tap") == "bottleneck-out") & ~pl.col("forward"))
    return pl.concat([there, back.with_columns(pl.col("time_ns") + round(settings.backward_s * NS))])


def both_ways(own: pl.DataFrame, largest: dict[str, int]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Packets of a connection from the sender, and back to it."""
    there = pl.all_horizontal(pl.col(name) == largest[name] for name in ("src", "sport", "dst", "dport"))
    back = pl.all_horizontal(
        pl.col(a) == largest[b] for a, b in (("src", "dst"), ("sport", "dport"), ("dst", "src"), ("dport", "sport"))
    )
    connection = largest.get("utp_connection")
    if connection is not None:
        # the two directions of a uTP connection have numbers that differ by one
        there &= pl.col("utp_connection") == connection
        back &= (pl.col("utp_connection").cast(pl.Int64) - connection).abs() <= 1
    return own.filter(there), own.filter(back)


def _seconds(table: pl.DataFrame) -> Floats:
    return table["time_ns"].to_numpy() / NS


def _whole(table: pl.DataFrame, column: str) -> Ints:
    return table[column].cast(pl.Int64).to_numpy()


def _tcp(there: pl.DataFrame, back: pl.DataFrame) -> tuple[DataPackets, Answers, Samples, Samples]:
    flags = pl.col("flags")
    data = there.filter((pl.col("payload_bytes") > 0) | (flags & (SYN | FIN_FLAG) > 0))
    extra = ((_whole(data, "flags") & (SYN | FIN_FLAG)) > 0).astype(np.int64)
    first = unwrapped(_whole(data, "seq"), 32)
    payload = _whole(data, "payload_bytes")
    behind = first + payload + extra
    kept = ~_keep_alives(first, behind, payload)
    ip_bytes = _whole(data, "ip_length")
    sent = DataPackets(_seconds(data)[kept], first[kept], behind[kept], payload[kept], ip_bytes[kept])
    shift = _window_shift(there, back)
    back = back.filter((flags & RST == 0) & (flags & 0x10 > 0))
    acked = unwrapped(_whole(back, "ack"), 32, int(first[0]))
    window = np.full(len(back), np.inf)
    if shift is not None:
        # the window of a packet that opens the connection is never scaled
        scaled = np.where((_whole(back, "flags") & SYN) > 0, 0, shift)
        window = (_whole(back, "window") << scaled).astype(float)
    is_closed = _whole(back, "window") == 0
    answers = Answers(_seconds(back), acked, np.zeros(len(back), np.uint64), window, is_closed)
    advancing = np.diff(np.maximum.accumulate(acked), prepend=first[0]) > 0 if len(acked) else np.zeros(0, bool)
    of_sender, of_receiver = ticks(there), ticks(back)
    forward = _echoed(back.filter(pl.Series(advancing)), of_receiver, of_sender)
    backward = _echoed(there, of_sender, of_receiver)
    return sent, answers, forward, backward


def _keep_alives(first: Ints, behind: Ints, payload: Ints) -> Bools:
    """Find what only asks whether the peer is there: the last byte that was sent, of a longer packet, by itself."""
    reached = np.maximum.accumulate(np.append(first[:1], behind))[:-1]
    found: Bools = (payload == 1) & (first + 1 == reached) & ~np.isin(first, first[first >= reached])
    return found


def _window_shift(there: pl.DataFrame, back: pl.DataFrame) -> int | None:
    """Shift of the windows that come back: scaling is in force when both opening packets ask for it (RFC 7323).

    None when they were not captured, as in a capture that begins later.
    """
    shifts = []
    for side in (there, back):
        opening = side.filter(pl.col("flags") & SYN > 0)
        if not len(opening):
            return None
        shifts.append(int(opening["window_scale"][0]))
    return min(shifts[1] - 1, 14) if all(shifts) else 0


def ticks(side: pl.DataFrame) -> int | None:
    """Ticks a second of the clock in a side's timestamps; None when it is none of those in use."""
    stamped = side.filter(pl.col("tsval") > 0)
    if len(stamped) < 2:
        return None
    elapsed = (int(stamped["time_ns"][-1]) - int(stamped["time_ns"][0])) / NS
    counted = unwrapped(_whole(stamped, "tsval"), 32)
    if elapsed <= 0:
        return None
    rate = float(counted[-1] - counted[0]) / elapsed
    # packets dated where they pass and stamped where they leave differ by queues: a tenth is generous, and tells
    # these clocks apart
    return next((ticks for ticks in TICKS_PER_S if abs(rate - ticks) < 0.1 * ticks), None)


def _echoed(side: pl.DataFrame, own_ticks: int | None, echoed_ticks: int | None) -> Samples:
    """One-way delays from TCP's timestamps: own clock less the echoed one.

    They are exact for answers to data. Data echoes the last answer, however long the sender has waited since, so delays
    of the reverse path are upper bounds. A clock that cannot be told counts as fast as the other one.
    """
    side = side.filter((pl.col("tsval") > 0) & (pl.col("tsecr") > 0))
    own, echoed = own_ticks or echoed_ticks, echoed_ticks or own_ticks
    if own is None or echoed is None or not len(side):
        return Samples(np.zeros(0), np.zeros(0))
    if own == echoed:
        difference = (_whole(side, "tsval") - _whole(side, "tsecr")) % 2**32
        return Samples(_seconds(side), _signed(difference) / own)
    # of two units, only each clock's own steps have a meaning
    here, there = (unwrapped(_whole(side, name), 32) for name in ("tsval", "tsecr"))
    return Samples(_seconds(side), (here - here[0]) / own - (there - there[0]) / echoed)


def _utp(there: pl.DataFrame, back: pl.DataFrame) -> tuple[DataPackets, Answers, Samples, Samples]:
    # a packet that acknowledges only repeats the number that the next data packet will have
    data = there.filter(pl.col("utp_type").is_in([DATA, FIN, UTP_SYN]))
    first = unwrapped(_whole(data, "seq"), 16)
    sent = DataPackets(_seconds(data), first, first + 1, _whole(data, "payload_bytes"), _whole(data, "ip_length"))
    # the packet that opens a connection acknowledges nothing yet
    answer = back.filter(pl.col("utp_type").is_in([DATA, FIN, STATE]))
    acked = unwrapped(_whole(answer, "ack"), 16, int(first[0]) - 1) + 1
    window = answer["utp_window_bytes"].cast(pl.Float64).to_numpy()
    answers = Answers(_seconds(answer), acked, answer["utp_sack"].to_numpy(), window)
    return sent, answers, _reported(answer), _reported(there)


def _reported(side: pl.DataFrame) -> Samples:
    """One-way delays that a side reports of what it got."""
    side = side.filter(~pl.col("utp_difference_us").is_in(NO_SAMPLE))
    return Samples(_seconds(side), _signed(_whole(side, "utp_difference_us")) / 1e6)


def _signed(differences: Ints) -> Floats:
    """Differences of two clocks of 32 bits, without wrapping; the first is taken as the smaller of both readings."""
    if not len(differences):
        return np.zeros(0)
    first = int(differences[0])
    return unwrapped(differences, 32, first - 2**32 if first >= 2**31 else first).astype(float)
