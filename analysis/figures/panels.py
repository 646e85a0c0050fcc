"""What a panel of a time series figure can show: its axis, its lines, and the levels drawn across it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from analysis.claims.question import Question
from analysis.documents import Fields
from analysis.run import Run
from analysis.run_json import NS, Flow
from analysis.series import NotMeasuredError, Series

SUM: Final = "sum"
CAPACITY: Final = "capacity"
OF_PATH: Final = ("delay", "jitter")  # how the names of a path's lines end
QUEUE: Final = "queue"
Lines = dict[str, Series]
Levels = list[tuple[str, float]]


@dataclass(frozen=True)
class Panel:
    """`lines` by name: those of flows have the flow's name. `levels` are names with a value on the axis."""

    axis: str
    says: str  # for the caption
    lines: Callable[[Run], Lines]
    levels: Callable[[Run], Levels] = lambda _: []
    each: bool = False  # draw each value that occurs, not medians and ranges
    of_flow: Callable[[Run, str], Series] | None = None  # the line of a flow, of a panel that has one for each

    def left_out(self, run: Run) -> dict[str, str]:
        """Say of each flow without a line why it has none."""
        missing: dict[str, str] = {}
        if self.of_flow is None:
            return missing
        drawn = self.lines(run)
        for flow in run.settings.flows:
            if flow.name not in drawn:
                try:
                    self.of_flow(run, flow.name)
                except NotMeasuredError as error:
                    missing[flow.name] = str(error).replace(f"flow {flow.name}", "the flow")
        return missing


def panel(declared: object, figure: Fields, step_s: float, ask: Question) -> Panel:
    """Find a panel by its name, or make one of expressions: `{axis: text, lines: {name: expression}}`.

    `each: true` draws each value that occurs.
    """
    named = _named(step_s)
    if isinstance(declared, str):
        if declared not in named:
            raise figure.error(figure.name("panels"), declared, f"one of {', '.join(named)}, or axis and lines")
        return named[declared]
    own = Fields(figure.path, declared, figure.name("panels"))
    lines, axis = own.child("lines"), own.get("axis", str)

    def evaluate(run: Run) -> Lines:
        return {name: ask.series(lines.get(name, str), run) for name in lines.data}

    return Panel(axis, axis, evaluate, each=own.maybe("each", bool) or False)


def _named(step_s: float) -> dict[str, Panel]:
    rate = f"rate behind the bottleneck, in steps of {step_s:g} s"
    return {
        "rate": Panel(
            "rate [Mbit/s]",
            rate,
            lambda run: _rates(run, lambda flow: _rate(run, flow, step_s)),
            of_flow=lambda run, flow: _rate(run, flow, step_s),
        ),
        "sent-rate": Panel(
            "rate at the sender [Mbit/s]",
            f"rate at which each sender sends, in steps of {step_s:g} s, repeats included",
            lambda run: _rates(run, lambda flow: _sent_rate(run, flow, step_s)),
            of_flow=lambda run, flow: _sent_rate(run, flow, step_s),
        ),
        "window": Panel("window [packets]", "congestion window of each sender", _windows, of_flow=Run.cwnd),
        "in-flight": _by_flow("in flight [packets]", "packets sent and not acknowledged, from captures", Run.in_flight),
        "queue": Panel(
            "queue [packets]",
            "packets waiting in the bottleneck's FIFO at router r1; the packet being sent is not counted",
            lambda run: {QUEUE: run.queue_pkts},
            lambda run: [("buffer", float(run.settings.buffer_pkts)), *_targets(run, 1 / run.packet_ms)],
        ),
        "queue-ms": Panel(
            "queue [ms]",
            "time that the bytes waiting in the bottleneck's FIFO take to leave",
            lambda run: {QUEUE: run.queue_ms},
            lambda run: _targets(run, 1),
        ),
        "waited-ms": _by_flow("waited [ms]", "time each packet waited in the queue", Run.waited_ms, _targets_ms),
        "estimate-ms": _by_flow(
            "estimated queuing delay [ms]",
            "queuing delay as the controller estimates it",
            Run.queuing_delay_ms,
            _targets_ms,
        ),
        "rtt-ms": _by_flow("smoothed RTT [ms]", "round-trip time, smoothed by the sender", Run.srtt_ms),
        "path": Panel(
            "path [ms]",
            "delay of the path, and how much it is spread at random, where the scenario changes it",
            _path,
        ),
    }


def _by_flow(
    axis: str, says: str, of_flow: Callable[[Run, str], Series], levels: Callable[[Run], Levels] = lambda _: []
) -> Panel:
    return Panel(axis, says, lambda run: _each(run, lambda flow: of_flow(run, flow)), levels, of_flow=of_flow)


def _each(run: Run, series: Callable[[str], Series]) -> Lines:
    """Series of those flows that have it."""
    lines: Lines = {}
    for flow in run.settings.flows:
        try:
            lines[flow.name] = _until_its_end(series(flow.name), run, flow)
        except NotMeasuredError:
            continue
    return lines


def _until_its_end(series: Series, run: Run, flow: Flow) -> Series:
    """Leave out what follows the end of a flow: it was stopped or complete, and nothing of it is on its way."""
    completed_ns = (run.summary.maybe("flows", dict) or {}).get(flow.name, {}).get("completed_ns")
    end_s = flow.stop_s if completed_ns is None else completed_ns / NS
    if end_s >= run.ends_s:
        return series
    moving = np.flatnonzero(series.values)
    after = series.times[moving[-1] + 1 :] if len(moving) else series.times[:1]
    return series.window(None, max(end_s, series.start, float(after[0] if len(after) else series.times[-1])))


def _rate(run: Run, flow: str, step_s: float) -> Series:
    """Give the rate behind the bottleneck; what is only captured at hosts as it arrives, not as it is acknowledged.

    Acknowledged bytes jump when a loss is repaired, beyond what the link carries.
    """
    taps = run.settings.captures
    rate = run.arriving if "bottleneck-out" not in taps and {"sender", "receiver"} <= set(taps) else run.rate
    return rate(flow, step_s).window(run.flow(flow).start_s).scaled(1e-6)


def _sent_rate(run: Run, flow: str, step_s: float) -> Series:
    return run.sent_rate(flow, step_s).window(run.flow(flow).start_s).scaled(1e-6)


def _rates(run: Run, rate: Callable[[str], Series]) -> Lines:
    """Give the rate of each flow and, on top, the capacity where that changes: a flow that fills the link hides it."""
    rates = _each(run, rate)
    return {**rates, CAPACITY: run.capacity_bps.scaled(1e-6)} if run.settings.rate_steps else rates


def _path(run: Run) -> Lines:
    lines: Lines = {}
    for name, changes in run.settings.path_steps.items():
        times, values = np.array(changes, float).T
        lines[name] = Series(times, values, run.ends_s)
    return lines


def _windows(run: Run) -> Lines:
    windows = _each(run, run.cwnd)
    if len(windows) > 1:
        total, *others = windows.values()
        for other in others:
            total = total.plus(other)
        return {SUM: total, **windows}  # what is drawn first is below the others
    return windows


def _targets(run: Run, factor: float) -> Levels:
    """Targets of the flows that have one, each once; `factor` from milliseconds to the axis."""
    targets = {flow.params["target_ns"] for flow in run.settings.flows if flow.params.get("target_ns") is not None}
    return [("target", target / 1e6 * factor) for target in sorted(targets)]


def _targets_ms(run: Run) -> Levels:
    return _targets(run, 1)


NAMES: Final = tuple(_named(1.0))
"""The panels that have a name."""
