"""What the senders of a run tell: windows and delays, as their kernels report them and as captures show them."""

import numpy as np

from analysis.observer import conversation, datagrams, delay, sizes
from analysis.observer.control import Control, Estimate, infer
from analysis.observer.conversation import Samples
from analysis.observer.flight import Flight
from analysis.observer.limits import Limit, limits
from analysis.run.folder import RunFolder, keep
from analysis.series import Instants, NotMeasuredError, Series
from analysis.words import word


class SenderWords(RunFolder):
    """The words of a run that its senders answer."""

    # Windows and delays, as the sender's kernel reports them

    @word("packets")
    def cwnd(self, flow: str) -> Series:
        """Congestion window, packets."""
        return self.traced(flow, "cwnd_pkts", 1.0)

    @word("ms")
    def base_delay_ms(self, flow: str) -> Series:
        """Controller's estimate of the base delay, ms; off by an unknown clock offset, which tcp-ledbat may change."""
        return self.traced(flow, "base_delay_us", 1e-3)

    @word("ms")
    def queuing_delay_ms(self, flow: str) -> Series:
        """Controller's estimate of the queuing delay, ms."""
        return self.traced(flow, "queuing_delay_us", 1e-3)

    @word("ms")
    def srtt_ms(self, flow: str) -> Series:
        """Round-trip time as the sender smooths it, ms."""
        return self.traced(flow, "srtt_us", 1e-3)

    # The same from captures, for TCP and uTP alike

    @keep
    def flight(self, flow: str) -> Flight:
        """Reconstruct what a flow had in flight from its captures."""
        tables = self.packets(100), self.table("utp")
        return Flight(conversation.load(self.settings, *tables, self.flow(flow), self.ends_s))

    @keep
    def seen_flight(self, flow: str) -> Flight:
        """Reconstruct the same, and of a stream over UDP, such as QUIC, from when its packets passed both hosts."""
        known = self.flow(flow)
        if known.transport != datagrams.PROTOCOL:
            return self.flight(flow)
        marked = self.summary.child("counters").child("queues").child("bottleneck").maybe("marked_pkts", int) or 0
        return Flight(datagrams.load(self.settings, self.packets(150), known, self.ends_s, marked))

    @word("packets")
    def in_flight(self, flow: str) -> Series:
        """Packets sent and not yet acknowledged; TCP's selective acknowledgements are not counted."""
        return self.flight(flow).packets

    @word("ms")
    def rtt_ms(self, flow: str) -> Series:
        """Round-trip times, ms, when they became known; without those of packets sent twice."""
        return self._sampled(self.flight(flow).round_trips)

    @word("ms")
    def seen_delay_ms(self, flow: str) -> Series:
        """Queuing delay that the sender can see, ms: one-way delay less the smallest in ten minutes."""
        return self._sampled(delay.queuing(self.flight(flow).conversation.forward))

    @word("bytes")
    def receive_window_bytes(self, flow: str) -> Series:
        """Bytes that the receiver lets the sender have in flight."""
        return self.flight(flow).receive_window

    @word("bit/s")
    def sent_rate(self, flow: str, step: float = 1.0) -> Series:
        """Rate at which a flow's sender sends, in bins of `step` seconds, bit/s of IP packets, repeats included."""
        edges = np.arange(0.0, self.ends_s + step / 2, step)
        sent = self.flight(flow).conversation.sent
        return Series(edges[:-1], np.histogram(sent.times, edges, weights=sent.ip_bytes)[0] * 8 / step, self.ends_s)

    @word("bytes")
    def packet_bytes(self, flow: str) -> Series:
        """IP length of each packet with new data, when it was sent."""
        return sizes.sizes(self.flight(flow).conversation)

    @word()
    def packet_sizes(self, flow: str, t0: float = 0.0, t1: float | None = None) -> list[int]:
        """Distinct IP lengths of packets with new data, ascending."""
        return list(self._size_counts(flow, t0, t1))

    @word()
    def size_share(self, flow: str, at_least: float, t0: float = 0.0, t1: float | None = None) -> float:
        """Fraction of the packets with new data whose IP length is `at_least` that many bytes."""
        counts = self._size_counts(flow, t0, t1)
        if not counts:
            raise self.nothing(f"flow {flow} sent no data", t0, t1)
        return sum(count for size, count in counts.items() if size >= at_least) / sum(counts.values())

    @word()
    def header_share(self, flow: str) -> float:
        """Fraction of the IP bytes sent that is not application data."""
        return sizes.header_share(self.flight(flow).conversation)

    @word()
    def retransmissions(self, flow: str) -> Instants:
        """Instants at which a packet was sent again."""
        return Instants(self.flight(flow).retransmissions.times, self.ends_s)

    @word()
    def retransmission_rate(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Packets sent again over all packets sent."""
        sent = Instants(self.flight(flow).conversation.sent.times, self.ends_s).count(t0, t1)
        if not sent:
            raise self.nothing(f"flow {flow} sent nothing", t0, t1)
        return self.retransmissions(flow).count(t0, t1) / sent

    @word()
    def limited_by(self, flow: str, limit: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Fraction of the time in which `limit` held the sender back.

        `limit` is `"receive-window"`, `"congestion-window"` or `"application"`.
        """
        self.interval_ns(t0, t1)
        return limits(self.flight(flow)).share(Limit(limit), t0, self.until(t1))

    @word("ms")
    def inferred_target_ms(self, flow: str) -> float:
        """Target that the window's reaction to delay reveals, ms."""
        return self._inferred(flow)[0].value

    @word()
    def inferred_gain(self, flow: str) -> float:
        """Growth without a queue that the window's reaction to delay reveals, packets per round-trip time."""
        return self._inferred(flow)[1].value

    @keep
    def control(self, flow: str) -> Control:
        """Infer target and gain from the window's reaction to delay."""
        flight = self.flight(flow)
        return infer(flight, limits(flight))

    def _size_counts(self, flow: str, t0: float, t1: float | None) -> dict[int, int]:
        self.interval_ns(t0, t1)
        return sizes.counts(self.packet_bytes(flow), t0, self.until(t1))

    def _inferred(self, flow: str) -> tuple[Estimate, Estimate]:
        estimates = self.control(flow)
        if estimates.target_ms is None or estimates.gain_pkts_per_rtt is None:
            raise NotMeasuredError(f"the window of flow {flow} does not surely react to delay")
        if estimates.extrapolated:
            raise NotMeasuredError(
                f"the window of flow {flow} never sank with delay, which was {estimates.longest_ms:.1f} ms at most"
            )
        return estimates.target_ms, estimates.gain_pkts_per_rtt

    def _sampled(self, samples: Samples) -> Series:
        inside = samples.times <= self.ends_s
        return Series(samples.times[inside], 1e3 * samples.values[inside], self.ends_s)
