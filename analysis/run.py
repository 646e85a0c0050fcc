"""One run, loaded from its folder: series, counts and the metrics as the papers define them.

Times are seconds of scenario time, windows and queues count packets. The queue is the FIFO of the bottleneck at router
r1 and counts waiting packets; throughput and utilization count the bytes of IP packets that leave it. A way back
that is limited, too, has a queue of its own. Intervals hold t0 but not t1: those side by side count everything once.
"""

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

import numpy as np
import polars as pl

from analysis import bottleneck, settings
from analysis.bottleneck import Passed
from analysis.documents import Document, read_json
from analysis.errors import BadInputError
from analysis.kept import Kept
from analysis.observer import conversation, delay, sizes
from analysis.observer.control import Control, infer
from analysis.observer.conversation import Samples
from analysis.observer.flight import Flight
from analysis.observer.limits import Limit, limits
from analysis.series import TOLERANCE_S, Instants, NeverHappenedError, NotMeasuredError, Series
from analysis.settings import NS, PACKET_BYTES, PAYLOAD_BYTES, Flow

WHERE: Final = {"bottleneck-in": "before", "bottleneck-out": "behind"}

P = ParamSpec("P")
T = TypeVar("T")


def _keep(make: Callable[Concatenate["Run", P], T]) -> Callable[Concatenate["Run", P], T]:
    """Keep what a method of a run gives, by its arguments."""

    @wraps(make)
    def keeping(self: "Run", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.kept.get((self.folder, make.__name__, args), lambda: make(self, *args, **kwargs))

    return keeping


class Run:
    """A finished run. Raises NotMeasuredError for what its captures and traces do not tell.

    Tables are read as far as a question needs them. What is made of them goes to `kept`, which many runs may share.
    """

    def __init__(self, folder: Path, kept: Kept | None = None) -> None:
        self.folder = folder
        self.kept = kept or Kept()
        self.settings = settings.load(folder)
        self.summary: Document = read_json(folder / "summary.json")

    @property
    def duration(self) -> float:
        """Length of the run, s: as planned, or shorter when all flows had their bytes delivered before."""
        ended_ns = self.summary.maybe("ended_ns", int)
        return self.settings.duration_s if ended_ns is None else ended_ns / NS

    def flow(self, name: str) -> Flow:
        """Find the settings of a flow."""
        for flow in self.settings.flows:
            if flow.name == name:
                return flow
        names = ", ".join(flow.name for flow in self.settings.flows)
        raise BadInputError(f"{self.folder}: there is no flow {name!r}; its flows are {names}")

    def completed(self, flow: str) -> float:
        """Instant at which all bytes of a flow were delivered and acknowledged, s.

        Raises NeverHappenedError when the run ended before.
        """
        outcome = self.summary.get("flows", dict).get(self.flow(flow).name, {})
        if "completed_ns" not in outcome:
            raise BadInputError(f"{self.folder}: flow {flow} has no bytes in its scenario, so it is never complete")
        if outcome["completed_ns"] is None:
            raise NeverHappenedError
        return float(outcome["completed_ns"] / NS)

    def goodput(self) -> float:
        """Bytes of all transfers over the length of the run, which ends with the last of them, bit/s of payload."""
        sizes = [flow.bytes for flow in self.settings.flows if flow.bytes is not None]
        if len(sizes) < len(self.settings.flows):
            raise NotMeasuredError("a flow has no bytes, so no end")
        last = max(self.completed(flow.name) for flow in self.settings.flows)
        return 8 * sum(sizes) / last

    # Windows and delays, as the sender's kernel reports them

    def cwnd(self, flow: str) -> Series:
        """Congestion window, packets."""
        return self._traced(flow, "cwnd_pkts", 1.0)

    def base_delay_ms(self, flow: str) -> Series:
        """Estimate of the base delay, ms; off by an unknown constant, the clock offset."""
        return self._traced(flow, "base_delay_us", 1e-3)

    def queuing_delay_ms(self, flow: str) -> Series:
        """Estimate of the queuing delay that the controller acts on, ms."""
        return self._traced(flow, "queuing_delay_us", 1e-3)

    def srtt_ms(self, flow: str) -> Series:
        """Round-trip time, smoothed by the sender, ms."""
        return self._traced(flow, "srtt_us", 1e-3)

    # The same as captures tell them, for flows over TCP and uTP alike

    @_keep
    def flight(self, flow: str) -> Flight:
        """Everything on its way of a flow, from its captures."""
        tables = self._table("packets"), self._table("utp")
        return Flight(conversation.load(self.settings, *tables, self.flow(flow), self.duration))

    def in_flight(self, flow: str) -> Series:
        """Packets sent and not yet acknowledged: the window of a sender that its window limits."""
        return self.flight(flow).packets

    def receive_window_bytes(self, flow: str) -> Series:
        """What the receiver lets the sender have in flight, bytes."""
        return self.flight(flow).receive_window

    def rtt_ms(self, flow: str) -> Series:
        """Round-trip times, ms, at the instants they were known."""
        return self._sampled(self.flight(flow).round_trips)

    def seen_delay_ms(self, flow: str) -> Series:
        """Queuing delay as the flow's sender can see it, ms: one-way delay less the smallest in ten minutes."""
        return self._sampled(delay.queuing(self.flight(flow).conversation.forward))

    def packet_bytes(self, flow: str) -> Series:
        """IP length of each packet with new data, when it was sent."""
        return sizes.sizes(self.flight(flow).conversation)

    def packet_sizes(self, flow: str, t0: float, t1: float) -> dict[int, int]:
        """Different IP lengths of packets with new data, the smallest first, and how many packets had each."""
        self._ns(t0, t1)
        return sizes.counts(self.packet_bytes(flow), t0, t1)

    def header_share(self, flow: str) -> float:
        """Part of a flow's sent IP bytes that is no data of its application."""
        return sizes.header_share(self.flight(flow).conversation)

    def retransmissions(self, flow: str) -> Instants:
        """Instants at which a packet was sent again."""
        return Instants(self.flight(flow).retransmissions.times, self.duration)

    def retransmission_rate(self, flow: str, t0: float, t1: float) -> float:
        """Packets sent again over all packets sent."""
        sent = Instants(self.flight(flow).conversation.sent.times, self.duration).count(t0, t1)
        if not sent:
            raise NotMeasuredError(f"flow {flow} sent nothing from {t0:g} s to {t1:g} s")
        return self.retransmissions(flow).count(t0, t1) / sent

    def limited_by(self, flow: str, limit: Limit, t0: float, t1: float) -> float:
        """Part of the time in which a sender was held back by its congestion or receive window, or its application."""
        self._ns(t0, t1)
        return limits(self.flight(flow)).share(limit, t0, t1)

    @_keep
    def control(self, flow: str) -> Control:
        """Target and gain, inferred from the window's reaction to delay."""
        flight = self.flight(flow)
        return infer(flight, limits(flight))

    # The bottleneck's queue

    @property
    @_keep
    def queue_pkts(self) -> Series:
        """Packets waiting in the bottleneck's queue."""
        return self._queue("backlog_pkts")

    @property
    @_keep
    def queue_ms(self) -> Series:
        """Time that the waiting bytes take to leave at the rate of the moment, ms."""
        return self._milliseconds(self._queue("backlog_bytes"), self.capacity_bps)

    @property
    @_keep
    def backward_queue_pkts(self) -> Series:
        """Packets waiting in the queue of the way back."""
        return self._queue("backlog_pkts", "queue-backward")

    @property
    @_keep
    def backward_queue_ms(self) -> Series:
        """Time that the bytes waiting in the queue of the way back take to leave, ms."""
        return self._milliseconds(self._queue("backlog_bytes", "queue-backward"), self._backward_rate)

    def waited_ms(self, flow: str) -> Series:
        """Time that each packet of a flow waited in the queue, ms, at the instants they left it."""
        passed = self._passages.filter((pl.col("flow") == self.flow(flow).name) & pl.col("left_ns").is_not_null())
        passed = passed.sort("left_ns")
        waited = (passed["left_ns"] - passed["time_ns"]).to_numpy() / 1e6
        return Series(passed["left_ns"].to_numpy() / NS, waited, self.duration)

    def queue_share(self, flow: str, t0: float, t1: float) -> float:
        """Part of the queue that belongs to a flow, over the packets that left in the interval.

        A flow's mean number of waiting packets is the sum of their waiting times over the length of the interval.
        """
        passed = self._passages.filter(pl.col("left_ns").is_between(*self._ns(t0, t1), closed="left"))
        waited = (passed["left_ns"] - passed["time_ns"]).to_numpy()
        total = int(waited.sum())
        if not total:
            raise NotMeasuredError(f"the queue was empty from {t0:g} s to {t1:g} s")
        return float(waited[(passed["flow"] == self.flow(flow).name).to_numpy()].sum() / total)

    def drops(self, flow: str | None = None) -> Instants:
        """Arrivals at the bottleneck that its queue had no room for, of one flow or of all packets."""
        if "bottleneck-in" in self.settings.captures:
            dropped = self._passages.filter("dropped")
            if flow is not None:
                dropped = dropped.filter(pl.col("flow") == self.flow(flow).name)
            return Instants(dropped["time_ns"].sort().to_numpy() / NS, self.duration)
        if flow is not None:
            raise NotMeasuredError("drops of one flow need a capture before the bottleneck (bottleneck-in)")
        # the trace counts drops without saying whose, and knows their time to one sample
        new_pkts = pl.col("dropped_pkts").diff().fill_null(0).cast(pl.Int64)
        lost = self._table("queue").select("time_ns", new_pkts).collect()
        times = np.repeat(lost["time_ns"].to_numpy() / NS, lost["dropped_pkts"].to_numpy())
        return Instants(times, self.duration)

    @property
    def changes(self) -> Instants:
        """Give the instants at which the scenario changes the path."""
        return Instants(np.array(self.settings.changes_s), self.duration)

    def loss_rate(self, t0: float, t1: float) -> float:
        """Give dropped over offered packets, all flows."""
        if "bottleneck-in" not in self.settings.captures:
            self._ns(t0, t1)
            counters = (self._queue(name).sampled(np.array([t0, t1])) for name in ("sent_pkts", "dropped_pkts"))
            sent, dropped = (float(counter[1] - counter[0]) for counter in counters)
            if not sent + dropped:
                raise NotMeasuredError(f"no packet arrived from {t0:g} s to {t1:g} s")
            return dropped / (sent + dropped)
        offered = self._passages.filter(pl.col("time_ns").is_between(*self._ns(t0, t1), closed="left"))
        if not len(offered):
            raise NotMeasuredError(f"no packet arrived from {t0:g} s to {t1:g} s")
        return float(offered["dropped"].mean())  # type: ignore[arg-type]  # the mean of booleans is a float

    # Throughput at the IP layer

    def bytes_of(self, flow: str, t0: float, t1: float) -> int:
        """Bytes of a flow's IP packets, ACKs apart, that left the bottleneck of its direction in the interval.

        Without a capture there: of what was acknowledged in it, as full packets.
        """
        if "bottleneck-out" not in self.settings.captures:
            acked = self._traced(flow, "bytes_acked", PACKET_BYTES / PAYLOAD_BYTES)
            before, after = acked.sampled(np.array(self._ns(t0, t1)) / NS)
            return round(float(after - before))
        return self._delivered(flow).bytes(*self._ns(t0, t1))

    def throughput(self, flow: str, t0: float, t1: float) -> float:
        """Mean rate of a flow behind the bottleneck, bit/s of IP packets."""
        return self.bytes_of(flow, t0, t1) * 8 / (t1 - t0)

    def throughput_series(self, flow: str, step: float) -> Series:
        """Rate of a flow behind the bottleneck in bins of `step` seconds, bit/s (see `bytes_of`)."""
        edges = np.arange(0.0, self.duration + step / 2, step)
        if "bottleneck-out" not in self.settings.captures:
            acked = self._traced(flow, "bytes_acked", PACKET_BYTES / PAYLOAD_BYTES)
            return Series(edges[:-1], np.diff(acked.sampled(edges)) * 8 / step, self.duration)
        return Series(edges[:-1], self._delivered(flow).binned(edges) * 8 / step, self.duration)

    def share_series(self, flow: str, step: float) -> Series:
        """Part of a flow in the bytes of all flows, in those bins of `step` seconds in which there are any."""
        rates = [self.throughput_series(one.name, step) for one in self.settings.flows]
        total = np.sum([rate.values for rate in rates], axis=0)
        own = self.throughput_series(flow, step)
        busy = total > 0
        return Series(own.times[busy], own.values[busy] / total[busy], self.duration)

    def share(self, flow: str, t0: float, t1: float) -> float:
        """Part of a flow in the bytes of all flows of its direction."""
        backward = self.flow(flow).backward
        beside = [one for one in self.settings.flows if one.backward == backward]
        total = sum(self.bytes_of(one.name, t0, t1) for one in beside)
        if not total:
            raise NotMeasuredError(f"no flow sent anything from {t0:g} s to {t1:g} s")
        return self.bytes_of(flow, t0, t1) / total

    def jain(self, t0: float, t1: float) -> float:
        """Jain's fairness index of the forward flows' throughputs: (sum x)^2 / (n sum x^2).

        It counts the flows that had begun by then and were not complete, starved ones with them.
        """
        forward = [flow for flow in self.settings.flows if not flow.backward and self._active(flow, t0, t1)]
        sent = np.array([self.bytes_of(flow.name, t0, t1) for flow in forward], float)
        if not sent.any():
            raise NotMeasuredError(f"no flow sent anything from {t0:g} s to {t1:g} s")
        return float(sent.sum() ** 2 / (len(sent) * (sent**2).sum()))

    def _active(self, flow: Flow, t0: float, t1: float) -> bool:
        completed_ns = (self.summary.maybe("flows", dict) or {}).get(flow.name, {}).get("completed_ns")
        return flow.start_s < t1 and (completed_ns is None or completed_ns / NS > t0)

    def utilization(self, t0: float, t1: float) -> float:
        """Bits of IP packets that left the bottleneck over those that its rate allows."""
        start, end = self._ns(t0, t1)
        if "bottleneck-out" in self.settings.captures:
            sent = float(self._left.bytes(start, end))
        else:
            counter = self._queue("sent_bytes")
            sent = counter.at(t1) - counter.at(max(t0, counter.start))
        return sent * 8 / self.capacity_bps.mean(t0, t1) / (t1 - t0)

    # From tables to the above

    @property
    @_keep
    def capacity_bps(self) -> Series:
        """Rate of the bottleneck, bit/s."""
        return self._steps(self.settings.rate_bps, self.settings.rate_steps)

    @property
    def _backward_rate(self) -> Series:
        """Rate of the way back, bit/s."""
        if self.settings.backward_rate_bps is None:
            raise NotMeasuredError("the way back has no limit, so no queue")
        return self._steps(self.settings.backward_rate_bps, self.settings.backward_rate_steps)

    def _steps(self, first: int, steps: tuple[tuple[float, int], ...]) -> Series:
        times, rates = np.array([(0.0, first), *steps], float).T
        return Series(times, rates, self.duration)

    @staticmethod
    def _milliseconds(waiting: Series, rate: Series) -> Series:
        return Series(waiting.times, waiting.values * 8e3 / rate.sampled(waiting.times), waiting.end)

    @property
    @_keep
    def _left(self) -> Passed:
        """Packets leaving the bottleneck's queue, of whatever kind."""
        return bottleneck.left(self._captured("bottleneck-out"))

    def _delivered(self, flow: str) -> Passed:
        """Packets of a flow behind the bottleneck of its direction, ACKs apart."""
        return self._delivered_by_flow().get(self.flow(flow).name, bottleneck.NOTHING)

    @_keep
    def _delivered_by_flow(self) -> dict[str, Passed]:
        return bottleneck.delivered(self._captured("bottleneck-out"))

    @property
    @_keep
    def _passages(self) -> pl.DataFrame:
        """Packets arriving at the bottleneck, when they left, and whether they were dropped."""
        return bottleneck.passages(self._captured("bottleneck-in", "bottleneck-out"))

    def _captured(self, *taps: str) -> pl.LazyFrame:
        for tap in taps:
            if tap not in self.settings.captures:
                raise NotMeasuredError(f"this needs a capture {WHERE[tap]} the bottleneck ({tap})")
        return self._table("packets")

    @_keep
    def _traced(self, flow: str, column: str, factor: float) -> Series:
        reported = (pl.col("flow") == self.flow(flow).name) & pl.col(column).is_not_null()
        table = self._table("cwnd").filter(reported).select("time_ns", column).collect()
        if not len(table):
            raise NotMeasuredError(f"the controller of flow {flow} reports no {column.rpartition('_')[0]}")
        return self._as_series(table, column, factor)

    def _sampled(self, samples: Samples) -> Series:
        inside = samples.times <= self.duration
        return Series(samples.times[inside], 1e3 * samples.values[inside], self.duration)

    def _queue(self, column: str, trace: str = "queue") -> Series:
        table = self._table(trace).select("time_ns", column).collect()
        if not len(table):
            raise NotMeasuredError("the trace of the queue is empty")
        return self._as_series(table, column, 1.0)

    def _as_series(self, table: pl.DataFrame, column: str, factor: float) -> Series:
        table = table.filter(pl.col("time_ns").is_between(0, round(self.duration * NS))).sort("time_ns")
        values = table[column].cast(pl.Float64).to_numpy() * factor
        return Series(table["time_ns"].to_numpy() / NS, values, self.duration)

    def _table(self, name: str) -> pl.LazyFrame:
        path = self.folder / "columns" / f"{name}.parquet"
        if not path.exists():
            raise BadInputError(f"{path}: missing; make it with: python -m analysis columns {self.folder}")
        return pl.scan_parquet(path)

    def _ns(self, t0: float, t1: float) -> tuple[int, int]:
        if not (math.isfinite(t0) and math.isfinite(t1)):
            raise NeverHappenedError
        if t1 > self.duration + TOLERANCE_S:
            raise NotMeasuredError(f"asked for {t1:g} s, but the run ends at {self.duration:g} s")
        if not 0 <= t0 < t1:
            raise NotMeasuredError(f"the interval from {t0:g} s to {t1:g} s is empty")
        return round(t0 * NS), round(t1 * NS)

    @property
    def packet_ms(self) -> float:
        """Transmission time of a full packet at the bottleneck's first rate, ms."""
        return 8e3 * PACKET_BYTES / self.settings.rate_bps
