"""A file of budgets, checked before anything runs."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analysis.claims.syntax import NEVER
from analysis.errors import BadInputError
from scenarios import schema
from scenarios.errors import Problem, ScenarioError
from testbed.arguments import most_seeds
from testbed.shared.differences import LEVEL, smallest_p
from testbed.shared.inequalities import Inequality, calls_of_ended, check_words, compared, names_of
from testbed.shared.panel import CLIENT

SCHEMA: Final = Path(__file__).with_name("schema.yaml")
WORDS: Final = "an expression in the words of docs/reference/claims.md and docs/howto/gate.md"


@dataclass(frozen=True)
class Budget:
    """A number and its bound; `cell` is None where every point of the scenario counts.

    `at` begins messages about a field of it, such as "budgets.yaml:3: budgets[0].".
    """

    name: str
    scenario: str
    cell: str | None
    holds: Inequality
    at: str = field(compare=False)

    @property
    def words(self) -> set[str]:
        """The names that it uses."""
        return {node.id for text in self.holds.sides for node in names_of(text)}

    @property
    def ends(self) -> set[str]:
        """The ends of the client that it bounds, so that they alone do not break it; an empty text stands for any."""
        calls = [words for text in self.holds.sides for words in calls_of_ended(text)]
        return {words.get("how", "") for words in calls if words.get("flow") == CLIENT}

    @property
    def most(self) -> bool:
        """Whether it bounds a number from above, so that the largest is the worst."""
        return self.holds.sign.startswith("<")


@dataclass(frozen=True)
class Comparison:
    """A budget that another implementation sets: no number of the client may be worse. The rest is as in Budget."""

    name: str
    scenario: str
    cell: str | None
    other: str
    at: str = field(default="", compare=False)


@dataclass(frozen=True)
class Budgets:
    """A whole file."""

    client: str | None
    seeds: int
    budgets: list[Budget | Comparison]

    def points(self, scenario: str) -> list[str]:
        """Return the points of a scenario that budgets name; none if one of them is about all."""
        cells = [budget.cell for budget in self.budgets if budget.scenario == scenario]
        return [] if None in cells else [cell for cell in cells if cell is not None]

    def others(self) -> dict[str, list[str]]:
        """Return the scenarios, each with the implementations to run in it beside the client."""
        others: dict[str, list[str]] = {budget.scenario: [] for budget in self.budgets}
        for budget in self.budgets:
            if isinstance(budget, Comparison) and budget.other not in others[budget.scenario]:
                others[budget.scenario].append(budget.other)
        return others


def load(path: Path) -> Budgets:
    """Read and check a file. Raises BadInputError that names line and field of everything that is wrong."""
    try:
        document, data = schema.checked(path, SCHEMA)
        listed: list[Budget | Comparison] = []
        problems: list[Problem] = []
        if data["seeds"] > (most := most_seeds()):
            problems.append(document.problem(("seeds",), f"found {data['seeds']}", f"{most} or fewer"))
        for index, entry in enumerate(data["budgets"]):
            at = f"{path}:{document.lines['budgets', index]}: budgets[{index}]."
            if entry["name"] in [budget.name for budget in listed]:
                path_of_name = ("budgets", index, "name")
                problems.append(document.problem(path_of_name, f"found {entry['name']!r} again", "another name"))
            if "no_worse_than" in entry:
                if smallest_p(data["seeds"], data["seeds"]) > LEVEL:
                    allowed = "4 or more, so that a test can show a difference (no_worse_than)"
                    problems.append(document.problem(("seeds",), f"found {data['seeds']}", allowed))
                listed.append(
                    Comparison(entry["name"], entry["scenario"], entry.get("cell"), entry["no_worse_than"], at)
                )
                continue
            try:
                listed.append(_budget(entry, at))
            except ValueError as error:
                allowed = f"{WORDS}, one of < <= > >=, and a bound"
                problems.append(document.problem(("budgets", index, "holds"), str(error), allowed))
        if problems:
            raise ScenarioError(problems)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return Budgets(data.get("client"), data["seeds"], listed)


def unbroken(expression: str, scenario: str, cell: str | None) -> Budgets:
    """Return a budget that measures an expression and that every number keeps, and what never happens, too.

    Raises:
        ValueError: it is no expression, or has unknown words; the message says what was found.
    """
    check_words(expression)
    return Budgets(None, 1, [Budget(expression, scenario, cell, Inequality(expression, expression, "<=", NEVER), "--")])


def _budget(entry: dict[str, Any], at: str) -> Budget:
    holds = Inequality(entry["holds"], *compared(entry["holds"]))
    return Budget(entry["name"], entry["scenario"], entry.get("cell"), holds, at)
