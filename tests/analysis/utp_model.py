"""A uTP sender and receiver over one bottleneck, simple enough to know what an observer must find.

The sender is a plain LEDBAT, `gain * (1 - delay / target)` packets more a round-trip time; each is acknowledged.
"""

import heapq
from dataclasses import dataclass, field
from pathlib import Path

from tests.analysis.synthetic import NS, ORIGIN_NS, Made, pcap, utp_frame, vouch, write

SENDER, RECEIVER = 0x0A000101, 0x0A010101
PAYLOAD = 1382
TX_S = 8 * (PAYLOAD + 48) / 12_000_000  # at the made-by-hand runs' rate


@dataclass
class Model:
    """What happens; times in s."""

    duration: float = 30.0
    target: float = 0.06
    gain: float = 2.0
    window_bytes: int = 1 << 20
    one_way: float = 0.025
    lost: tuple[int, ...] = ()  # packets whose first transmission is lost
    offset_us: int = 2**32 - 40_000  # receiver's clock less the sender's: wraps with a queue of 15 ms
    first_seq: int = 65_500
    start_window: float = 2.0
    send_until: float = 1e9
    silent_from: float = 1e9  # what is sent from then on is lost
    timeouts: tuple[float, ...] = ()  # instants of the timeouts that follow; then the sender gives up
    records: list[tuple[int, bytes]] = field(default_factory=list)
    # of each packet when it was sent and arrived (None: lost), s, whether it carries data, and its frame
    journeys: list[tuple[float, float | None, bool, bytes]] = field(default_factory=list)
    windows: list[tuple[float, float]] = field(default_factory=list)  # truth: (s, packets)
    waits: list[tuple[float, float]] = field(default_factory=list)  # truth: (s, s in the queue)
    resent: int = 0

    def run(self, root: Path, flows: tuple[str, ...] = ("utp",)) -> Path:
        """Play it; gives the run folder, with one capture at the sender."""
        self.play()
        changes = {"captures": ["sender"]}
        folder = write(root, Made([], duration=self.duration, flows=flows, changes=changes))
        for path in (folder / "pcap").iterdir():
            path.unlink()
        (folder / "pcap" / "sender.s1-eth0.pcap").write_bytes(pcap(self.records))
        vouch(folder)
        return folder

    def play(self) -> None:
        """Fill the records and the truth."""
        window, next_seq, acked = self.start_window, 0, -1  # numbers from 0; the wire adds first_seq
        free_at, base = 0.0, None
        answered: tuple[float, float] | None = None
        got: set[int] = set()
        came = -1
        resent: set[int] = set()
        halved_until = -1
        sacked: set[int] = set()
        events: list[tuple[float, int, str, int, float]] = []  # time, order, what, packet, sent at
        order = 0

        def send(t: float, packet: int, again: bool) -> None:
            nonlocal free_at, order
            lost = (packet in self.lost and not again) or t >= self.silent_from
            backward_us = 0
            if answered is not None:  # the last answer: when it was sent, and when it came
                backward_us = (self._clock_us(answered[1], True) - self._clock_us(answered[0], False)) % 2**32
            starts = max(t, free_at)
            self._record(t, None if lost else starts + self.one_way, True, 0, packet, 0, backward_us)
            if lost:
                return
            free_at = starts + TX_S
            self.waits.append((starts, starts - t))
            order += 1
            heapq.heappush(events, (starts + self.one_way, order, "data", packet, t))

        heapq.heappush(events, (0.0, 0, "start", 0, 0.0))
        while events:
            t, _, what, packet, packet_sent = heapq.heappop(events)
            if t > self.duration:
                break
            if what == "data":
                got.add(packet)
                while came + 1 in got:
                    came += 1
                bits = sum(1 << i for i in range(32) if came + 2 + i in got)
                difference = round((t - packet_sent) * 1e6) + self.offset_us
                order += 1
                heapq.heappush(events, (t + self.one_way, order, f"{came} {bits} {difference}", packet, t))
                continue
            if what != "start":
                answered = packet_sent, t
                new, bits, difference = map(int, what.split())
                self._record(packet_sent, t, False, 2, 0, new, difference % 2**32, bits)
                base = difference if base is None else min(base, difference)
                delay = (difference - base) / 1e6
                fresh = max(new - acked, 0)
                acked = max(acked, new)
                sacked = {acked + 2 + i for i in range(32) if bits >> i & 1}
                window = max(1.0, window + fresh * self.gain * (1 - delay / self.target) / window)
                missing = acked + 1
                if len(sacked) >= 3 and missing not in resent and missing < next_seq:
                    resent.add(missing)
                    self.resent += 1
                    if missing > halved_until:
                        window, halved_until = max(window / 2, 1.0), next_seq
                    send(t, missing, again=True)
            allowed = min(window, self.window_bytes / PAYLOAD)
            while next_seq - acked - 1 - len(sacked) + 1 <= allowed and t < self.send_until:
                send(t, next_seq, again=False)
                next_seq += 1
            self.windows.append((t, allowed))
        for t in self.timeouts:
            self._record(t, None, True, 0, acked + 1, 0)

    def _record(
        self, sent: float, arrived: float | None, forward: bool, kind: int, packet: int, ack: int,
        difference_us: int = 0, bits: int = 0,
    ) -> None:  # fmt: skip
        ends = (SENDER, RECEIVER, 40001, 5001) if forward else (RECEIVER, SENDER, 5001, 40001)
        chain = bytes([0, 4]) + bits.to_bytes(4, "little") if bits else b""
        data = utp_frame(
            *ends, kind=kind, seq=(self.first_seq + packet) % 65536 if forward else 1,
            ack=1 if forward else (self.first_seq + ack) % 65536, time_us=self._clock_us(sent, forward),
            difference_us=difference_us, window_bytes=1 << 20 if forward else self.window_bytes,
            connection=8 if forward else 7, extension=1 if bits else 0, chain=chain,
            payload=PAYLOAD if forward else 0,
        )  # fmt: skip
        at_sender = sent if forward else arrived
        assert at_sender is not None
        self.records.append((ORIGIN_NS + round(at_sender * NS), data))
        self.journeys.append((sent, arrived, forward, data))

    def _clock_us(self, t: float, of_sender: bool) -> int:
        return (round(t * 1e6) + (0 if of_sender else self.offset_us)) % 2**32

    def at(self, way: float) -> list[tuple[float, bytes]]:
        """What a tap captures that lies at a part of the way, 0 the sender, 1 the receiver: instants and frames.

        Data waits in the queue before the tap, unless that is the sender.
        """
        seen = []
        for sent, arrived, forward, data in self.journeys:
            if forward and way == 0:
                seen.append((sent, data))
            elif arrived is not None:
                seen.append((arrived - self.one_way * (1 - way if forward else way), data))
        return sorted(seen)
