"""Numbers in text by people, compared with the data behind it: what no data shows is marked on the page."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from markupsafe import Markup, escape

from analysis.report.results import ExperimentResult

_NUMBER: Final = re.compile(r"(?<![\w.,/-])\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?(?![\w/])")
_ANYWHERE: Final = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")
# names of claims, figures, sections and cells are no numbers
_NAME: Final = re.compile(
    r"(?:Figs?|sec|eq|par|Table|RFC)\.? ?\(?[\dIVX][\w.()-]*(?: (?:to|and) [\d.]+)?|\be\d\d+\b|`[^`]*`"
)
# the same quantity in percent, in ms or kbit/s
_FACTORS: Final = (1.0, 100.0, 0.01, 1000.0, 0.001)
_BY_HAND: Final = Markup('<u class="by-hand">{}</u>')
# a tooltip would say it neither on a phone nor on paper
_KEY: Final = Markup(' <span class="soft small">({}: by hand; no number here shows it.)</span>').format(
    _BY_HAND.format("dotted")
)
# a line that ends between a number and its unit is read twice
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=%|(?:ms|s|min|packets?|bytes|B|[kM]B|[kM]?bit/s)(?!\w))")
# as small whole numbers count things ("two of the 3 seeds")
_COUNTS: Final = 10


def numbers(text: str) -> Iterator[re.Match[str]]:
    """Find the numbers of a text that say how much; small whole ones count things, and are left out."""
    names = [match.span() for match in _NAME.finditer(text)]
    for match in _NUMBER.finditer(text):
        is_named = any(start <= match.start() < end for start, end in names)
        is_count = match[0].isdigit() and int(match[0]) <= _COUNTS
        if not is_named and not is_count:
            yield match


def is_behind(printed: str, values: Iterable[float]) -> bool:
    """Whether a value rounds to the printed digits, in the unit printed or in percent, thousands or thousandths."""
    number = Decimal(printed.replace(",", ""))
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 (only infinity and nan have letters there)
    half, wanted = float(Decimal(5).scaleb(exponent - 1)) * (1 + 1e-9), float(number)
    return any(abs(factor * value - wanted) <= half for value in values for factor in _FACTORS)


def values_of(experiments: Iterable[ExperimentResult]) -> set[float]:
    """Collect the numbers that stand behind text about experiments: the paper's, those measured, the settings."""
    return {value for experiment in experiments for value in leaves(_facts(experiment)) if math.isfinite(value)}


def text_of(cause: Mapping[str, Any]) -> str:
    """Give all that a cause says: its text, and what varied it."""
    return " ".join(filter(None, (cause["text"], cause.get("by"))))


def quoted_by(text: str, experiment: ExperimentResult, others: Iterable[ExperimentResult]) -> list[ExperimentResult]:
    """Give the experiments whose numbers a text about an experiment may quote: that one, and those it names."""
    return [experiment, *(other for other in others if other is not experiment and other.id in text)]


def marked(text: str, values: set[float]) -> Markup:
    """Mark the numbers of a text that nothing measured here shows, and say so; what is between backticks is code.

    No line ends between a number and its unit.
    """
    text = _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text)
    parts, done = [], 0
    for match in numbers(text):
        if not is_behind(match[0], values):
            parts += [_plain(text[done : match.start()]), _BY_HAND.format(match[0])]
            done = match.end()
    return Markup("").join([*parts, _plain(text[done:]), _KEY if parts else ""])


def _plain(text: str) -> Markup:
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 (escaped before)


def _facts(experiment: ExperimentResult) -> list[Any]:
    data = experiment.data
    claims = [
        {name: value for name, value in claim.items() if name not in ("cause", "why", "rule_reason")}
        for claim in experiment.claims
    ]
    names = ("experiment", "also_measured", "settings", "asserted", "figure")
    return [claims, *(data.get(name) for name in names), len(data.get("runs", []))]


def leaves(data: Any) -> Iterator[float]:
    """Find every number in nested data, those inside of text and the lengths of lists among them."""
    waiting = [data]  # generators within generators took three times as long
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            yield from (float(printed.replace(",", "")) for printed in _ANYWHERE.findall(here))
        elif isinstance(here, Mapping):
            waiting += map(str, here)
            waiting += here.values()
        elif isinstance(here, list | tuple):
            yield float(len(here))
            waiting += here
        elif isinstance(here, int | float) and not isinstance(here, bool):
            yield float(here)
