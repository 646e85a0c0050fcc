"""The words that the expressions of claims may use, bound to one run. Documented for writers in docs/claims.md."""

import itertools
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Final

from analysis.observer.control import Estimate
from analysis.observer.limits import Limit
from analysis.run import Run
from analysis.series import Instants, NotMeasuredError, Series

FindRun = Callable[[str, str], Run]  # (experiment, cell) -> the run with the seed at hand


class Words:
    """The words of one run. Intervals default to the whole run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def cwnd(self, flow: str) -> Series:
        """Congestion window, packets."""
        return self._run.cwnd(flow)

    def base_delay_ms(self, flow: str) -> Series:
        """Give the controller's estimate of the base delay, ms, off by a constant."""
        return self._run.base_delay_ms(flow)

    def queuing_delay_ms(self, flow: str) -> Series:
        """Give the controller's estimate of the queuing delay, ms."""
        return self._run.queuing_delay_ms(flow)

    def srtt_ms(self, flow: str) -> Series:
        """Round-trip time, smoothed by the sender, ms."""
        return self._run.srtt_ms(flow)

    def in_flight(self, flow: str) -> Series:
        """Give the packets sent and not yet acknowledged, from captures."""
        return self._run.in_flight(flow)

    def rtt_ms(self, flow: str) -> Series:
        """Round-trip times, from captures."""
        return self._run.rtt_ms(flow)

    def seen_delay_ms(self, flow: str) -> Series:
        """Queuing delay that the sender can see, from captures."""
        return self._run.seen_delay_ms(flow)

    def receive_window_bytes(self, flow: str) -> Series:
        """Give the window that the receiver advertises, bytes."""
        return self._run.receive_window_bytes(flow)

    def packet_bytes(self, flow: str) -> Series:
        """Give the IP length of each packet with new data."""
        return self._run.packet_bytes(flow)

    def packet_sizes(self, flow: str, t0: float = 0.0, t1: float | None = None) -> list[int]:
        """Different IP lengths of packets with new data, the smallest first."""
        return list(self._run.packet_sizes(flow, t0, self._end(t1)))

    def size_share(self, flow: str, at_least: float, t0: float = 0.0, t1: float | None = None) -> float:
        """Give the part of the packets with new data whose IP length is at least so many bytes."""
        counts = self._run.packet_sizes(flow, t0, self._end(t1))
        if not counts:
            raise NotMeasuredError(f"flow {flow} sent no data from {t0:g} s to {self._end(t1):g} s")
        return sum(count for size, count in counts.items() if size >= at_least) / sum(counts.values())

    def header_share(self, flow: str) -> float:
        """Give the part of the sent IP bytes that is no data of the application."""
        return self._run.header_share(flow)

    def retransmissions(self, flow: str) -> Instants:
        """Give the packets sent again."""
        return self._run.retransmissions(flow)

    def retransmission_rate(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Packets sent again over all packets sent."""
        return self._run.retransmission_rate(flow, t0, self._end(t1))

    def limited_by(self, flow: str, limit: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Give the part of the time in which that held the sender back."""
        return self._run.limited_by(flow, Limit(limit), t0, self._end(t1))

    def inferred_target_ms(self, flow: str) -> float:
        """Give the target that the window's reaction to delay tells."""
        return self._control(flow)[0].value

    def inferred_gain(self, flow: str) -> float:
        """Give the growth without a queue, packets a round-trip time, that the window's reaction to delay tells."""
        return self._control(flow)[1].value

    def waited_ms(self, flow: str) -> Series:
        """Give waiting time of each packet, when it left the queue."""
        return self._run.waited_ms(flow)

    @property
    def backward_queue_pkts(self) -> Series:
        """Packets waiting in the queue of the way back."""
        return self._run.backward_queue_pkts

    @property
    def backward_queue_ms(self) -> Series:
        """Time that the bytes waiting in the queue of the way back take to leave, ms."""
        return self._run.backward_queue_ms

    @property
    def queue_pkts(self) -> Series:
        """Packets waiting in the bottleneck's queue."""
        return self._run.queue_pkts

    @property
    def queue_ms(self) -> Series:
        """Time that the waiting bytes take to leave."""
        return self._run.queue_ms

    def drops(self, flow: str | None = None) -> Instants:
        """Give drops of a flow, or of all packets."""
        return self._run.drops(flow)

    def queue_share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Give a flow's part in the queue."""
        return self._run.queue_share(flow, t0, self._end(t1))

    def loss_rate(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Give dropped over offered packets."""
        return self._run.loss_rate(t0, self._end(t1))

    def bytes_of(self, flow: str, t0: float = 0.0, t1: float | None = None) -> int:
        """Bytes of IP packets behind the bottleneck."""
        return self._run.bytes_of(flow, t0, self._end(t1))

    def throughput(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Mean rate behind the bottleneck, bit/s."""
        return self._run.throughput(flow, t0, self._end(t1))

    def rate(self, flow: str, step: float = 1.0) -> Series:
        """Rate behind the bottleneck in bins of `step` seconds, bit/s."""
        return self._run.throughput_series(flow, step)

    def share_over_time(self, flow: str, step: float = 1.0) -> Series:
        """Give a flow's part in the bytes of all flows in bins of `step` seconds."""
        return self._run.share_series(flow, step)

    def share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Give a flow's part in the bytes of all flows."""
        return self._run.share(flow, t0, self._end(t1))

    def jain(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Jain's fairness index of the throughputs."""
        return self._run.jain(t0, self._end(t1))

    def utilization(self, t0: float = 0.0, t1: float | None = None) -> float:
        """Give used part of the capacity, 0 to 1."""
        return self._run.utilization(t0, self._end(t1))

    def start(self, flow: str) -> float:
        """Start of a flow, s, jitter included."""
        return self._run.flow(flow).start_s

    def completed(self, flow: str) -> float:
        """Instant at which all bytes of a flow were delivered, s."""
        return self._run.completed(flow)

    def target_ms(self, flow: str) -> float:
        """Target of a LEDBAT flow, ms."""
        target = self._run.flow(flow).params.get("target_ns")
        if target is None:
            raise NotMeasuredError(f"flow {flow} has no target")
        return float(target) / 1e6

    def receive_buffer_bytes(self, flow: str) -> int:
        """Receive window that the scenario gives a flow, bytes."""
        given = self._run.flow(flow).params.get("receive_buffer_bytes")
        if given is None:
            raise NotMeasuredError(f"flow {flow} has no receive buffer of its own")
        return int(given)

    def target_pkts(self, flow: str) -> float:
        """Give the target of a LEDBAT flow in full packets of the bottleneck."""
        return self.target_ms(flow) / self._run.packet_ms

    @property
    def duration(self) -> float:
        """Length of the run, s."""
        return self._run.duration

    @property
    def steady(self) -> float:
        """Beginning of the last third of the run, s."""
        return self._run.duration * 2 / 3

    def goodput(self) -> float:
        """Mean rate at which the transfers of all flows were delivered, over the whole run, bit/s of payload."""
        return self._run.goodput()

    @property
    def flow_count(self) -> int:
        """Give the number of flows."""
        return len(self._run.settings.flows)

    @property
    def rate_bps(self) -> int:
        """Rate of the bottleneck at the start, bit/s."""
        return self._run.settings.rate_bps

    @property
    def capacity_bps(self) -> Series:
        """Rate of the bottleneck over time, bit/s."""
        return self._run.capacity_bps

    @property
    def changes(self) -> Instants:
        """Instants at which the scenario changes the path."""
        return self._run.changes

    @property
    def base_rtt_ms(self) -> float:
        """Round-trip time without any queue at the start, ms."""
        return 1e3 * (self._run.settings.forward_s + self._run.settings.backward_s)

    @property
    def buffer_pkts(self) -> int:
        """Room of the queue, packets."""
        return self._run.settings.buffer_pkts

    @property
    def packet_ms(self) -> float:
        """Transmission time of a full packet, ms."""
        return self._run.packet_ms

    def _control(self, flow: str) -> tuple[Estimate, Estimate]:
        found = self._run.control(flow)
        if found.target_ms is None or found.gain_pkts_per_rtt is None:
            raise NotMeasuredError(f"the window of flow {flow} does not surely react to delay")
        if found.extrapolated:
            raise NotMeasuredError(
                f"the window of flow {flow} never sank with delay, which was {found.longest_ms:.1f} ms at most"
            )
        return found.target_ms, found.gain_pkts_per_rtt

    def _end(self, t1: float | None) -> float:
        return self._run.duration if t1 is None else t1


OF_A_RUN: Final = frozenset(name for name in vars(Words) if not name.startswith("_"))
PROPERTIES: Final = frozenset(name for name in OF_A_RUN if isinstance(vars(Words)[name], property))


class Vocabulary:
    """All words for one cell and seed: those of its own run, if it has one, the way to other runs, the study's own.

    `definitions` are the study's own words, expressions that may use those before them.
    """

    def __init__(self, own: Run | None, experiment: str, find: FindRun, definitions: Mapping[str, str]) -> None:
        self._own = Words(own) if own else None
        self.definitions = definitions
        self.defined: dict[str, Any] = {}  # definitions that have been evaluated, with their values
        self.functions: dict[str, Callable[..., Any]] = {
            "run": lambda name, cell="single": Words(find(name, cell)),
            "cell": lambda name: Words(find(experiment, name)),
        }
        if self._own:
            self.functions |= {name: getattr(self._own, name) for name in OF_A_RUN - PROPERTIES}

    def name(self, name: str) -> Any:
        """Value of a word that is no function; KeyError for other words. Read only when asked for."""
        if self._own is None or name not in PROPERTIES:
            raise KeyError(name)
        return getattr(self._own, name)

    def before(self, name: str) -> "Vocabulary":
        """Give the vocabulary that the definition of a word may use."""
        earlier = copy(self)
        earlier.definitions = dict(itertools.takewhile(lambda item: item[0] != name, self.definitions.items()))
        return earlier
