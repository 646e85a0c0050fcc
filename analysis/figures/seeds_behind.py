"""How many seeds of the full run stand behind a number, as the reference set's claims and the scenario tell."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from analysis.claims.reads import Cell, cells_of
from scenarios.resolve import COMPLETE, expand

Counts = tuple[int, int]  # at least so many seeds, and at most


def said(counts: Collection[int]) -> str:
    """Write numbers of seeds: "one seed", "20 seeds", "5 to 20 seeds"; nothing for none."""
    if not counts:
        return ""
    least, most = min(counts), max(counts)
    if least == most:
        return "one seed" if most == 1 else f"{most} seeds"
    return f"{least} to {most} seeds"


def of_claim(kept: Mapping[str, Any]) -> int:
    """Give the number of seeds that a claim of the reference set has."""
    return max(len(kept.get("by_seed") or {}), len(kept.get("held") or {}))


def by_cell(measured: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[Cell, Counts]:
    """Give the number of seeds of each cell in the reference set.

    A cell has those of its scenario, and more where a claim about it has more. A claim that computes the names of its
    cells is at least about those that it read here, and at most about all. So a cell has at least and at most so many
    seeds. One of both is right if the sum over the cells is the number of runs in the set; so is the least where all
    cells have as many seeds as some claim, or more.
    """
    scenario = Path(measured["experiment"].get("scenario") or "")
    if not scenario.is_file():
        return {}
    own = measured["experiment"]["runs_of"]
    least = {(own, cell.name): len(cell.seeds) for cell in expand(scenario, COMPLETE)}
    most = dict(least)
    for claim in measured["claims"]:
        if "same_as" in claim:
            continue  # another experiment counts it
        cells, seeds = cells_of(claim, measured, most), of_claim(kept["claims"].get(claim["id"]) or {})
        read = {(experiment, cell) for experiment, cell in claim.get("reads", [])} & least.keys()
        for cell in cells:
            most[cell] = max(most[cell], seeds)
        for cell in read if len(cells) == len(most) else cells:
            least[cell] = max(least[cell], seeds)
    claimed = sorted({of_claim(claim) for claim in kept["claims"].values()})
    alike = [{cell: max(seeds, fewest) for cell, seeds in least.items()} for fewest in claimed]
    for told in (most, least, *alike):
        if sum(told.values()) == kept.get("runs"):
            return {cell: (seeds, seeds) for cell, seeds in told.items()}
    return {cell: (least[cell], most[cell]) for cell in most}


def of_cells(number: Mapping[str, Any], measured: Mapping[str, Any], seeds: Mapping[Cell, Counts]) -> list[int]:
    """Give how many seeds all cells have that a number reads: one number, or two bounds; nothing if none is known."""
    counts = [seeds[cell] for cell in cells_of(number, measured, seeds)] if seeds else []
    return sorted({min(ends) for ends in zip(*counts, strict=True)})
