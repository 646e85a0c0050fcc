"""What each seed says of a claim: a dot beside the paper's value and what its rule allows, or whether it holds."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup

from analysis.figures.style import MINUS, text_width
from analysis.report.formats import measured_value, number, paper_value, power_of_ten, times_ten
from analysis.report.named_numbers import axis_name
from analysis.units import unit_of
from common.counts import plural

WIDTH: Final = 320
HEIGHT: Final = 64
SIDE: Final = 14  # room for half a label
AXIS: Final = 34  # y of the line
DIGITS: Final = 48  # y of the numbers below it
DOTS: Final = 18  # y of the seeds' row
DECADES: Final = 30  # values that differ by more than this factor stand on a logarithmic axis
MANY: Final = 4  # decimals of an axis
AIR: Final = 0.08
SMALLEST_SPAN: Final = 0.01  # on each side, as a part of the largest number: fewer digits mean nothing


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    is_log: bool

    def __call__(self, value: float) -> float:
        """Give the x of a value, px; what lies outside stands at the edge."""
        map_: Callable[[float], float] = math.log10 if self.is_log else float
        low, high = map_(self.low), map_(self.high)
        at = (map_(max(value, self.low)) - low) / (high - low)
        return round(SIDE + (WIDTH - 2 * SIDE) * min(max(at, 0.0), 1.0), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Give a few round values with their labels, which all have the same digits."""
        if self.is_log:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [(10.0**power, power_of_ten(power)) for power in powers][:: max(1, len(powers) // 4)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        for factor in (1, 2, 5, 10):
            first, last = math.ceil(self.low / (step * factor)), math.floor(self.high / (step * factor))
            if last - first < 4:
                values = [index * step * factor for index in range(first, last + 1)]
                return list(zip(values, _labels(values, step * factor), strict=True))
        return []


def strip(claim: Mapping[str, Any]) -> Markup:
    """Draw the strip of a claim that compares a number, as inline SVG; nothing for others.

    A standard deviation is one number of all seeds: its interval is drawn, without dots.
    """
    measured, zones = claim.get("measured"), claim.get("zones")
    if not measured or measured["mean"] is None or not zones:
        return Markup()
    is_std = claim.get("statistic") == "std"
    seeds = [] if is_std else [value for value in measured["by_seed"].values() if not isinstance(value, str)]
    centre = measured["std"] if is_std else measured["mean"]
    interval = claim.get("measured_interval")
    if claim.get("statistic") == "fraction-in-mode" or centre is None:
        interval = None
    paper = _paper(claim)
    shown = [
        *paper,
        *seeds,
        *_ends(zone(zones, "holds")),
        *(interval or []),
        *([] if centre is None else [centre]),
    ]
    scale = _scale([value for value in shown if math.isfinite(value)])
    parts = [
        f'<svg class="strip" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_escape(_text(claim, seeds))}">',
        *(_zone(name, _ends(zone(zones, name)), scale) for name in ("nearly", "holds")),
        f'<path class="axis" d="M{SIDE} {AXIS}H{WIDTH - SIDE}"/>',
    ]
    for tick, label in scale.ticks():
        x, half = scale(tick), text_width(label) / 2
        inside = round(min(max(x, half), WIDTH - half), 1)
        parts.append(f'<path class="axis" d="M{x} {AXIS}v4"/><text x="{inside}" y="{DIGITS}">{label}</text>')
    parts.append(f'<text x="{WIDTH / 2:.0f}" y="{HEIGHT - 3}">{_escape(_title(claim))}</text>')
    ends = sorted({scale(bound) for bound in paper})
    if len(ends) == 2:
        parts.append(f'<path class="paper-range" d="M{ends[0]} 8H{ends[1]}"/>')
    parts += [f'<path class="paper-value" d="M{x} 3V{AXIS}"/>' for x in ends]
    if interval:
        low, high = (scale(bound) if math.isfinite(bound) else WIDTH - SIDE for bound in interval)
        parts.append(f'<path class="interval" d="M{low} {DOTS + 9}H{high}"/>')
    parts += [f'<circle cx="{scale(value)}" cy="{DOTS}" r="3"/>' for value in seeds]
    if centre is not None and len(seeds) != 1:
        parts.append(f'<path class="mean" d="M{scale(centre)} {DOTS + 5}v8"/>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 (numbers, and text that is escaped above)


def _title(claim: Mapping[str, Any]) -> str:
    """Say what the axis shows, with its unit in brackets."""
    name, unit = axis_name(claim), unit_of(claim.get("unit"))
    spread = "standard deviation of " * (claim.get("statistic") == "std")
    return f"{spread}{name}" + (f" [{unit}]" if unit else "")


def _text(claim: Mapping[str, Any], seeds: list[float]) -> str:
    ends = [number(end) for end in _ends(zone(claim["zones"], "holds")) if math.isfinite(end)]
    text = f"Paper {paper_value(claim) or 'without a value'}, bounds of holds {' and '.join(ends) or 'open'}, "
    text += f"measured {measured_value(claim)}"
    return text + (f", seeds from {number(min(seeds))} to {number(max(seeds))}" if len(seeds) > 1 else "")


def held_strip(claim: Mapping[str, Any]) -> Markup:
    """Draw a mark for each seed of a statement, ten a row, with the seeds' numbers below; nothing for others."""
    held: dict[str, bool] = dict(sorted((claim.get("held") or {}).items(), key=lambda item: int(item[0])))
    if not held:
        return Markup()
    fails = [seed for seed, holds in held.items() if not holds]
    label = f"holds in {len(held) - len(fails)} of {plural(len(held), 'seed')}"
    label += f"; not in {', '.join(fails)}" if fails else ""
    marks = "".join(
        f'<i class="{"holds" if holds else "fails"}" title="seed {seed}">{"✓" if holds else "✗"}</i>'
        for seed, holds in held.items()
    )
    seeds = [*held]
    axis = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    return Markup(  # noqa: S704 (numbers only)
        f'<span class="seeds"><span class="marks" role="img" aria-label="{label}">{marks}</span>'
        f'<span class="soft small">{axis}</span></span>'
    )


def zone(zones: Mapping[str, Any], kind: str) -> list[float | None]:
    """Give the zone of a kind as far as a number can lie in it: what differs by factors is never below zero."""
    low, high = zones[kind]
    return [max(low, 0.0) if zones["is_ratio"] and low is not None else low, high]


def _ends(ends: list[float | None]) -> list[float]:
    """Give the ends of a zone, of which one may be open."""
    low, high = ends
    return [-math.inf if low is None else low, math.inf if high is None else high]


def _paper(claim: Mapping[str, Any]) -> list[float]:
    interval = claim.get("interval")
    printed = interval if isinstance(interval, list) else [claim.get("paper", "")]
    return [0.0 if number == "-" else float(number) for number in printed if number]


def _scale(values: list[float]) -> _Scale:
    low, high = min(values), max(values)
    if low > 0 and high / low > DECADES:
        return _Scale(low / 1.5, high * 1.5, True)
    air = max(AIR * (high - low), abs(high) * SMALLEST_SPAN) or 1.0
    return _Scale(low - air, high + air, False)


def _labels(values: list[float], step: float) -> list[str]:
    """Write the numbers of an axis in one notation: decimals, or where these would be many parts of a power of ten."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    largest = max(map(abs, values), default=0.0)
    power = math.floor(math.log10(largest) + 1e-9) if largest else 0
    if decimals < MANY or power >= -2:
        texts = [f"{value:,.{decimals}f}" if value else "0" for value in values]
    else:
        parts = [f"{value / 10.0**power:.{decimals + power}f}" for value in values]
        texts = [part + times_ten(power) if value else "0" for part, value in zip(parts, values, strict=True)]
    return [text.replace("-", MINUS) for text in texts]


def _zone(name: str, ends: list[float], scale: _Scale) -> str:
    low, high = (scale(bound) for bound in ends)
    return f'<rect class="zone-{name}" x="{low}" y="8" width="{max(high - low, 1):.1f}" height="{AXIS - 8}"/>'


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
