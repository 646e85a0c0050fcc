"""When things happen in a guest, as virtual time since its boot. Waiting is free, so everything has room."""

SECOND_NS = 1_000_000_000

BOOT_NS = 1_000_000_000 * SECOND_NS
"""CLOCK_REALTIME at boot: fixed, so that no date enters a run."""

PROBE_NS = BOOT_NS + 20 * SECOND_NS
"""The fidelity probe starts; Open vSwitch needs 12 s before it can be started at all."""

ENDPOINTS_NS = BOOT_NS + 25 * SECOND_NS
"""Captures and receivers start."""

ORIGIN_NS = BOOT_NS + 30 * SECOND_NS
"""Zero of the scenario's clock."""

GRACE_NS = SECOND_NS
"""An endpoint that was told to end may still run so long."""

RECEIVERS_NS = 7 * SECOND_NS
"""Between the end of the flows and that of receivers that still run."""

DRAIN_NS = 10 * SECOND_NS
"""Between the end of the flows and the counting, so that no packet is under way."""
