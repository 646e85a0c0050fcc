"""A finished run, and what can be asked of it: series, counts and the metrics as the papers define them.

Times are seconds of scenario time, windows and queues count packets. The queue is the FIFO of the bottleneck at router
r1 and counts waiting packets; throughput and utilization count the bytes of IP packets that leave it. A reverse path
with a limit has a queue of its own. Intervals include t0 but not t1: adjacent intervals count everything once.
"""

from typing import Final

import numpy as np
import polars as pl

from analysis import bottleneck
from analysis.bottleneck import Passed
from analysis.errors import BadInputError
from analysis.observer import conversation, delay, sizes
from analysis.observer.control import Control, Estimate, infer
from analysis.observer.conversation import Samples
from analysis.observer.flight import Flight
from analysis.observer.limits import Limit, limits
from analysis.run_folder import RunFolder, keep
from analysis.series import Instants, NeverHappenedError, NotMeasuredError, Series
from analysis.settings import NS, PACKET_BYTES, PAYLOAD_BYTES, Flow
from analysis.words import word

STEADY: Final = 2 / 3  # of the run have passed when `steady` begins


class Run(RunFolder):
    """A finished run. Raises NotMeasuredError for what its captures and traces do not tell.

    The methods marked as words are those that claims may use; their intervals are the whole run by default.
    """

    # What the scenario says

    @property
    @word
    def duration(self) -> float:
        """Length of the run, s: as planned, or shorter when all flows had delivered their bytes before."""
        return self.ends_s

    @property
    @word
    def steady(self) -> float:
        """Beginning of the last third of the run, s."""
        return self.duration * STEADY

    @property
    @word
    def flow_count(self) -> int:
        """Number of flows."""
        return len(self.settings.flows)

    @property
    @word
    def rate_bps(self) -> int:
        """Rate of the bottleneck at the start, bit/s."""
        return self.settings.rate_bps

    @property
    @word
    def base_rtt_ms(self) -> float:
        """Round-trip time without any queue at the start, ms."""
        return 1e3 * (self.settings.forward_s + self.settings.backward_s)

    @property
    @word
    @keep
    def capacity_bps(self) -> Series:
        """Rate of the bottleneck, bit/s."""
        return self._steps(self.settings.rate_bps, self.settings.rate_steps)

    @property
    @word
    def changes(self) -> Instants:
        """Instants at which the scenario changes the path."""
        return Instants(np.array(self.settings.changes_s), self.duration)

    @property
    @word
    def buffer_pkts(self) -> int:
        """Capacity of the bottleneck's queue, packets."""
        return self.settings.buffer_pkts

    @property
    @word
    def packet_ms(self) -> float:
        """Transmission time of a full packet at the bottleneck's first rate, ms."""
        return 8e3 * PACKET_BYTES / self.settings.rate_bps

    @word
    def start(self, flow: str) -> float:
        """Start of a flow, s, jitter included."""
        return self.flow(flow).start_s

    @word
    def target_ms(self, flow: str) -> float:
        """Target of a LEDBAT flow, ms."""
        target = self.flow(flow).params.get("target_ns")
        if target is None:
            raise NotMeasuredError(f"flow {flow} has no target")
        return float(target) / 1e6

    @word
    def target_pkts(self, flow: str) -> float:
        """Target of a LEDBAT flow in full packets of the bottleneck."""
        return self.target_ms(flow) / self.packet_ms

    @word
    def receive_buffer_bytes(self, flow: str) -> int:
        """Receive buffer that the scenario gives a flow, bytes."""
        given = self.flow(flow).params.get("receive_buffer_bytes")
        if given is None:
            raise NotMeasuredError(f"flow {flow} has no receive buffer of its own")
        return int(given)

    # Throughput at the IP layer

    @word
    def bytes_of(self, flow: str, t0: float = 0.0, t1: float | None = None) -> int:
        """Bytes of a flow's IP packets, without ACKs, that left the bottleneck of its direction.

        Without a capture there: bytes acknowledged, as full packets.
        """
        if "bottleneck-out" not in self.settings.captures:
            acked = self._traced(flow, "bytes_acked", PACKET_BYTES / PAYLOAD_BYTES)
            before, after = acked.sampled(np.array(self.interval_ns(t0, t1)) / NS)
            return round(float(after - before))
        return self._delivered(flow).bytes(*self.interval_ns(t0, t1))

    @word
    def throughput(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Mean rate of a flow behind the bottleneck, bit/s of IP packets."""
        return self.bytes_of(flow, t0, t1) * 8 / (self.until(t1) - t0)

    @word
    def rate(self, flow: str, step: float = 1.0) -> Series:
        """Rate of a flow behind the bottleneck in bins of `step` seconds, bit/s of IP packets."""
        edges = np.arange(0.0, self.duration + step / 2, step)
        if "bottleneck-out" not in self.settings.captures:
            acked = self._traced(flow, "bytes_acked", PACKET_BYTES / PAYLOAD_BYTES)
            return Series(edges[:-1], np.diff(acked.sampled(edges)) * 8 / step, self.duration)
        return Series(edges[:-1], self._delivered(flow).binned(edges) * 8 / step, self.duration)

    @word
    def share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Share of a flow in the bytes of all flows of its direction."""
        backward = self.flow(flow).backward
        beside = [one for one in self.settings.flows if one.backward == backward]
        total = sum(self.bytes_of(one.name, t0, t1) for one in beside)
        if not total:
            raise self._nothing("no flow sent anything", t0, t1)
        return self.bytes_of(flow, t0, t1) / total

    @word
    def share_over_time(self, flow: str, step: float = 1.0) -> Series:
        """Share of a flow in the bytes of all flows, in those bins of `step` seconds that have any."""
        rates = [self.rate(one.name, step) for one in self.settings.flows]
        total = np.sum([rate.values for rate in rates], axis=0)
        own = self.rate(flow, step)
        busy = total > 0
        return Series(own.times[busy], own.values[busy] / total[busy], self.duration)

    @word
    def jain(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Jain's fairness index, (sum x)^2 / (n sum x^2), of the throughputs of the forward flows.

        It counts the flows that had begun and were not complete, starved ones included.
        """
        active = [flow for flow in self.settings.flows if not flow.backward and self._active(flow, t0, self.until(t1))]
        sent = np.array([self.bytes_of(flow.name, t0, t1) for flow in active], float)
        if not sent.any():
            raise self._nothing("no flow sent anything", t0, t1)
        return float(sent.sum() ** 2 / (len(sent) * (sent**2).sum()))

    @word
    def utilization(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Bits of IP packets that left the bottleneck over those that its rate allows, 0 to 1."""
        start, end = self.interval_ns(t0, t1)
        t1 = self.until(t1)
        if "bottleneck-out" in self.settings.captures:
            sent = float(self._left.bytes(start, end))
        else:
            counter = self._queue("sent_bytes")
            sent = counter.at(t1) - counter.at(max(t0, counter.start))
        return sent * 8 / self.capacity_bps.mean(t0, t1) / (t1 - t0)

    @word
    def completed(self, flow: str) -> float:
        """Instant at which all `bytes` of a flow were delivered and acknowledged, s.

        Raises NeverHappenedError when the run ended before.
        """
        outcome = self.summary.get("flows", dict).get(self.flow(flow).name, {})
        if "completed_ns" not in outcome:
            raise BadInputError(f"{self.folder}: flow {flow} has no bytes in its scenario, so it is never complete")
        if outcome["completed_ns"] is None:
            raise NeverHappenedError
        return float(outcome["completed_ns"] / NS)

    @word
    def goodput(self) -> float:
        """Bytes of all transfers over the length of the run, which ends with the last of them, bit/s of payload."""
        sizes = [flow.bytes for flow in self.settings.flows if flow.bytes is not None]
        if len(sizes) < len(self.settings.flows):
            raise NotMeasuredError("a flow has no bytes, so no end")
        last = max(self.completed(flow.name) for flow in self.settings.flows)
        return 8 * sum(sizes) / last

    # The bottleneck's queue

    @property
    @word
    @keep
    def queue_pkts(self) -> Series:
        """Packets waiting in the bottleneck's queue."""
        return self._queue("backlog_pkts")

    @property
    @word
    @keep
    def queue_ms(self) -> Series:
        """Time that the bytes waiting in the bottleneck's queue take to leave at the current rate, ms."""
        return self._milliseconds(self._queue("backlog_bytes"), self.capacity_bps)

    @property
    @word
    @keep
    def backward_queue_pkts(self) -> Series:
        """Packets waiting in the queue of the reverse path, if that has a `backward_bottleneck`."""
        return self._queue("backlog_pkts", "queue-backward")

    @property
    @word
    @keep
    def backward_queue_ms(self) -> Series:
        """Time that the bytes waiting in the queue of the reverse path take to leave, ms."""
        return self._milliseconds(self._queue("backlog_bytes", "queue-backward"), self._backward_rate)

    @word
    def waited_ms(self, flow: str) -> Series:
        """Time that each packet of a flow waited in the queue, ms, at the instant it left."""
        passed = self._passages.filter((pl.col("flow") == self.flow(flow).name) & pl.col("left_ns").is_not_null())
        passed = passed.sort("left_ns")
        waited = (passed["left_ns"] - passed["time_ns"]).to_numpy() / 1e6
        return Series(passed["left_ns"].to_numpy() / NS, waited, self.duration)

    @word
    def queue_share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Share of a flow in the waiting time of all packets that left the queue, so in the mean queue."""
        passed = self._passages.filter(pl.col("left_ns").is_between(*self.interval_ns(t0, t1), closed="left"))
        waited = (passed["left_ns"] - passed["time_ns"]).to_numpy()
        total = int(waited.sum())
        if not total:
            raise self._nothing("the queue was empty", t0, t1)
        return float(waited[(passed["flow"] == self.flow(flow).name).to_numpy()].sum() / total)

    @word
    def drops(self, flow: str | None = None) -> Instants:
        """Instants at which the bottleneck's queue had no room for a packet of that flow, or of any."""
        if "bottleneck-in" in self.settings.captures:
            dropped = self._passages.filter("dropped")
            if flow is not None:
                dropped = dropped.filter(pl.col("flow") == self.flow(flow).name)
            return Instants(dropped["time_ns"].sort().to_numpy() / NS, self.duration)
        if flow is not None:
            raise NotMeasuredError("drops of one flow need a capture before the bottleneck (bottleneck-in)")
        # the trace counts drops without saying whose, and knows their time to one sample
        new_pkts = pl.col("dropped_pkts").diff().fill_null(0).cast(pl.Int64)
        lost = self.table("queue").select("time_ns", new_pkts).collect()
        times = np.repeat(lost["time_ns"].to_numpy() / NS, lost["dropped_pkts"].to_numpy())
        return Instants(times, self.duration)

    @word
    def loss_rate(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Dropped packets over all that arrived at the bottleneck's queue."""
        start, end = self.interval_ns(t0, t1)
        if "bottleneck-in" not in self.settings.captures:
            ends = np.array([t0, self.until(t1)])
            counters = (self._queue(name).sampled(ends) for name in ("sent_pkts", "dropped_pkts"))
            sent, dropped = (float(counter[1] - counter[0]) for counter in counters)
            if not sent + dropped:
                raise self._nothing("no packet arrived", t0, t1)
            return dropped / (sent + dropped)
        offered = self._passages.filter(pl.col("time_ns").is_between(start, end, closed="left"))
        if not len(offered):
            raise self._nothing("no packet arrived", t0, t1)
        return float(offered["dropped"].mean())  # type: ignore[arg-type]  # the mean of booleans is a float

    # Windows and delays, as the sender's kernel reports them

    @word
    def cwnd(self, flow: str) -> Series:
        """Congestion window, packets."""
        return self._traced(flow, "cwnd_pkts", 1.0)

    @word
    def base_delay_ms(self, flow: str) -> Series:
        """Controller's estimate of the base delay, ms; off by an unknown constant, the clock offset."""
        return self._traced(flow, "base_delay_us", 1e-3)

    @word
    def queuing_delay_ms(self, flow: str) -> Series:
        """Controller's estimate of the queuing delay, ms."""
        return self._traced(flow, "queuing_delay_us", 1e-3)

    @word
    def srtt_ms(self, flow: str) -> Series:
        """Round-trip time as the sender smooths it, ms."""
        return self._traced(flow, "srtt_us", 1e-3)

    # The same from captures, for TCP and uTP alike

    @keep
    def flight(self, flow: str) -> Flight:
        """Reconstruct what a flow had in flight from its captures."""
        tables = self.packets(100), self.table("utp")
        return Flight(conversation.load(self.settings, *tables, self.flow(flow), self.duration))

    @word
    def in_flight(self, flow: str) -> Series:
        """Packets sent and not yet acknowledged; TCP's selective acknowledgements are not counted."""
        return self.flight(flow).packets

    @word
    def rtt_ms(self, flow: str) -> Series:
        """Round-trip times, ms, when they became known; without those of packets sent twice."""
        return self._sampled(self.flight(flow).round_trips)

    @word
    def seen_delay_ms(self, flow: str) -> Series:
        """Queuing delay that the sender can see, ms: one-way delay less the smallest in ten minutes."""
        return self._sampled(delay.queuing(self.flight(flow).conversation.forward))

    @word
    def receive_window_bytes(self, flow: str) -> Series:
        """Bytes that the receiver lets the sender have in flight."""
        return self.flight(flow).receive_window

    @word
    def packet_bytes(self, flow: str) -> Series:
        """IP length of each packet with new data, when it was sent."""
        return sizes.sizes(self.flight(flow).conversation)

    @word
    def packet_sizes(self, flow: str, t0: float = 0.0, t1: float | None = None) -> list[int]:
        """Distinct IP lengths of packets with new data, ascending."""
        return list(self._size_counts(flow, t0, t1))

    @word
    def size_share(self, flow: str, at_least: float, t0: float = 0.0, t1: float | None = None) -> float:
        """Fraction of the packets with new data whose IP length is `at_least` that many bytes."""
        counts = self._size_counts(flow, t0, t1)
        if not counts:
            raise self._nothing(f"flow {flow} sent no data", t0, t1)
        return sum(count for size, count in counts.items() if size >= at_least) / sum(counts.values())

    @word
    def header_share(self, flow: str) -> float:
        """Fraction of the IP bytes sent that is not application data."""
        return sizes.header_share(self.flight(flow).conversation)

    @word
    def retransmissions(self, flow: str) -> Instants:
        """Instants at which a packet was sent again."""
        return Instants(self.flight(flow).retransmissions.times, self.duration)

    @word
    def retransmission_rate(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Packets sent again over all packets sent."""
        sent = Instants(self.flight(flow).conversation.sent.times, self.duration).count(t0, t1)
        if not sent:
            raise self._nothing(f"flow {flow} sent nothing", t0, t1)
        return self.retransmissions(flow).count(t0, t1) / sent

    @word
    def limited_by(self, flow: str, limit: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Fraction of the time in which `limit` held the sender back.

        `limit` is `"receive-window"`, `"congestion-window"` or `"application"`.
        """
        self.interval_ns(t0, t1)
        return limits(self.flight(flow)).share(Limit(limit), t0, self.until(t1))

    @word
    def inferred_target_ms(self, flow: str) -> float:
        """Target that the window's reaction to delay reveals, ms."""
        return self._inferred(flow)[0].value

    @word
    def inferred_gain(self, flow: str) -> float:
        """Growth without a queue that the window's reaction to delay reveals, packets per round-trip time."""
        return self._inferred(flow)[1].value

    @keep
    def control(self, flow: str) -> Control:
        """Infer target and gain from the window's reaction to delay."""
        flight = self.flight(flow)
        return infer(flight, limits(flight))

    # From tables to the above

    def _active(self, flow: Flow, t0: float, t1: float) -> bool:
        completed_ns = (self.summary.maybe("flows", dict) or {}).get(flow.name, {}).get("completed_ns")
        return flow.start_s < t1 and (completed_ns is None or completed_ns / NS > t0)

    def _nothing(self, what: str, t0: float, t1: float | None) -> NotMeasuredError:
        return NotMeasuredError(f"{what} from {t0:g} s to {self.until(t1):g} s")

    def _size_counts(self, flow: str, t0: float, t1: float | None) -> dict[int, int]:
        self.interval_ns(t0, t1)
        return sizes.counts(self.packet_bytes(flow), t0, self.until(t1))

    def _inferred(self, flow: str) -> tuple[Estimate, Estimate]:
        found = self.control(flow)
        if found.target_ms is None or found.gain_pkts_per_rtt is None:
            raise NotMeasuredError(f"the window of flow {flow} does not surely react to delay")
        if found.extrapolated:
            raise NotMeasuredError(
                f"the window of flow {flow} never sank with delay, which was {found.longest_ms:.1f} ms at most"
            )
        return found.target_ms, found.gain_pkts_per_rtt

    @property
    def _backward_rate(self) -> Series:
        """Rate of the reverse path, bit/s."""
        if self.settings.backward_rate_bps is None:
            raise NotMeasuredError("the reverse path has no limit, so no queue")
        return self._steps(self.settings.backward_rate_bps, self.settings.backward_rate_steps)

    def _steps(self, first: int, steps: tuple[tuple[float, int], ...]) -> Series:
        times, rates = np.array([(0.0, first), *steps], float).T
        return Series(times, rates, self.duration)

    @staticmethod
    def _milliseconds(waiting: Series, rate: Series) -> Series:
        return Series(waiting.times, waiting.values * 8e3 / rate.sampled(waiting.times), waiting.end)

    @property
    @keep
    def _left(self) -> Passed:
        """All packets that left the bottleneck's queue."""
        return bottleneck.left(self.captured("bottleneck-out", 30), self.settings.destinations)

    def _delivered(self, flow: str) -> Passed:
        """Packets of a flow behind the bottleneck of its direction, without ACKs."""
        return self._delivered_by_flow().get(self.flow(flow).name, bottleneck.NOTHING)

    @keep
    def _delivered_by_flow(self) -> dict[str, Passed]:
        return bottleneck.delivered(self.captured("bottleneck-out", 30))

    @property
    @keep
    def _passages(self) -> pl.DataFrame:
        """Packets arriving at the bottleneck, when they left, and whether they were dropped."""
        self.captured("bottleneck-in", 0)
        return bottleneck.passages(self.captured("bottleneck-out", 30), self.settings.destinations)

    @keep
    def _traced(self, flow: str, column: str, factor: float) -> Series:
        reported = (pl.col("flow") == self.flow(flow).name) & pl.col(column).is_not_null()
        table = self.table("cwnd").filter(reported).select("time_ns", column).collect()
        if not len(table):
            raise NotMeasuredError(f"the controller of flow {flow} reports no {column.rpartition('_')[0]}")
        return self._as_series(table, column, factor)

    def _sampled(self, samples: Samples) -> Series:
        inside = samples.times <= self.duration
        return Series(samples.times[inside], 1e3 * samples.values[inside], self.duration)

    def _queue(self, column: str, trace: str = "queue") -> Series:
        table = self.table(trace).select("time_ns", column).collect()
        if not len(table):
            raise NotMeasuredError("the trace of the queue is empty")
        return self._as_series(table, column, 1.0)

    def _as_series(self, table: pl.DataFrame, column: str, factor: float) -> Series:
        table = table.filter(pl.col("time_ns").is_between(0, round(self.duration * NS))).sort("time_ns")
        values = table[column].cast(pl.Float64).to_numpy() * factor
        return Series(table["time_ns"].to_numpy() / NS, values, self.duration)
