"""Decides which cells get more seeds: those of undecided claims, within a budget of virtual time.

The decision depends on verdicts and plans alone, so it is the same on every machine that measures the same.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from analysis.claims.reads import Cell, cells_of
from analysis.verdicts.rules import Verdict

# Part of the first batch's virtual time. Who waited for that on a laptop still waits for half as much again, which buys
# what is cheap: halving every interval would take three times the first batch.
HOUR_S: Final = 3600
BUDGET: Final = 0.5


@dataclass(frozen=True)
class Batch:
    """The first batch of a cell: its number of seeds, and the virtual length of each run."""

    seeds: int
    virtual_s: float


@dataclass
class SeedRequest:
    """The decision.

    `seeds` has the number of seeds for each cell that needs more, and `claims` are the claims that need them. `beyond`
    are the claims beyond the budget, with the virtual seconds that they would cost. `undecidable` are those that the
    allowed number of seeds is not expected to decide.
    """

    seeds: dict[Cell, int] = dataclasses.field(default_factory=dict)
    claims: list[str] = dataclasses.field(default_factory=list)
    beyond: dict[str, float] = dataclasses.field(default_factory=dict)
    undecidable: list[str] = dataclasses.field(default_factory=list)
    first_s: float = 0.0
    spent_s: float = 0.0  # on seeds beyond the first batch, run or asked for before
    virtual_s: float = 0.0  # of the seeds asked for now


def more_seeds(
    measured: Iterable[Mapping[str, Any]], first: Mapping[Cell, Batch], before: Mapping[Cell, int]
) -> SeedRequest:
    """Decide which cells get more seeds.

    Claims that more seeds are expected to decide come before those with a single seed, which says nothing about other
    seeds; among them the cheapest come first, whatever their verdicts are.

    Args:
        measured: the contents of the verdicts.json files of all experiments.
        first: the first batch of each cell; others are not asked for.
        before: seeds of cells that were asked for earlier.
    """
    results = list(measured)
    ran: dict[Cell, set[int]] = {}
    for result in results:
        for run in result["runs"]:
            ran.setdefault((result["experiment"]["runs_of"], run["cell"]), set()).add(run["seed"])
    have = {cell: max(len(seeds), before.get(cell, 0)) for cell, seeds in ran.items() if cell in first}
    request = SeedRequest(
        first_s=sum(first[cell].seeds * first[cell].virtual_s for cell in have),
        spent_s=sum((seeds - first[cell].seeds) * first[cell].virtual_s for cell, seeds in have.items()),
    )

    def cost_s(cells: Mapping[Cell, int]) -> float:
        return sum(max(0, seeds - have[cell]) * first[cell].virtual_s for cell, seeds in cells.items())

    waiting: list[tuple[bool, float, str, dict[Cell, int]]] = []
    for result in results:
        for claim in result["claims"]:
            if "same_as" in claim:
                continue  # the original asks
            if wanted := claim.get("seeds_wanted", 0):
                cells = dict.fromkeys(cells_of(claim, result, have), wanted)
                alone = min((len(ran[cell]) for cell in cells), default=0) < 2
                waiting.append((alone, cost_s(cells), claim["id"], cells))
            elif claim["verdict"] == Verdict.UNDECIDED:
                request.undecidable.append(claim["id"])
    for _, _, name, cells in sorted(waiting, key=lambda batch: batch[:3]):
        virtual_s = cost_s(cells)  # a cheaper claim may have asked for some of these seeds
        if not virtual_s:
            continue
        if request.spent_s + request.virtual_s + virtual_s > BUDGET * request.first_s:
            request.beyond[name] = virtual_s
            continue
        request.virtual_s += virtual_s
        request.claims.append(name)
        more = {cell: seeds for cell, seeds in cells.items() if seeds > have[cell]}
        request.seeds |= more
        have |= more
    return request
