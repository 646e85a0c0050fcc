"""A file of budgets, checked before anything runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.judge.statement import LIST, SIGNS, Form, Statement
from analysis.judge.statement import load as load_statements
from scenarios.errors import Problem
from scenarios.load import Document
from testbed.arguments import most_seeds
from testbed.shared.differences import LEVEL, smallest_p
from testbed.shared.vocabulary import NUMBERS, PAGES, problem

FORM: Final = Form(
    head=("client", "seeds"),
    fields=("id", "says", "scenario", "in", "measure", *SIGNS, "no_worse_than"),
    required=("id", "scenario"),
    one_of=("measure", "no_worse_than"),
    words=NUMBERS,
    pages=PAGES,
    check=problem,
)


@dataclass(frozen=True)
class Budgets:
    """A whole file."""

    client: str | None
    seeds: int
    budgets: list[Statement]

    def others(self) -> dict[str, list[str]]:
        """Return the scenarios, each with the implementations to run in it beside the client."""
        named = {(budget.scenario, budget.no_worse_than): None for budget in self.budgets}
        scenarios = dict.fromkeys(scenario for scenario, _ in named)
        return {scenario: [other for of, other in named if of == scenario and other] for scenario in scenarios}


def load(path: Path) -> Budgets:
    """Read and check a file. Raises BadInputError that names line and field of everything that is wrong."""
    head, statements = load_statements(path, FORM, _problems)
    return Budgets(head.get("client"), head["seeds"], statements)


def _problems(document: Document) -> Iterator[Problem]:
    seeds = document.data.get("seeds", 1)
    if seeds > (most := most_seeds()):
        yield document.problem(("seeds",), f"found {seeds}", f"{most} or fewer")
    elif any("no_worse_than" in entry for entry in document.data[LIST]) and smallest_p(seeds, seeds) > LEVEL:
        yield document.problem(
            ("seeds",), f"found {seeds}", "4 or more, so that a test can show a difference (no_worse_than)"
        )
