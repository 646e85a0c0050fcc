"""Judges the reference set anew: when a rule changes, the recorded values stay and the verdicts follow."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from analysis.claims import registry
from analysis.claims.registry import Claim, Experiment
from analysis.documents import read_json
from analysis.files import write_text
from analysis.judge import rules
from analysis.judge.findings import JUDGED, WANTED
from analysis.judge.of_claim import judge
from analysis.measure import as_entry
from analysis.reference.files import files
from analysis.reference.kept import as_table, check, judged_of

NEVER = "never"


def rejudge(studies: Iterable[Path], reference: Path, console: Console | None = None) -> int:
    """Give each claim of the reference set the verdict of today's rules; print what changed and return how much.

    A claim that is checked in another way than when it was measured keeps its verdict, and is named.
    """
    console = console or Console()
    changed, recorded = 0, files(reference)
    for folder in studies:
        registry.load_study(folder)  # or else a wrong folder is one without claims
        experiments = [registry.load(file) for file in registry.claims_files(folder)]
        originals = {claim.id: (claim, experiment) for experiment in experiments for claim in experiment.claims}
        for experiment in experiments:
            file = recorded.get(experiment.id)
            if file is None:
                continue
            kept = read_json(file).data
            for name, before, now in _anew(experiment, originals, kept["claims"]):
                console.print(f"{name}: {before} -> {now}", highlight=False, soft_wrap=True)
                changed += 1
            write_text(file, as_table(kept))
    return changed


def _anew(
    experiment: Experiment, originals: Mapping[str, tuple[Claim, Experiment]], kept: dict[str, Any]
) -> Iterator[tuple[str, str, str]]:
    for claim in experiment.claims:
        entry = kept.get(claim.id)
        if entry is None:
            yield claim.id, "not in the reference", "it needs runs"
            continue
        original, where = originals[claim.same_as or claim.id]
        check_today = check(json.loads(json.dumps(claim.data)), experiment.words)
        if entry["check"] != check_today:
            yield claim.id, "checked in another way", "it needs runs"
            continue
        judgement = judgement_of(original, where.words, entry)
        if judgement:
            if judgement.verdict != entry["verdict"]:
                yield claim.id, entry["verdict"], judgement.verdict
            entry["verdict"] = judgement.verdict
            for name in (*JUDGED, WANTED):
                entry.pop(name, None)
            entry |= judged_of(as_entry(judgement))


def judgement_of(claim: Claim, words: Mapping[str, str], kept: Mapping[str, Any]) -> rules.Judgement | None:
    """Judge a claim by the values that a reference set has of it; None for what no values decide."""
    if claim.not_testable or claim.kunit:
        return None
    values = {int(seed): float("inf") if value == NEVER else value for seed, value in (kept["by_seed"] or {}).items()}
    held = {int(seed): holds for seed, holds in (kept["held"] or {}).items()}
    return judge(claim, words, dict(sorted(values.items())), dict(sorted(held.items())))
