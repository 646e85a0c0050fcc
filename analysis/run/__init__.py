"""A finished run, and what can be asked of it.

Times are seconds of scenario time, windows and queues count packets. Intervals include t0 but not t1: adjacent
intervals count everything once.
"""

from typing import Final

import numpy as np

from analysis.run.bottleneck import BottleneckWords
from analysis.run.call import CallWords
from analysis.run.objects import ObjectWords
from analysis.run.outcomes import OutcomeWords
from analysis.run.sender import SenderWords
from analysis.run.video import VideoWords
from analysis.series import Instants, NotMeasuredError
from analysis.words import word
from scenarios.run_files import PACKET_BYTES

STEADY: Final = 2 / 3  # of the run have passed when `steady` begins


class Run(BottleneckWords, SenderWords, CallWords, ObjectWords, OutcomeWords, VideoWords):
    """A finished run. Raises NotMeasuredError for what its captures and traces do not tell.

    The methods marked as words are those that claims may use; their intervals are the whole run by default.
    """

    @property
    @word("s")
    def duration(self) -> float:
        """Length of the run, s: as planned, or shorter when all flows had delivered their bytes before."""
        return self.ends_s

    @property
    @word()
    def steady(self) -> float:
        """Beginning of the last third of the run, s."""
        return self.duration * STEADY

    @property
    @word()
    def flow_count(self) -> int:
        """Number of flows."""
        return len(self.settings.flows)

    @property
    @word("bit/s")
    def rate_bps(self) -> int:
        """Rate of the bottleneck at the start, bit/s."""
        return self.settings.rate_bps

    @property
    @word("ms")
    def base_rtt_ms(self) -> float:
        """Round-trip time without any queue at the start, ms."""
        return 1e3 * (self.settings.forward_s + self.settings.backward_s)

    @property
    @word()
    def changes(self) -> Instants:
        """Instants at which the scenario changes the path."""
        return Instants(np.array(self.settings.changes_s), self.duration)

    @property
    @word("packets")
    def buffer_pkts(self) -> int:
        """Capacity of the bottleneck's queue, packets."""
        return self.settings.buffer_pkts

    @property
    @word("ms")
    def packet_ms(self) -> float:
        """Transmission time of a full packet at the bottleneck's first rate, ms."""
        return 8e3 * PACKET_BYTES / self.settings.rate_bps

    @word("s")
    def start(self, flow: str) -> float:
        """Start of a flow, s, jitter included."""
        return self.flow(flow).start_s

    @word("ms")
    def target_ms(self, flow: str) -> float:
        """Target of a LEDBAT flow, ms."""
        target = self.flow(flow).params.get("target_ns")
        if target is None:
            raise NotMeasuredError(f"flow {flow} has no target")
        return float(target) / 1e6

    @word("packets")
    def target_pkts(self, flow: str) -> float:
        """Target of a LEDBAT flow in full packets of the bottleneck."""
        return self.target_ms(flow) / self.packet_ms

    @word("bytes")
    def receive_buffer_bytes(self, flow: str) -> int:
        """Receive buffer that the scenario gives a flow, bytes."""
        buffer_bytes = self.flow(flow).params.get("receive_buffer_bytes")
        if buffer_bytes is None:
            raise NotMeasuredError(f"flow {flow} has no receive buffer of its own")
        return int(buffer_bytes)
