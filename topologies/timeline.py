"""Durations on which the agent and the planner of a run must agree."""

from itertools import pairwise
from typing import Any

SECOND_NS = 1_000_000_000

BOOT_NS = 1_000_000_000 * SECOND_NS
"""CLOCK_REALTIME at boot, fixed so that no date enters a run."""

GRACE_NS = SECOND_NS
"""How long an endpoint may still run after SIGTERM."""

RULE_NS = 20_000_000
"""How long a rule of Open vSwitch takes to be in force: it revises cached decisions at most every 5 ms."""


def routed_ns(run: dict[str, Any]) -> list[int]:
    """Return when the old path is empty after each change of route (scenario time), if no other change comes first."""
    events = [event["at_ns"] for event in run["events"] if any("rules" in change for change in event["changes"])]
    longest_ns = max((max(path["forward_ns"], path["backward_ns"]) for path in run["network"]["paths"]), default=0)
    over_ns = RULE_NS + longest_ns
    spans_ns = pairwise([*events, run["duration_ns"]])
    return [at_ns + over_ns for at_ns, next_ns in spans_ns if at_ns + over_ns < next_ns]
