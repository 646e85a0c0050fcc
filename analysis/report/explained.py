"""What the page that explains LEDBAT shows: series of the runs of its study, small enough for a browser."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from analysis.figures import roles
from analysis.report.packets import STEP_S, TEN_MINUTES, rounded
from analysis.run import Run
from analysis.runs import Runs
from analysis.series import Series

FIRST: Final = "ledbat"
# s: the first flow alone, after its start and before the other joins; beside the other one; alone again
ALONE: Final = (10.0, 20.0)
BESIDE: Final = (30.0, 40.0)
AFTER: Final = (50.0, 60.0)
_NO_DELAY_MS: Final = 10_000.0


def explained(runs: Path) -> dict[str, Any] | None:
    """Give what the page shows; None where the study has not been run."""
    if not runs.is_dir():
        return None
    ten_minutes = [run for (_, seed), run in Runs(runs).by_cell_and_seed(TEN_MINUTES).items() if seed == 1]
    if not ten_minutes:
        return None
    settings = ten_minutes[0].settings
    return {
        "rate_bps": settings.rate_bps,
        "packet_ms": ten_minutes[0].packet_ms,
        "rtt_ms": ten_minutes[0].base_rtt_ms,
        "duration_s": ten_minutes[0].duration,
        "step_s": STEP_S,
        "targets_ms": sorted({run.target_ms(FIRST) for run in ten_minutes}),
        "buffers_pkts": sorted({run.buffer_pkts for run in ten_minutes}),
        "runs": {_key(run): _series(run) for run in ten_minutes},
    }


def _key(run: Run) -> str:
    return f"{run.settings.cell_values['case']}/{run.target_ms(FIRST):g}/{run.buffer_pkts}"


def _series(run: Run) -> dict[str, Any]:
    times = np.arange(0, run.duration, STEP_S)
    named = roles.of_flows(run.settings.flows)
    queue = run.queue_ms.sampled(times)
    flows = []
    for flow in run.settings.flows:
        window = run.cwnd(flow.name)
        is_there = (times >= window.start) & (times <= window.times[-1] + STEP_S)
        entry: dict[str, Any] = {
            "label": named[flow.name].label,
            "colour": named[flow.name].colour,
            "window_pkts": rounded(window.sampled(times), is_there, 0),
        }
        if "target_ns" in flow.params:
            base = _base_ms(run, flow.name)
            entry["base_ms"] = rounded(base.sampled(times), is_there & (times >= base.start), 1)
        flows.append(entry)
    other = next(flow.name for flow in run.settings.flows if flow.name != FIRST)
    return {
        "flows": flows,
        "queue_ms": rounded(queue, times >= 0, 0),
        "alone": {"queue_ms": run.queue_ms.mean(*ALONE), "used": run.utilization(*ALONE)},
        "beside": {
            "queue_ms": run.queue_ms.mean(*BESIDE),
            "share": run.share(FIRST, *BESIDE),
            "drops": run.drops().count(run.start(other), BESIDE[1]),
        },
        "after": {"used": run.utilization(*AFTER)},
    }


def _base_ms(run: Run, flow: str) -> Series:
    """Give the sender's base delay, ms, without the unknown offset of the clocks.

    Its first value is of a packet whose way is known: the path, and the least that a packet had waited by then. No path
    changes by `_NO_DELAY_MS` at once: then the sender has turned from round trips to stamps, which have another offset.
    """
    traced, waited = run.base_delay_ms(flow), run.waited_ms(flow)
    known = int(np.flatnonzero(traced.values)[0])  # 0 until the first sample
    least = waited.min(waited.start, max(float(traced.times[known]), waited.start + STEP_S))
    steps = np.diff(traced.values[known:], prepend=traced.values[known])
    from_then = np.cumsum(np.where(np.abs(steps) < _NO_DELAY_MS, steps, 0))
    return Series(traced.times[known:], from_then + run.base_rtt_ms / 2 + least, traced.end)
