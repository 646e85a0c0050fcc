"""The packets that a reader can watch, one run of each kind: who waits in the queue, and each sender's window."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from analysis.figures import roles
from analysis.run import Run
from analysis.run_json import NS, Flow
from analysis.runs import Runs
from analysis.series import NotMeasuredError

TICK_NS: Final = 100_000  # of the instants that a browser gets
STEP_S: Final = 0.1  # of windows
MOST_PKTS: Final = 25_000  # of a run: 300 kB at most, since a packet takes at most 12 bytes


@dataclass(frozen=True)
class Watched:
    """A kind of run: the cell that shows it, from when to when (s), and the instant that a reader sees first."""

    name: str
    title: str
    experiment: str
    values: Mapping[str, str]  # of the matrix and the case
    interval: tuple[float, float]
    first: float


TEN_MINUTES: Final = "explained-ten-minutes"
WATCHED: Final = (
    Watched(
        "tcp",
        "TCP joins after 20 s",
        TEN_MINUTES,
        {"case": "tcp", "target": "60ms", "buffer": "30p"},
        (0, 60),
        20.4,
    ),
    Watched(
        "late-comer",
        "a second LEDBAT joins after 20 s",
        TEN_MINUTES,
        {"case": "late-comer", "target": "60ms", "buffer": "30p"},
        (0, 60),
        24,
    ),
    Watched(
        "small-buffer",
        "the buffer is smaller than the target, and TCP joins after 20 s",
        TEN_MINUTES,
        {"case": "tcp", "target": "100ms", "buffer": "12p"},
        (0, 60),
        25,
    ),
    Watched("starved", "a second LEDBAT takes all", "icccn-fig3-middle-dt10-b40", {}, (8, 28), 14),
    Watched(
        "call",
        "a voice call, then two LEDBAT",
        "icccn-claim-cbr-noninterference",
        {"case": "c2", "slow_start": "never"},
        (0, 60),
        20,
    ),
    Watched("adsl", "uTP over ADSL; TCP joins after 120 s", "pam-fig4b-adsl-interference", {}, (100, 260), 125),
)


def watched(runs: Path) -> Iterator[tuple[Watched, dict[str, Any]]]:
    """Yield what a browser needs to show each kind of run; those that have not been run are left out."""
    known = Runs(runs)
    for kind in WATCHED:
        for run in known.by_cell_and_seed(kind.experiment).values():
            values = run.settings.cell_values
            is_it = all(values.get(name) == value for name, value in kind.values.items())
            # another target of the pipeline may still be about to make its columns
            if is_it and (run.folder / "columns").is_dir():
                yield kind, packets(run, *kind.interval)
                break


def packets(run: Run, t0: float, t1: float) -> dict[str, Any]:
    """Give the packets that were in the queue from t0 to t1 (s), or came then, and were at most `MOST_PKTS`.

    `gap` is the time since the packet before came, `wait` how long it waited (-1 if it was dropped), in ticks of
    0.1 ms; `owner` has a digit a packet, the place of its flow in `flows`, or the next one for what is no flow's.
    """
    flows = run.settings.flows
    came, left = pl.col("time_ns"), pl.col("left_ns")
    known = run.passages.filter((came < t1 * NS) & ((came >= t0 * NS) | (left > t0 * NS))).sort("time_ns")
    if len(known) > MOST_PKTS:
        t1 = known["time_ns"][MOST_PKTS] / NS
        known = known.head(MOST_PKTS)
    places = {flow.name: place for place, flow in enumerate(flows)}
    ticks = (known["time_ns"].to_numpy() / TICK_NS).round().astype(int)
    times = np.arange(t0, min(t1, run.duration), STEP_S)
    targets = [flow.params["target_ns"] / 1e6 for flow in flows if flow.params.get("target_ns") is not None]
    named = roles.of_flows(flows)
    return {
        "from_s": t0,
        "until_s": round(float(times[-1]), 2),
        "step_s": STEP_S,
        "buffer_pkts": run.buffer_pkts,
        "packet_ms": run.packet_ms,
        "target_ms": min(targets, default=None),
        "flows": [
            {
                "label": named[flow.name].label,
                "colour": named[flow.name].colour,
                "window_pkts": _window(run, flow, times),
            }
            for flow in flows
        ],
        "gap": np.diff(ticks, prepend=0).tolist(),
        "wait": ((known["left_ns"] - known["time_ns"]) / TICK_NS).round().fill_null(-1).cast(int).to_list(),
        "owner": "".join(str(places.get(name, len(places))) for name in known["flow"].to_list()),
    }


def _window(run: Run, flow: Flow, times: Any) -> list[float | None] | None:
    """Give a sender's window at some instants, packets; None where it does not tell it."""
    try:
        window = run.cwnd(flow.name)
    except NotMeasuredError:
        return None
    return rounded(window.sampled(times), (times >= window.start) & (times <= window.times[-1] + STEP_S), 0)


def rounded(values: Any, is_there: Any, digits: int) -> list[float | None]:
    """Give numbers as a browser needs them; None where there are none."""
    return [
        (int(value) if digits == 0 else float(value)) if there else None
        for value, there in zip(np.round(values, digits), is_there, strict=True)
    ]
