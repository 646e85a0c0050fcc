"""The objects of a flow that carries each over a connection of its own, from the sender's packets.

An object is a TCP connection, or a question over UDP, which ends with its answer.
"""

import math
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.run.folder import RunFolder, keep
from analysis.run_json import NS
from analysis.series import NeverHappenedError, NotMeasuredError
from analysis.words import word

_FIN: Final = 1
_UDP: Final = 17


class ObjectWords(RunFolder):
    """The words of a run about connections that come and go, such as those of `web` and `dns`."""

    @word()
    def objects(self, flow: str, t0: float = 0.0, t1: float | None = None) -> int:
        """TCP connections that the flow's sender opened, such as a web server's objects, or questions of dns."""
        return len(self._object_s(flow, t0, t1))

    @word("s")
    def object_s(self, flow: str, percent: float, t0: float = 0.0, t1: float | None = None) -> float:
        """Percentile of the times, s, that connections opened in the interval take, from SYN to the receiver's FIN.

        Over UDP (dns): the times from a question to its answer.
        Those that do not end have the longest; end the interval before the run does.
        """
        times_s = np.sort(self._object_s(flow, t0, t1))
        if not len(times_s):
            raise self.nothing(f"flow {flow} opened no connection", t0, t1)
        time_s = float(times_s[math.ceil(len(times_s) * percent / 100) - 1]) if percent > 0 else float(times_s[0])
        if math.isinf(time_s):
            raise NeverHappenedError
        return time_s

    def _object_s(self, flow: str, t0: float, t1: float | None) -> NDArray[np.float64]:
        start_ns, end_ns = self.interval_ns(t0, t1)
        opened_ns, times_s = self._connections(flow)
        times: NDArray[np.float64] = times_s[(opened_ns >= start_ns) & (opened_ns < end_ns)]
        return times

    @keep
    def _connections(self, flow: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return when each connection of a flow was opened (ns), and how long it took (s; infinite: it never ended)."""
        known = self.flow(flow)
        tap = "receiver" if known.backward else "sender"
        if tap not in self.settings.captures:
            raise NotMeasuredError(f"the connections of flow {flow} need a capture at its sender ({tap})")
        of_flow = (pl.col("flow") == known.name) & (pl.col("tap") == tap)
        own = self.packets(60).filter(of_flow)
        port = pl.when("forward").then("sport").otherwise("dport").alias("port")
        ends = ~pl.col("forward") & ((pl.col("proto") == _UDP) | (pl.col("flags") & _FIN > 0))
        closed_ns = pl.col("time_ns").filter(ends).min()
        each = own.group_by(port).agg(pl.col("time_ns").min().alias("opened"), closed_ns.alias("closed")).sort("opened")
        connections = each.collect()
        times_s = ((connections["closed"] - connections["opened"]) / NS).cast(pl.Float64).fill_null(math.inf)
        return connections["opened"].to_numpy(), times_s.to_numpy()
