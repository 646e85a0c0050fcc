"""What is on its way: packets in flight, round-trip times, and retransmissions with their causes."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np

from analysis.observer.conversation import Bools, Conversation, Ints, Samples
from analysis.series import Floats, NotMeasuredError, Series

# A timeout comes no earlier than this after the round-trip time (Linux: tcp_rto_min), or ...
TCP_TIMEOUT_AFTER_RTT_S: Final = 0.19
# ... than this after the packet (libtorrent 0.5 s, libutp 1 s), at least a quarter more than the round-trip time.
UTP_TIMEOUT_S: Final = 0.475
UTP_TIMEOUT_RTTS: Final = 1.25


class RetransmitCause(StrEnum):
    """Why a packet was sent again."""

    FAST = "fast"  # answers to later packets told of the loss (TCP's tail loss probes count here, too)
    TIMEOUT = "timeout"  # nothing came for long, and what is sent again until all from before has come
    MTU_PROBE = "mtu-probe"  # it was larger than all that ever arrived: a search for the path's packet size


@dataclass(frozen=True, eq=False)
class Retransmissions:
    """Packets sent again, by time."""

    times: Floats
    causes: list[RetransmitCause]

    def count(self, cause: RetransmitCause) -> int:
        """How many have a cause."""
        return self.causes.count(cause)


class Flight:
    """The accounts of a conversation: each packet by its first transmission, in the order of its number."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        sent, answers = conversation.sent, conversation.answers
        reached = np.maximum.accumulate(np.append(sent.first[0], sent.behind))[:-1]
        self.new: Bools = sent.first >= reached
        self.times: Floats = sent.times[self.new]
        self.payload: Ints = sent.payload_bytes[self.new]
        self._behind: Ints = sent.behind[self.new]
        # answers that were overtaken tell nothing about what is on its way now
        furthest = np.maximum.accumulate(answers.acked) if len(answers.acked) else answers.acked
        current = answers.acked == furthest
        self.answered: Floats = answers.times[current]
        self._done: Ints = np.searchsorted(self._behind, answers.acked[current], side="right")
        self._sack = answers.sack[current]
        self.window_bytes: Floats = answers.window_bytes[current]

    @cached_property
    def late_bytes(self) -> Ints:
        """Payload, bytes, of each packet with an earlier number that nothing had brought to the tap before.

        It was sent again after a loss before the tap, or overtaken before it.
        """
        sent = self.conversation.sent
        numbers, payload = sent.first[~self.new], sent.payload_bytes[~self.new]
        begins = np.append(sent.first[self.new], 0)
        fills_gap = begins[np.searchsorted(self._behind, numbers, side="right")] > numbers
        is_first = np.zeros(len(numbers), bool)
        is_first[np.unique(numbers, return_index=True)[1]] = True
        late: Ints = payload[fills_gap & is_first]
        return late

    @cached_property
    def packets(self) -> Series:
        """Packets in flight: sent, and neither acknowledged nor selectively acknowledged (uTP)."""
        return self._outstanding(np.ones_like(self.payload))

    @cached_property
    def bytes(self) -> Series:
        """Their payload, bytes."""
        return self._outstanding(self.payload)

    @cached_property
    def full_bytes(self) -> float:
        """Payload of the largest packets, bytes: what one packet is when windows are counted in packets."""
        return float(self.payload.max())

    @cached_property
    def receive_window(self) -> Series:
        """What the receiver lets the sender have in flight, bytes."""
        if not len(self.answered):
            raise NotMeasuredError("nothing came back")
        return Series(self.answered, self.window_bytes, self.conversation.end)

    @cached_property
    def round_trips(self) -> Samples:
        """Round-trip times, s, at each answer that acknowledges something new and nothing that was sent twice (Karn).

        The time of the last packet that it acknowledges counts; the others waited for it.
        """
        before = np.append(0, self._done[:-1])
        twice = np.append(0, np.cumsum(self._again))
        good = (self._done > before) & (twice[self._done] == twice[before])
        times = self.answered[good]
        return Samples(times, times - self.times[self._done[good] - 1])

    @cached_property
    def progress(self) -> Floats:
        """Instants at which something new was acknowledged in order, s."""
        return self.answered[np.diff(self._done, prepend=0) > 0]

    @cached_property
    def retransmissions(self) -> Retransmissions:
        """All of them with their causes."""
        sent = self.conversation.sent
        again = np.flatnonzero(~self.new)
        packets = np.minimum(np.searchsorted(self._behind, sent.first[again], side="right"), len(self.times) - 1)
        ip_bytes = sent.ip_bytes[self.new]
        largest = np.maximum.accumulate(ip_bytes)
        last_sent = self.times.copy()
        causes: list[RetransmitCause] = []
        recovered = 0  # packets up to here are being repaired after a timeout
        for at, packet in zip(sent.times[again], packets, strict=True):
            done = self._done_at(at)
            before = last_sent[packet]
            last_sent[packet] = at
            if packet < recovered and done < recovered:
                causes.append(RetransmitCause.TIMEOUT)
            elif at - max(before, self._last_progress(at)) >= self._patience(at):
                recovered = int(np.searchsorted(self.times, at, side="left"))
                causes.append(RetransmitCause.TIMEOUT)
            elif 0 < done <= packet and ip_bytes[packet] > largest[done - 1]:
                causes.append(RetransmitCause.MTU_PROBE)
            else:
                causes.append(RetransmitCause.FAST)
        return Retransmissions(sent.times[again], causes)

    @cached_property
    def rounds(self) -> Floats:
        """Edges of the rounds, s: a round ends when the first packet sent in it is acknowledged."""
        edges = [float(self.times[0])]
        while True:
            packet = int(np.searchsorted(self.times, edges[-1], side="left"))
            end = self.acknowledged_at(packet) if packet < len(self.times) else np.inf
            if not np.isfinite(end) or end <= edges[-1]:
                return np.array(edges)
            edges.append(end)

    @cached_property
    def windows(self) -> Floats:
        """The most that was in flight in each round, in packets of the largest size."""
        if len(self.rounds) < 2:
            raise NotMeasuredError("the flow lasted for less than a round-trip time")
        first = np.searchsorted(self.bytes.times, self.rounds, side="left")
        return np.maximum.reduceat(np.append(self.bytes.values, 0), first)[:-1] / self.full_bytes

    @property
    def lost(self) -> Bools:
        """Of each packet, by its first transmission, whether it was sent again."""
        return self._again > 0

    def acknowledged_at(self, packet: int) -> float:
        """Instant at which a packet, by its order, had been acknowledged; infinity when never."""
        index = int(np.searchsorted(self._done, packet, side="right"))
        return float(self.answered[index]) if index < len(self.answered) else np.inf

    @cached_property
    def _again(self) -> Ints:
        """How often each packet was sent again."""
        sent = self.conversation.sent
        packets = np.searchsorted(self._behind, sent.first[~self.new], side="right")
        return np.bincount(packets, minlength=len(self.times))[: len(self.times)]

    def _outstanding(self, weights: Ints) -> Series:
        total = np.append(0, np.cumsum(weights))
        instants = np.unique(np.concatenate([self.times, self.answered]))
        instants = instants[instants <= self.conversation.end]
        sent = total[np.searchsorted(self.times, instants, side="right")]
        index = np.searchsorted(self.answered, instants, side="right") - 1
        gone = np.append(total[self._done] + self._selectively(weights), 0)[index]  # -1: nothing came back yet
        return Series(instants, np.maximum(sent - gone, 0).astype(float), self.conversation.end)

    def _selectively(self, weights: Ints) -> Ints:
        """What each answer acknowledges beyond a gap."""
        result = np.zeros(len(self._done), np.int64)
        rows = np.flatnonzero(self._sack)
        padded = np.append(weights, np.zeros(66, np.int64))
        for bit in range(64):
            set_rows = rows[(self._sack[rows] >> np.uint64(bit)) & np.uint64(1) > 0]
            result[set_rows] += padded[np.minimum(self._done[set_rows] + 1 + bit, len(padded) - 1)]
        return result

    def _done_at(self, at: float) -> int:
        index = int(np.searchsorted(self.answered, at, side="right")) - 1
        return int(self._done[index]) if index >= 0 else 0

    def _last_progress(self, at: float) -> float:
        index = int(np.searchsorted(self.progress, at, side="right")) - 1
        return float(self.progress[index]) if index >= 0 else -np.inf

    def _patience(self, at: float) -> float:
        """The least time after which only a timeout explains a retransmission."""
        known = self.round_trips
        index = int(np.searchsorted(known.times, at, side="right")) - 1
        rtt = float(known.values[index]) if index >= 0 else 0.0
        if self.conversation.protocol == "tcp":
            return rtt + TCP_TIMEOUT_AFTER_RTT_S
        return max(UTP_TIMEOUT_S, UTP_TIMEOUT_RTTS * rtt)
