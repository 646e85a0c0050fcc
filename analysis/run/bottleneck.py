"""What the bottleneck tells of a run: throughput and the queue.

The queue is that of the bottleneck at router r1 and counts waiting packets; throughput and utilization count the
bytes of IP packets that leave it. A reverse path with a limit has a queue of its own.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis import bottleneck
from analysis.bottleneck import TapPackets
from analysis.errors import BadInputError
from analysis.run.folder import RunFolder, keep
from analysis.run_json import NS, PAYLOAD_BYTES, Flow
from analysis.series import Instants, NeverHappenedError, NotMeasuredError, Series
from analysis.words import word
from scenarios.run_files import PACKET_BYTES

MOST_BINS = 1_000_000  # in a run; an hour has as many of 3.6 ms


class BottleneckWords(RunFolder):
    """The words of a run that its bottleneck answers."""

    @word()
    def bytes_of(self, flow: str, t0: float = 0.0, t1: float | None = None) -> int:
        """Bytes of a flow's IP packets, without ACKs, that left the bottleneck of its direction.

        Without a capture there: bytes acknowledged, as full packets.
        """
        if "bottleneck-out" not in self.settings.captures:
            acked = self.traced(flow, "bytes_acked", PACKET_BYTES / PAYLOAD_BYTES[self.settings.ip])
            before, after = acked.sampled(np.array(self.interval_ns(t0, t1)) / NS)
            return round(float(after - before))
        return self._delivered(flow).bytes(*self.interval_ns(t0, t1))

    @word("bit/s")
    def throughput(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Mean rate of a flow behind the bottleneck, bit/s of IP packets."""
        return self.bytes_of(flow, t0, t1) * 8 / (self.until(t1) - t0)

    @word()
    def rate(self, flow: str, step: float = 1.0) -> Series:
        """Rate of a flow behind the bottleneck in bins of `step` seconds, bit/s of IP packets."""
        edges = self._bins(step)
        if "bottleneck-out" not in self.settings.captures:
            acked = self.traced(flow, "bytes_acked", PACKET_BYTES / PAYLOAD_BYTES[self.settings.ip])
            return Series(edges[:-1], np.diff(acked.sampled(edges)) * 8 / step, self.ends_s)
        return Series(edges[:-1], self._delivered(flow).binned(edges) * 8 / step, self.ends_s)

    def arriving(self, flow: str, step: float = 1.0) -> Series:
        """Rate at which packets of a flow arrive at its receiver's host in bins of `step` seconds, bit/s."""
        edges = self._bins(step)
        tap = "sender" if self.flow(flow).backward else "receiver"
        arrived = bottleneck.delivered(self.packets(30), tap).get(flow, bottleneck.NOTHING)
        return Series(edges[:-1], arrived.binned(edges) * 8 / step, self.ends_s)

    def _bins(self, step: float) -> NDArray[np.float64]:
        """Return the edges of bins of `step` seconds, from 0 to the run's end."""
        if self.ends_s > MOST_BINS * step:
            allowed = f"{self.ends_s / MOST_BINS:g} s or more, for at most {MOST_BINS:,} bins in {self.ends_s:g} s"
            raise ValueError(f"step: found {step:g}; allowed: {allowed}")
        return np.arange(0.0, self.ends_s + step / 2, step)

    @word()
    def share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Share of a flow in the bytes of all flows of its direction."""
        total = sum(self.bytes_of(name, t0, t1) for name in self._same_way(flow))
        if not total:
            raise self.nothing("no flow sent anything", t0, t1)
        return self.bytes_of(flow, t0, t1) / total

    @word()
    def share_over_time(self, flow: str, step: float = 1.0) -> Series:
        """Share of a flow in the bytes of all flows of its direction, in those bins of `step` seconds that have any."""
        rates = [self.rate(name, step) for name in self._same_way(flow)]
        total = np.sum([rate.values for rate in rates], axis=0)
        own = self.rate(flow, step)
        busy = total > 0
        return Series(own.times[busy], own.values[busy] / total[busy], self.ends_s)

    @word()
    def jain(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Jain's fairness index, (sum x)^2 / (n sum x^2), of the throughputs of the forward flows.

        It counts the flows that had begun and were not complete, starved ones included.
        """
        active = [flow for flow in self._counted_flows if not flow.backward and self._active(flow, t0, self.until(t1))]
        sent = np.array([self.bytes_of(flow.name, t0, t1) for flow in active], float)
        if not sent.any():
            raise self.nothing("no flow sent anything", t0, t1)
        return float(sent.sum() ** 2 / (len(sent) * (sent**2).sum()))

    @word()
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

    @word()
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

    @word()
    def goodput(self) -> float:
        """Bytes of all transfers over the length of the run, which ends with the last of them, bit/s of payload."""
        sizes = [flow.bytes for flow in self.settings.flows if flow.bytes is not None]
        if len(sizes) < len(self.settings.flows):
            raise NotMeasuredError("a flow has no bytes, so no end")
        last = max(self.completed(flow.name) for flow in self.settings.flows)
        return 8 * sum(sizes) / last

    @property
    @word("bit/s")
    @keep
    def capacity_bps(self) -> Series:
        """Rate of the bottleneck, bit/s."""
        return self._steps(self.settings.rate_bps, self.settings.rate_steps)

    @property
    @word("packets")
    @keep
    def queue_pkts(self) -> Series:
        """Packets waiting in the bottleneck's queue."""
        return self._queue("backlog_pkts")

    @property
    @word("ms")
    @keep
    def queue_ms(self) -> Series:
        """Time that the bytes waiting in the bottleneck's queue take to leave at the current rate, ms."""
        return self._milliseconds(self._queue("backlog_bytes"), self.capacity_bps)

    @property
    @word("packets")
    @keep
    def backward_queue_pkts(self) -> Series:
        """Packets waiting in the queue of the reverse path, if that has a `backward_bottleneck`."""
        return self._queue("backlog_pkts", "queue-backward")

    @property
    @word("ms")
    @keep
    def backward_queue_ms(self) -> Series:
        """Time that the bytes waiting in the queue of the reverse path take to leave, ms."""
        return self._milliseconds(self._queue("backlog_bytes", "queue-backward"), self._backward_rate)

    @word("ms")
    def waited_ms(self, flow: str) -> Series:
        """Time that each packet of a forward flow waited in the queue, ms, at the instant it left."""
        passed = self._of_data(self.passages, flow).filter(pl.col("left_ns").is_not_null()).sort("left_ns")
        waited = (passed["left_ns"] - passed["time_ns"]).to_numpy() / 1e6
        return Series(passed["left_ns"].to_numpy() / NS, waited, self.ends_s)

    @word()
    def queue_share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Share of a flow in the waiting time of all packets that left the queue, so in the mean queue."""
        passed = self.passages.filter(pl.col("left_ns").is_between(*self.interval_ns(t0, t1), closed="left"))
        waited = (passed["left_ns"] - passed["time_ns"]).to_numpy()
        total = int(waited.sum())
        if not total:
            raise self.nothing("the queue was empty", t0, t1)
        return float(waited[(passed["flow"] == self.flow(flow).name).to_numpy()].sum() / total)

    @word()
    def drops(self, flow: str | None = None) -> Instants:
        """Instants at which the bottleneck's queue had no room for a packet of that forward flow, or of any."""
        if "bottleneck-in" in self.settings.captures:
            dropped = self.passages.filter("dropped")
            if flow is not None:
                dropped = self._of_data(dropped, flow)
            return Instants(dropped["time_ns"].sort().to_numpy() / NS, self.ends_s)
        if flow is not None:
            raise NotMeasuredError("drops of one flow need a capture before the bottleneck (bottleneck-in)")
        # the trace counts drops without saying whose, and knows their time to one sample
        new_pkts = pl.col("dropped_pkts").diff().fill_null(0).cast(pl.Int64)
        lost = self.table("queue").select("time_ns", new_pkts).collect()
        times = np.repeat(lost["time_ns"].to_numpy() / NS, lost["dropped_pkts"].to_numpy())
        return Instants(times, self.ends_s)

    @word()
    def loss_rate(self, t0: float = 0.0, t1: float | None = None, flow: str | None = None) -> float:
        """Dropped packets over all that arrived at the bottleneck's queue, of that forward flow or of all."""
        start, end = self.interval_ns(t0, t1)
        if "bottleneck-in" not in self.settings.captures:
            if flow is not None:
                raise NotMeasuredError("drops of one flow need a capture before the bottleneck (bottleneck-in)")
            ends = np.array([t0, self.until(t1)])
            counters = (self._queue(name).sampled(ends) for name in ("sent_pkts", "dropped_pkts"))
            sent, dropped = (float(counter[1] - counter[0]) for counter in counters)
            if not sent + dropped:
                raise self.nothing("no packet arrived", t0, t1)
            return dropped / (sent + dropped)
        offered = self.passages.filter(pl.col("time_ns").is_between(start, end, closed="left"))
        if flow is not None:
            offered = self._of_data(offered, flow)
        if not len(offered):
            raise self.nothing("no packet arrived", t0, t1)
        return float(offered["dropped"].mean())  # type: ignore[arg-type]  # the mean of booleans is a float

    @word()
    def marks(self) -> int:
        """Packets that the bottleneck's queue marked with Congestion Experienced, in the whole run."""
        return self._counted("marked_pkts")

    @word()
    def early_drops(self) -> int:
        """Packets that the bottleneck's queue dropped although it had room, in the whole run."""
        return self._counted("dropped_pkts") - self._counted("overflowed_pkts")

    def _counted(self, what: str) -> int:
        counted = self.summary.child("counters").child("queues").child("bottleneck").maybe(what, int)
        if counted is None:
            raise NotMeasuredError(f"the queue of the bottleneck counts no {what}")
        return counted

    def _same_way(self, flow: str) -> list[str]:
        """List the flows of a flow's direction."""
        backward = self.flow(flow).backward
        return [each.name for each in self._counted_flows if each.backward == backward]

    @property
    def _counted_flows(self) -> list[Flow]:
        """Flows whose bytes are known: those that pass the first bottleneck, or without a capture there all."""
        return [each for each in self.settings.flows if each.crosses or "bottleneck-out" not in self.settings.captures]

    def _crossing(self, flow: str) -> Flow:
        """Find a flow; raises NotMeasuredError for one that does not pass the first bottleneck."""
        found = self.flow(flow)
        if not found.crosses:
            raise NotMeasuredError(f"flow {flow} does not pass the first bottleneck, where this is measured")
        return found

    def _queued(self, flow: str) -> Flow:
        """Find a flow; raises NotMeasuredError for one whose data does not pass the bottleneck's queue."""
        found = self._crossing(flow)
        if found.backward:
            raise NotMeasuredError(f"of flow {flow}, only answers pass the bottleneck's queue: its data goes backward")
        return found

    def _of_data(self, passages: pl.DataFrame, flow: str) -> pl.DataFrame:
        """Return the packets of a flow without its answers, which pass the same queues where hosts have no sides."""
        return passages.filter((pl.col("flow") == self._queued(flow).name) & pl.col("forward"))

    def _active(self, flow: Flow, t0: float, t1: float) -> bool:
        completed_ns = (self.summary.maybe("flows", dict) or {}).get(flow.name, {}).get("completed_ns")
        return flow.start_s < t1 and (completed_ns is None or completed_ns / NS > t0)

    @property
    def _backward_rate(self) -> Series:
        """Rate of the reverse path, bit/s."""
        if self.settings.backward_rate_bps is None:
            raise NotMeasuredError("the reverse path has no limit, so no queue")
        return self._steps(self.settings.backward_rate_bps, self.settings.backward_rate_steps)

    def _steps(self, first: int, steps: tuple[tuple[float, int], ...]) -> Series:
        times, rates = np.array([(0.0, first), *steps], float).T
        return Series(times, rates, self.ends_s)

    @staticmethod
    def _milliseconds(waiting: Series, rate: Series) -> Series:
        return Series(waiting.times, waiting.values * 8e3 / rate.sampled(waiting.times), waiting.end)

    @property
    @keep
    def _left(self) -> TapPackets:
        """All packets that left the bottleneck's queue."""
        return bottleneck.left(self.captured("bottleneck-out", 30), self.settings.destinations)

    def _delivered(self, flow: str) -> TapPackets:
        """Packets of a flow behind the bottleneck of its direction, without ACKs."""
        return self._delivered_by_flow().get(self._crossing(flow).name, bottleneck.NOTHING)

    @keep
    def _delivered_by_flow(self) -> dict[str, TapPackets]:
        return bottleneck.delivered(self.captured("bottleneck-out", 30))

    @property
    @keep
    def passages(self) -> pl.DataFrame:
        """Packets arriving at the bottleneck, when they left, and whether they were dropped."""
        self.captured("bottleneck-in", 0)
        return bottleneck.passages(self.captured("bottleneck-out", 30), self.settings.destinations)

    def _queue(self, column: str, trace: str = "queue") -> Series:
        table = self.table(trace).select("time_ns", column).collect()
        if not len(table):
            raise NotMeasuredError("the trace of the queue is empty")
        return self.series_of(table, column, 1.0)
