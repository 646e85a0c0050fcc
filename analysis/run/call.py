"""The quality of a call or a game, from its packets at both hosts.

The E-model (ITU-T G.107) rates a transmission from 0 to 100 and gives the mean opinion score that follows. Of its terms
those remain that a network changes: the absolute delay without echo (7.2) and the losses (7.4). All else has G.107's
default value. The codec is G.711 with loss concealment, for which G.113 (Appendix I) gives Ie 0 and Bpl 25.1.
"""

import math
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.errors import BadInputError
from analysis.run.folder import RunFolder
from analysis.series import NeverHappenedError, NotMeasuredError
from analysis.words import word

_DEFAULT_RATING: Final = 93.2
_ROBUSTNESS: Final = 25.1  # Bpl, percent
_WINDOW_NS: Final = 10_000_000_000
_PACKET_BITS: Final = 8 * 160
_NUMBERS: Final = 1 << 16  # of packets, in the IP header


class CallWords(RunFolder):
    """The words of a run that a call answers."""

    @word()
    def call_mos(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Quality of a call (udp-cbr) as mean opinion score, 1 to 4.4, by the E-model (ITU-T G.107) for G.711.

        The mean over stretches of ten seconds, each with the playout delay that suits it best.
        """
        start_ns, end_ns = self.interval_ns(t0, t1)
        sent_ns, delays_ms = self._delays_ms(flow)
        rate_bps = self.flow(flow).params.get("rate_bps")
        if rate_bps is None:
            raise BadInputError(f"call_mos({flow!r}): found a flow without a rate; allowed: one of udp-cbr")
        packet_ms = 1e3 * _PACKET_BITS / rate_bps
        scores = []
        for from_ns in range(start_ns, end_ns, _WINDOW_NS):
            inside = (from_ns <= sent_ns) & (sent_ns < min(from_ns + _WINDOW_NS, end_ns))
            if inside.any():
                scores.append(opinion(_best_rating(delays_ms[inside], packet_ms)))
        if not scores:
            raise self.nothing(f"flow {flow} sent nothing", t0, t1)
        return float(np.mean(scores))

    @word("ms")
    def packet_delay_ms(self, flow: str, percent: float, t0: float = 0.0, t1: float | None = None) -> float:
        """Percentile of the one-way delays, ms, of the packets of udp-cbr or video-call; lost ones have the longest."""
        delays_ms = np.sort(self._delays_between_ms(flow, t0, t1))
        delay_ms = float(delays_ms[max(0, math.ceil(len(delays_ms) * percent / 100) - 1)])
        if math.isinf(delay_ms):
            raise NeverHappenedError
        return delay_ms

    @word()
    def lost_share(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Lost packets over all that udp-cbr or video-call sent in the interval; end it before the last ones arrive."""
        return float(np.isinf(self._delays_between_ms(flow, t0, t1)).mean())

    def _delays_between_ms(self, flow: str, t0: float, t1: float | None) -> NDArray[np.float64]:
        start_ns, end_ns = self.interval_ns(t0, t1)
        sent_ns, delays_ms = self._delays_ms(flow)
        inside: NDArray[np.float64] = delays_ms[(start_ns <= sent_ns) & (sent_ns < end_ns)]
        if not len(inside):
            raise self.nothing(f"flow {flow} sent nothing", t0, t1)
        return inside

    def _delays_ms(self, flow: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return when each packet of a flow was sent (ns), and its one-way delay (ms; infinite: it was lost)."""
        taps = ["sender", "receiver"]
        if not set(taps) <= set(self.settings.captures):
            raise NotMeasuredError("the delays of single packets need captures at both hosts (sender and receiver)")
        packets = self.packets(60).filter((pl.col("flow") == self.flow(flow).name) & pl.col("forward"))
        leaving, arriving = taps[::-1] if self.flow(flow).backward else taps
        sent, arrived = (
            packets.filter(pl.col("tap") == tap).select("ip_id", "time_ns").sort("time_ns").collect()
            for tap in (leaving, arriving)
        )
        if len(sent) > _NUMBERS:
            raise NotMeasuredError(f"flow {flow} has {len(sent)} packets, and only {_NUMBERS} can be told apart")
        both = sent.join(arrived.unique("ip_id", keep="first"), on="ip_id", how="left", maintain_order="left")
        delays = ((both["time_ns_right"] - both["time_ns"]) / 1e6).cast(pl.Float64).fill_null(math.inf)
        return both["time_ns"].to_numpy(), delays.to_numpy()


def rating(delay_ms: float, lost_percent: float) -> float:
    """Return the E-model's rating R of a call with a delay from mouth to ear and random losses."""
    impairment = 0.0
    if delay_ms > 100:
        x = math.log2(delay_ms / 100)
        impairment = 25 * ((1 + x**6) ** (1 / 6) - 3 * (1 + (x / 3) ** 6) ** (1 / 6) + 2)
    return _DEFAULT_RATING - impairment - 95 * lost_percent / (lost_percent + _ROBUSTNESS)


def opinion(rated: float) -> float:
    """Return the mean opinion score that G.107 gives a rating."""
    within = min(max(rated, 0.0), 100.0)
    return max(1.0, 1 + 0.035 * within + 7e-6 * within * (within - 60) * (100 - within))


def _best_rating(delays_ms: NDArray[np.float64], packet_ms: float) -> float:
    """Return the rating with the best playout delay: whatever arrives later counts as lost."""
    arrived = np.sort(delays_ms[np.isfinite(delays_ms)])
    ratings = [
        rating(float(arrived[count - 1]) + packet_ms, 100 * (1 - count / len(delays_ms)))
        for count in range(1, len(arrived) + 1)
    ]
    return max(ratings, default=0.0)
