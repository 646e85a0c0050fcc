"""The seeds that a reference set has: which claims stay open without them, and the file that asks for them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.claims import registry
from analysis.claims.reads import Cell, cells_of
from analysis.documents import read_json, read_made
from analysis.errors import BadInputError
from analysis.files import write_made
from analysis.reference.rejudge import judgement_of
from analysis.verdicts.rules import Verdict
from analysis.verdicts.seeds import HOUR_S, Batch
from common.counts import plural
from scenarios import CLAIMS, scenario_files
from scenarios.cells import plan
from scenarios.errors import ScenarioError


def request_seeds(studies: Path, reference: Path, out: Path | None, console: Console | None = None) -> None:
    """Say which verdicts of the reference set the first batch of seeds does not reach; ask for their seeds in `out`.

    Its first seeds have the values that a run gives, so what the rules make of them is known before anything runs.
    Larger numbers that stand in the file stay; a file that somebody removed is written anew.
    """
    console = console or Console()
    first = _first_batch(studies)
    kept = read_made(out.parent, out.name) if out and out.exists() else None
    earlier: dict[str, dict[str, int]] = kept.get("seeds", dict) if kept else {}
    have = {(name, cell): max(batch.seeds, earlier.get(name, {}).get(cell, 0)) for (name, cell), batch in first.items()}
    wanted: dict[Cell, int] = {}
    unlike: dict[str, list[str]] = {}
    for claim, seeds, cells in _unlike(studies, reference, have):
        unlike.setdefault(claim.rpartition("/")[0], []).append(claim)
        wanted |= {cell: max(seeds, wanted.get(cell, 0)) for cell in cells}
    more = {cell: seeds - have[cell] for cell, seeds in wanted.items() if seeds > have[cell]}
    hours = sum(seeds * first[cell].virtual_s for cell, seeds in more.items()) / HOUR_S
    for line in _lines(unlike, sum(more.values()), hours, out, reference):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    if out:
        for experiment, cell in more:
            earlier.setdefault(experiment, {})[cell] = wanted[experiment, cell]
        beyond = (kept.maybe("beyond", dict) if kept else None) or {}
        out.parent.mkdir(parents=True, exist_ok=True)
        write_made(out, json.dumps({"seeds": earlier, "beyond": beyond}, indent=1, sort_keys=True) + "\n")


def _first_batch(studies: Path) -> dict[Cell, Batch]:
    files = [file for study in registry.folders_of_studies(studies) for file in scenario_files(study)]
    try:
        planned = plan(files, "complete")
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return {(cell["experiment"], cell["cell"]): Batch(len(cell["seeds"]), cell["virtual_s"]) for cell in planned}


def _unlike(studies: Path, reference: Path, have: Mapping[Cell, int]) -> Iterator[tuple[str, int, set[Cell]]]:
    """Yield each claim to which the seeds of cells give another verdict, its seeds in the reference, and its cells."""
    for file in sorted(studies.glob(f"*/*{CLAIMS}")):
        experiment = registry.load(file)
        kept = reference / f"{experiment.id}.json"
        if not kept.exists():
            continue
        entries = read_json(kept).child("claims").data
        about = {"experiment": {"runs_of": experiment.runs_of, "words": experiment.words}}
        for claim in experiment.claims:
            entry: dict[str, Any] = entries.get(claim.id, {})
            seeds = max(len(entry.get("by_seed") or {}), len(entry.get("held") or {}))
            if claim.same_as or not seeds or entry["verdict"] == Verdict.NOT_TESTABLE:
                continue
            cells = cells_of(claim.data, about, have)
            here = min((have[cell] for cell in cells), default=0)
            if here >= seeds:
                continue
            judgement = judgement_of(claim, experiment.words, _of_first(entry, here))
            if judgement and judgement.verdict != entry["verdict"]:
                yield claim.id, seeds, cells


def _of_first(entry: Mapping[str, Any], seeds: int) -> dict[str, Any]:
    """Return the values of the first seeds of a claim."""
    return {
        kind: {seed: value for seed, value in (entry[kind] or {}).items() if int(seed) <= seeds}
        for kind in ("by_seed", "held")
    }


def _lines(
    unlike: Mapping[str, list[str]], runs: int, hours: float, out: Path | None, reference: Path
) -> Iterator[str]:
    if not unlike:
        yield f"The seeds of the first batch give the verdicts of {reference}."
        return
    claims = plural(sum(map(len, unlike.values())), "claim")
    named = ", ".join(f"{name} ({len(claims)})" for name, claims in sorted(unlike.items()))
    cost = f"{plural(runs, 'more run')}, {hours:.1f} h of virtual time"
    if out:
        yield f"{out} asks for the seeds with which {claims} get the verdicts of {reference}: {cost}."
        return
    yield f"With the first batch of seeds, {claims} will have another verdict than in {reference}, mostly undecided:"
    yield f"  {named}"
    yield f"Their seeds there are {cost}. To run these, too:"
    yield f"  python -m analysis like --studies workflows/studies --reference {reference} --out results/seeds.json"
