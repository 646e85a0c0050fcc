"""The words of alternative texts: the axes, names and main values of a picture, for readers who do not see it."""

import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Final

from analysis.figures import style
from analysis.figures.bands import Band
from analysis.figures.plot import Plot

MOST: Final = 24  # values in a text; the others are counted
MOST_NAMES: Final = 6  # that its first sentence lists

Part = tuple[str, Sequence[tuple[str, str]]]  # an axis or a plot, and in it each name with its values


def of_file(svg: Path) -> str:
    """Give the text that a drawn picture carries."""
    match = re.search(r'<svg[^>]*? aria-label="([^"]*)"', svg.read_text(encoding="utf-8"))
    return unescape(match[1]) if match else ""


def picture(axes: str, how: str, parts: Sequence[Part]) -> str:
    """Say what a picture shows: its axes and names in the first sentence, then what the values are, then the values."""
    shown = [part for part in parts if part[1]][:MOST]
    room = max(1, MOST // len(shown)) if shown else 0
    names = dict.fromkeys(name for _, says in parts for name, _ in says if name)
    sentences = [f"{axes}; {_listed(list(names), MOST_NAMES, ', ')}" if names else axes, how]
    sentences += [_part(called, says, room) for called, says in shown]
    if beyond := sum(bool(says) for _, says in parts) - len(shown):
        sentences.append(f"And {beyond} more plots")
    return " ".join(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in sentences)


def _part(called: str, says: Sequence[tuple[str, str]], room: int) -> str:
    values = _listed([f"{name} {value}".strip() for name, value in says], room, "; ")
    return f"{called}: {values}" if called else values


def _listed(texts: Sequence[str], room: int, between: str) -> str:
    beyond = len(texts) - room
    return between.join(texts[:room]) + (f"{between}and {beyond} more" if beyond > 0 else "")


def spread(low: float, middle: float, high: float) -> str:
    """Write a median with its range: "12.3 (11 to 13)"."""
    least, most = style.number(low), style.number(high)
    return style.number(middle) + (f" ({least} to {most})" if least != most else "")


def course(points: Sequence[tuple[float, float]]) -> str:
    """Say how a curve goes: where it begins and ends, and what lies between that is beyond both."""
    ordered = sorted(points)
    ends = ordered[:1] + ordered[1:][-1:]
    text = " to ".join(f"{style.number(y)} at {style.number(x)}" for x, y in ends)
    for word, (x, y) in (("at least", min(ordered, key=_height)), ("at most", max(ordered, key=_height))):
        if y not in (at_end for _, at_end in ends):
            text += f", {word} {style.number(y)} at {style.number(x)}"
    return text


def over_time(plots: Sequence[tuple[str | None, Sequence[Plot]]], begin_s: float, end_s: float) -> str:
    """Say what plots over time show; they stand one above the other, in columns that may have a heading."""
    axes = dict.fromkeys(drawn.axis for _, column in plots for drawn in column)
    parts = [
        (
            f"{heading}, {drawn.axis}" if heading else drawn.axis,
            [(line.label, _thirds(line.band)) for line in drawn.lines],
        )
        for heading, column in plots
        for drawn in column
    ]
    head = f"{', '.join(axes)} over {style.number(begin_s)} to {style.number(end_s)} s"
    return picture(head, "Values are the medians of the first, middle and last third, and the largest value", parts)


def _thirds(band: Band) -> str:
    each = len(band.middle) // 3
    medians = []
    for place in range(3):
        there = sorted(float(value) for value in band.middle[place * each : (place + 1) * each] if value == value)
        medians.append(style.number(there[len(there) // 2]) if there else "nothing")
    highest = max((float(value) for value in band.high if value == value), default=0.0)
    return f"{', '.join(medians)}, at most {style.number(highest)}"


def _height(point: tuple[float, float]) -> float:
    return point[1]
