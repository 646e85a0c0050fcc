"""What a viewer of video sees, from the packets at the viewer's host.

Each request of the viewer ends the segment before: its acknowledgement says how many bytes that had. The segment was
there with the last packet of data before the request. The viewer plays from its first segment on, and again from the
next one after it has run dry (images/implementations/video).
"""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.run.folder import RunFolder, keep
from analysis.run_json import NS
from analysis.series import NotMeasuredError
from analysis.words import word

_TCP: Final = 6
_NUMBERS: Final = 1 << 32  # of TCP's bytes

Instants = NDArray[np.int64]
"""Scenario time of each segment, ns."""


class VideoWords(RunFolder):
    """The words of a run that a viewer answers."""

    @word("bit/s")
    def video_bps(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Mean rate of the video (video) that a viewer asked for in the interval and got, bit/s."""
        start_ns, end_ns = self.interval_ns(t0, t1)
        requested_ns, _, rates_bps = self._segments(flow)
        inside = (start_ns <= requested_ns) & (requested_ns < end_ns)
        if not inside.any():
            raise self.nothing(f"the viewer of {flow} got no segment", t0, t1)
        return float(rates_bps[inside].mean())

    @word("s")
    def stalled_s(self, flow: str, t0: float = 0.0, t1: float | None = None) -> float:
        """Time, s, that a viewer (video) waits in the interval for the next segment, with nothing left to play."""
        start_ns, end_ns = self.interval_ns(t0, t1)
        _, arrived_ns, _ = self._segments(flow)
        if not len(arrived_ns):
            raise self.nothing(f"the viewer of {flow} got no segment", t0, t1)
        segment_ns, stalled_ns = int(self.flow(flow).params["segment_ns"]), 0
        dry_ns = int(arrived_ns[0])
        for next_ns in (*map(int, arrived_ns), self._watched_until_ns(flow)):
            stalled_ns += max(0, min(next_ns, end_ns) - max(dry_ns, start_ns))
            dry_ns = max(dry_ns, next_ns) + segment_ns
        return stalled_ns / NS

    def _watched_until_ns(self, flow: str) -> int:
        """Return when the flow ended: when it was done, or with the run."""
        done_ns = (self.summary.maybe("flows", dict) or {}).get(flow, {}).get("completed_ns")
        return round(self.ends_s * NS) if done_ns is None else int(done_ns)

    @keep
    def _segments(self, flow: str) -> tuple[Instants, Instants, NDArray[np.float64]]:
        """Return when each whole segment was asked for and when it had arrived, and its rate (bit/s)."""
        known = self.flow(flow)
        tap = "sender" if known.backward else "receiver"
        if tap not in self.settings.captures:
            raise NotMeasuredError(f"the segments of flow {flow} need a capture at its receiver ({tap})")
        of_flow = (pl.col("flow") == known.name) & (pl.col("tap") == tap) & (pl.col("proto") == _TCP)
        own = self.packets(60).filter(of_flow & (pl.col("payload_bytes") > 0)).sort("time_ns")
        first = own.filter(~pl.col("forward")).unique("seq", keep="first", maintain_order=True)
        requests = first.select("time_ns", "ack").collect()
        data_ns = own.filter(pl.col("forward")).select("time_ns").collect()["time_ns"].to_numpy()
        requested_ns, acks = requests["time_ns"].to_numpy(), requests["ack"].to_numpy().astype(np.int64)
        sizes_bytes = np.diff(acks) % _NUMBERS
        arrived_ns = data_ns[np.searchsorted(data_ns, requested_ns[1:]) - 1]
        return requested_ns[:-1], arrived_ns, 8 * sizes_bytes / (int(known.params["segment_ns"]) / NS)
