"""When things happen in a guest. In virtual time waiting is free, so everything has room."""

SECOND_NS = 1_000_000_000

BOOT_NS = 1_000_000_000 * SECOND_NS
"""CLOCK_REALTIME at boot: fixed, so that no date enters a run."""

ORIGIN_NS = BOOT_NS + 30 * SECOND_NS
"""Zero of the scenario's clock in virtual time; Open vSwitch needs 12 s before it can be started at all."""

PROBE_NS = 10 * SECOND_NS
"""Before the zero of the scenario's clock the fidelity probe starts."""

ENDPOINTS_NS = 5 * SECOND_NS
"""Before the zero of the scenario's clock captures and receivers start."""

REAL_TIME_LEAD_NS = 20 * SECOND_NS
"""Between the start of a run in real time and the zero of the scenario's clock: the network is built meanwhile."""

REAL_TIME_SIGN_NS = 10 * SECOND_NS
"""In real time the host gets a sign of life at least so often."""

GRACE_NS = SECOND_NS
"""An endpoint that was told to end may still run so long."""

RECEIVERS_NS = 7 * SECOND_NS
"""Between the end of the flows and that of receivers that still run."""

DRAIN_NS = 10 * SECOND_NS
"""Between the end of the flows and the counting, so that no packet is under way."""
