"""What the writer of a run's folder and its readers agree on, which are packages that do not know each other."""

from topologies.endings import DIED as DIED
from topologies.endings import ENDINGS as ENDINGS
from topologies.endings import GAVE_UP as GAVE_UP
from topologies.endings import HUNG as HUNG
from topologies.endings import INCOMPLETE as INCOMPLETE
from topologies.endings import REFUSED as REFUSED
from topologies.packets import PACKET_BYTES as PACKET_BYTES

FORMAT = 2
"""Of run.json."""
OF_RUN = ("run.json", "summary.json")
"""What tells all about a run; the second has the SHA-256 of captures and traces."""
OF_ENGINE = ("provenance", "agent", "origin_ns")
"""Fields of run.json that only images and the host's clock tell."""
FAILED = "failed-"
"""Before the name of a folder, seed-N, whose run failed."""
