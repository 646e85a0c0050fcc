"""What a paper says about one quantity, with the digits it prints. Knows nothing of the registry."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

Statistic = Literal["mean", "std", "fraction-in-mode"]
STATISTICS: Final[tuple[Statistic, ...]] = ("mean", "std", "fraction-in-mode")
Bound = Literal["at most", "at least", "above", "below"]
BOUNDS: Final[tuple[Bound, ...]] = ("at most", "at least", "above", "below")


@dataclass(frozen=True)
class Expected:
    """One printed number, or a range of them.

    Numbers are strings as the paper prints them, since "0.10" says more than "0.1".
    """

    printed: str
    unit: str | None
    metric: str
    statistic: Statistic = "mean"
    upper: str | None = None  # the upper end, where the text leaves a range open and `printed` is its lower end
    hedged: bool = False  # "about", "soon after"
    half_width: float | None = None  # of the paper's own 95 % interval, in `unit`
    runs: int | None = None  # how many runs the paper made for the number
    alternatives: tuple[str, ...] = ()  # other plausible readings of a scan that is hard to read
    bound: Bound | None = None  # what the paper says of the number: it is one end, and the other is open
    since: float | None = None  # of an instant: where the paper counts from, in `unit`
    grain: float = 0.0  # what one packet more or less changes in one run, in `unit`

    def readings(self) -> "list[ScanReading]":
        """Return the printed value first, then its alternatives."""
        return [reading(self.printed, self.upper), *(reading(other) for other in self.alternatives)]


@dataclass(frozen=True)
class ScanReading:
    """One reading of the scan: a number, or a range from `low` to `high`; each end may be off by `rounding`."""

    low: float
    high: float
    rounding: float

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


def reading(low: str, high: str | None = None) -> ScanReading:
    """Read a printed number, or the two ends of a printed range."""
    high = high or low
    return ScanReading(float(low), float(high), max(half_last_digit(low), half_last_digit(high)))


def half_last_digit(printed: str) -> float:
    """Half a unit of the last digit: 0.005 for "0.10", 0.5 for "97", 0.05e-4 for "4.1e-4"."""
    exponent = Decimal(printed).as_tuple().exponent
    assert isinstance(exponent, int)  # noqa: S101 (only infinity and nan have letters there)
    return float(Decimal(5).scaleb(exponent - 1))
