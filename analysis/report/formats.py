"""How numbers and data of verdicts.json read on a page."""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup, escape

from analysis import units
from analysis.figures.style import MINUS
from analysis.judge.verdict import so_many
from common.counts import plural

DASH: Final = "\N{EN DASH}"
DIGITS: Final = 3
_MOST_DIGITS: Final = 6
SMALL: Final = 1e-3  # numbers below it are powers of ten
NARROW: Final = "\N{NO-BREAK SPACE}"
_SUPERSCRIPT: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = DIGITS, *, powers: bool = False) -> str:
    """Give a number for a page: some significant digits, commas; tiny and huge ones as powers of ten.

    With `powers` all below 1 are such, as what stands beside them. Terminals, which lack its minus sign and exponents,
    have `units.three_digits`.
    """
    if value is None:
        return DASH
    if value == 0 or is_next_to_zero(value):
        return "0"
    if not math.isfinite(value):
        return "never"
    size = abs(value)
    if size >= 1e7 or float(f"{size:.{digits}g}") < (1 if powers else SMALL):
        mantissa, _, exponent = f"{size:.{digits - 1}e}".partition("e")
        text = mantissa + times_ten(int(exponent))
    elif value == int(value):
        text = f"{size:,.0f}"
    else:
        rounded = float(f"{size:.{digits}g}")
        decimals = max(0, digits - 1 - _power(rounded))
        text = f"{rounded:,.{decimals}f}"
    return (MINUS if value < 0 else "") + text


def is_next_to_zero(value: float) -> bool:
    """Say whether a number is only there to be none: a zone of what is above 0 begins with the next float."""
    return 0 < abs(value) < sys.float_info.min


def with_unit(value: float | None, unit: str | None, digits: int = DIGITS, *, powers: bool = False) -> str:
    """Give a number and its unit; indices and counts of nothing have none."""
    return _before(unit, number(value, digits, powers=powers))


def in_powers(claim: Mapping[str, Any]) -> bool:
    """Say whether the paper prints a claim's number as a power of ten, as what is compared with it is then."""
    return "e" in str(claim.get("paper") or "")


def texts_with_unit(values: Sequence[float], in_unit: str) -> list[str]:
    """Give numbers with their unit, and so many digits that different ones look different."""
    of_all = (
        digits
        for digits in range(DIGITS, _MOST_DIGITS)
        if len({f"{value:.{digits}g}" for value in values}) == len(set(values))
    )
    digits = next(of_all, _MOST_DIGITS)
    texts = [number(value, digits) for value in values]
    return [text if text == "never" else units.with_unit(text, in_unit) for text in texts]


def paper_value(claim: Mapping[str, Any], *, rounded: bool = True) -> str:
    """Say what the paper prints, with the claim's unit; nothing where it prints no number.

    A mean with its interval is `rounded` as a measured one.
    """
    printed = printed_digits(claim)
    if printed in ("", DASH):
        return printed and "a dash, for none"
    if " ± " in printed and rounded:
        printed = _with_half(float(claim["paper"]), float(claim["interval"]))
    about = f"{claim['bound']} " if claim.get("bound") else ""
    about += "about " if claim.get("approximate") else ""
    return about + _before(claim.get("unit"), printed)


def printed_digits(claim: Mapping[str, Any]) -> str:
    """Give what the paper prints, digit by digit; nothing where it prints no number."""
    printed: str = claim.get("paper") or ""
    interval: str | list[str] | None = claim.get("interval")
    if isinstance(interval, list):
        printed = " to ".join(interval)
    elif printed and interval is not None:
        printed += f" ± {interval}"
    if printed == "-":
        return DASH
    powers = re.sub(r"e(-?\d+)", lambda match: times_ten(int(match[1])), printed)
    return powers.replace("-", MINUS)


def measured_value(claim: Mapping[str, Any]) -> str:
    """Say what was measured in the statistic that the claim speaks of; nothing where no number was."""
    measured = claim.get("measured")
    if not measured:
        return ""
    if measured["mean"] is None:
        return "never"
    unit = claim.get("unit")
    powers = in_powers(claim)
    if claim.get("statistic") == "std":
        return DASH if measured["std"] is None else with_unit(measured["std"], unit, 2, powers=powers)
    if measured["ci95"]:
        return _before(unit, _with_half(measured["mean"], measured["ci95"], powers=powers))
    # an index that is a whole number has decimals as its neighbours have
    is_index = not units.unit_of(unit) and "." in str(claim.get("paper") or "")
    return _before(unit, _mean(measured["mean"], powers=powers, whole=not is_index))


def _before(unit: str | None, number_text: str) -> str:
    if number_text in (DASH, "never"):
        return number_text
    return units.with_unit(number_text, units.unit_of(unit), NARROW)


def _with_half(mean: float, half: float, *, powers: bool = False) -> str:
    """Give a mean to the last digit that the half width of its interval leaves known, but no more than three digits.

    A half width that these digits do not show is left out.
    """
    size = abs(mean)
    if half < max(size, half) * 1e-7:
        return _mean(mean, powers=powers)
    power = _power(max(size, half))
    if not (0 if powers else -3) <= power < 7:
        text = _with_half(mean / 10.0**power, half / 10.0**power)
        return (f"({text})" if "±" in text else text) + times_ten(power)
    decimals = -_power(half) + (half / 10.0 ** _power(half) < 2)  # two digits from 1.0 to 1.9
    most = DIGITS - 1 - power + (_mean(mean) != number(mean))
    if decimals > most and half < 0.5 * 10.0**-most:
        return _mean(mean)
    decimals = min(decimals, most)
    rounded = [f"{round(value, decimals):,.{max(decimals, 0)}f}" for value in (size, half)]
    return (MINUS if mean < 0 else "") + " ± ".join(rounded)


def power_of_ten(power: int) -> str:
    """Give a power of ten as an axis has it: 0.01, 1, 100, and beyond that with an exponent."""
    return f"{10.0**power:g}" if abs(power) <= 2 else f"10{str(power).translate(_SUPERSCRIPT)}"


def times_ten(power: int) -> str:
    """Give what makes a number one of a power of ten."""
    return f" \N{MULTIPLICATION SIGN} 10{str(power).translate(_SUPERSCRIPT)}"


def _power(value: float) -> int:
    return math.floor(math.log10(value))


def _mean(mean: float, *, powers: bool = False, whole: bool = True) -> str:
    """Three digits; one more where these would round away what is missing from all (99.98 %, 0.9998).

    A number that is whole has decimals, too, where it is not one of `whole` numbers: 1.000 beside 0.9998.
    """
    if not whole and 0 < abs(mean) <= 100 and mean == int(mean):
        decimals = DIGITS - 1 - _power(abs(mean)) + (abs(mean) in (1, 100))
        return f"{MINUS if mean < 0 else ''}{abs(mean):.{decimals}f}"
    text = number(mean, powers=powers)
    return number(mean, DIGITS + 1) if text in ("100", "1.00") and mean not in (1, 100) else text


def count(held: Mapping[str, bool] | None) -> str:
    """Say in how many seeds a predicate held."""
    if not held:
        return ""
    yes = sum(held.values())
    if len(held) == 1:
        return "it holds in the one seed" if yes else "it does not hold in the one seed"
    return f"it holds in {yes} of {len(held)} seeds"


def result_text(claim: Mapping[str, Any]) -> str:
    """Say what decides a claim: in how many seeds its predicate held, or its number."""
    return count(claim.get("held")) or measured_value(claim)


def reading_verdicts(claims: Iterable[Mapping[str, Any]], title: str) -> str:
    """Count the verdicts that another reading of the text gives, such as `3 hold, 1 open`."""
    verdicts = (
        other["verdict"] for claim in claims for other in claim.get("by_reading", []) if other["title"] == title
    )
    return ", ".join(so_many(number, verdict) for verdict, number in sorted(Counter(verdicts).items()))


def with_code(text: str) -> Markup:
    """Set what stands between backticks as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 (escaped before)


def sentence(text: str) -> str:
    """Begin with a capital and end with one full stop."""
    text = text.strip()
    return text[:1].upper() + text[1:].removesuffix(".") + "."


def first_sentence(text: str) -> tuple[str, str]:
    """Part a text behind its first sentence: what stands on the card, and what is folded away."""
    end = re.search(r"(?<![ .][a-z]\.)(?<!Fig\.)(?<!Figs\.)(?<!sec\.)(?<!eq\.)(?<=[.!?]) (?=[A-Z\"“])", text)
    return (text, "") if end is None else (text[: end.start()], text[end.end() :])


def head(text: str) -> str:
    """Give the first sentence of a text."""
    return first_sentence(text)[0]


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
    of_kind: dict[str, int] = {}
    for seed, why in unknown.items():
        kind = re.sub(r"seed \d+", "seed", why)
        first.setdefault(kind, f"seed {seed}, {why}")
        of_kind[kind] = of_kind.get(kind, 0) + 1
    return "; ".join(
        text + (f" (and {of_kind[kind] - 1} more)" if of_kind[kind] > 1 else "") for kind, text in first.items()
    )


def slug(text: str) -> str:
    """Make a name for a style sheet."""
    return text.replace(" ", "-")


def plain(value: Any) -> str:
    """Write nested data of the provenance or of parameters in one line."""
    if isinstance(value, dict):
        return ", ".join(_named(name, part) for name, part in value.items())
    if isinstance(value, list):
        return "; ".join(plain(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _named(name: str, value: Any) -> str:
    if name.endswith("_ns") and isinstance(value, int):
        return f"{name.removesuffix('_ns')}: {value / 1e6:g} ms"
    return f"{name}: {plain(value)}"


FILTERS: Final[dict[str, Callable[..., str]]] = {
    function.__name__: function
    for function in (
        with_code,
        number,
        with_unit,
        paper_value,
        measured_value,
        reading_verdicts,
        sentence,
        head,
        duration,
        rate,
        reasons,
        slug,
        plural,
        so_many,
        plain,
    )
}
