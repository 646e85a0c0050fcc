"""How numbers and data of verdicts.json read on a page."""

import re
from collections.abc import Callable
from typing import Any, Final


def number(value: float | None, digits: int = 4) -> str:
    """Some significant digits, without a power of ten where a plain number is as short."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:.{digits}g}"
    if "e" in text and 1 <= abs(value) < 1e7:
        text = f"{value:.0f}"
    return text.replace("-", "\N{MINUS SIGN}")


def with_unit(value: float | None, unit: str | None) -> str:
    """Give a number and its unit; indices and counts of nothing have none."""
    if unit == "percent":
        return number(value) + " %"
    return number(value) if unit in (None, "", "1", "ratio") else f"{number(value)} {unit}"


def paper_value(claim: dict[str, Any]) -> str:
    """Say what the paper prints, digit by digit; nothing where it prints no number."""
    printed: str | None = claim.get("paper")
    interval: str | list[str] | None = claim.get("interval")
    if isinstance(interval, list):
        printed = " to ".join(interval)
    elif printed is not None and interval is not None:
        printed += f" ± {interval}"
    if printed is None:
        return ""
    unit = claim.get("unit")
    about = "about " if claim.get("approximate") else ""
    return about + printed + (" %" if unit == "percent" else "" if unit in (None, "1", "ratio") else f" {unit}")


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    if seconds < 120:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def rate(bits: float) -> str:
    """Give bits per second with the prefix that keeps it short."""
    for size, name in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if bits >= size:
            return f"{bits / size:g} {name}"
    return f"{bits:g} bit/s"


def reasons(unknown: dict[str, str]) -> str:
    """Say why seeds have no number, each reason once; what a reason says of its own seed is left to the first."""
    first: dict[str, str] = {}
    count: dict[str, int] = {}
    for seed, why in unknown.items():
        kind = re.sub(r"seed \d+", "seed", why)
        first.setdefault(kind, f"seed {seed}, {why}")
        count[kind] = count.get(kind, 0) + 1
    return "; ".join(
        text + (f" (and {count[kind] - 1} more)" if count[kind] > 1 else "") for kind, text in first.items()
    )


def slug(text: str) -> str:
    """Make a name for a style sheet."""
    return text.replace(" ", "-")


def plain(value: Any) -> str:
    """Write nested data of the provenance or of parameters in one line."""
    if isinstance(value, dict):
        return ", ".join(_named(name, one) for name, one in value.items())
    if isinstance(value, list):
        return "; ".join(plain(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _named(name: str, value: Any) -> str:
    if name.endswith("_ns") and isinstance(value, int):
        return f"{name.removesuffix('_ns')}: {value / 1e6:g} ms"
    return f"{name}: {plain(value)}"


FILTERS: Final[dict[str, Callable[..., str]]] = {
    "reasons": reasons,
    "number": number,
    "with_unit": with_unit,
    "paper_value": paper_value,
    "duration": duration,
    "rate": rate,
    "slug": slug,
    "plain": plain,
}
