"""A paper's table as a table of the page: in each field both values, and a link to the claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.figures.in_reference import seeds_text
from analysis.report.beside import Beside
from analysis.report.cards import name_of
from analysis.report.formats import DASH, measured_value, paper_value
from analysis.report.results import NOT_HERE, state_of


@dataclass(frozen=True)
class TableField:
    """A field; `value` is what the column is sorted by, `there` what the reference set has beside a look.

    That is verdict and number, of `seeds_there` seeds.
    """

    claim: str
    paper: str
    simulated: str  # in the first reading that the simulator ran
    measured: str
    state: str
    value: float | None
    there: tuple[str, str] | None
    seeds_there: int = 0
    is_std: bool = False
    counts: bool = True


@dataclass(frozen=True)
class PageTable:
    """Heads of the columns, and rows of a label and fields, None for an empty one."""

    columns: list[str]
    rows: list[tuple[str, list[TableField | None]]]

    def caption(self, is_quick: bool) -> str:
        """Say what a cell shows."""
        parts = ["Each cell shows the paper's value, "]
        parts += ["that of ns-2, the paper's simulator, where it ran, "] if self.has_simulator else []
        parts += ["that of one seed" if is_quick else "the measured one"]
        parts += [" with its verdict" if self.is_judged else ", not judged at this size"]
        if self.seeds_there:
            verdict = "" if self.is_judged else " with its verdict"
            brackets = " (in brackets)" if self.has_unlike_seeds else ""
            deviation = ", or a standard deviation" if self.has_std else ""
            parts += [f", and that of the reference set{verdict}, of {self.seeds_there}{brackets}: "]
            parts += [f"a mean ± half its 95 % interval{deviation}"]
        return "".join([*parts, "; it links to its claim.", self._uncounted()])

    def _uncounted(self) -> str:
        """Say of columns that do not count where the reason stands."""
        is_in_part = not all(map(self.counts, self.columns))
        return " Columns that do not count decide nothing; their claims say why." if is_in_part else ""

    def counts(self, column: str) -> bool:
        """Whether a field of a column counts for a verdict."""
        index = self.columns.index(column)
        fields = [fields[index] for _, fields in self.rows]
        return any(field.counts for field in fields if field) or not any(fields)

    @property
    def is_judged(self) -> bool:
        """Whether a field of these runs has a verdict or agrees or not in one seed."""
        return any(field and field.state != NOT_HERE for _, fields in self.rows for field in fields)

    @property
    def has_simulator(self) -> bool:
        """Whether a field has a number of the paper's simulator."""
        return any(field and field.simulated for _, fields in self.rows for field in fields)

    @property
    def seeds_there(self) -> str:
        """Of how many seeds the fields of the reference set are: "20 to 100 seeds"; nothing without these."""
        return seeds_text(self._counts)

    @property
    def has_unlike_seeds(self) -> bool:
        """Whether fields of the reference set have different numbers of seeds."""
        return len(self._counts) > 1

    @property
    def has_std(self) -> bool:
        """Whether a field is a standard deviation."""
        return any(field and field.is_std for _, fields in self.rows for field in fields)

    @property
    def _counts(self) -> set[int]:
        fields = (field for _, fields in self.rows for field in fields)
        return {field.seeds_there for field in fields if field and field.seeds_there}


def table(
    figure: Mapping[str, Any], claims: Sequence[Mapping[str, Any]], reference: Beside | None = None
) -> PageTable | None:
    """Give the table that a figure of kind `table` declares; None for other kinds."""
    if figure.get("kind") != "table" or not figure["rows"]:
        return None
    by_name = {name_of(claim): claim for claim in claims}
    rows = [
        (
            row["label"].replace("\n", ", "),
            [_field(by_name[name], reference) if name else None for name in row["claims"]],
        )
        for row in figure["rows"]
    ]
    return PageTable([column.replace("\n", " ") for column in figure["columns"]], rows)


def _field(claim: Mapping[str, Any], reference: Beside | None) -> TableField:
    measured = claim.get("measured") or {}
    # the column's head has the unit
    bare = {**claim, "unit": None}
    is_for_now = claim.get("is_look") or state_of(claim) == NOT_HERE
    there = reference.entry(bare) if reference and is_for_now else None
    return TableField(
        claim=name_of(claim),
        paper=DASH if claim.get("paper") == "-" else paper_value(bare),
        simulated=next((measured_value({**bare, **one}) for one in claim.get("simulated", [])), ""),
        measured=measured_value(bare),
        state=state_of(claim),
        value=measured.get("std" if claim.get("statistic") == "std" else "mean"),
        there=(there["verdict"], there["text"]) if there else None,
        seeds_there=there["seeds"] if there else 0,
        is_std=claim.get("statistic") == "std",
        counts="role" not in claim,
    )
