"""Agreement per claim between results of several machines."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from analysis.report.beside import Beside
from analysis.report.cards import page_of
from analysis.report.formats import result_text
from analysis.report.results import ExperimentResult, state_of
from common.counts import plural


def table(experiments: Sequence[ExperimentResult], others: Sequence[Beside]) -> dict[str, Any]:
    """Give what the page of machines shows: rows of claims that differ and that agree, and counts for each result."""
    rows = []
    counted: list[Counter[str]] = [Counter() for _ in others]
    for experiment in experiments:
        for claim in experiment.counted:
            there = [machine.entry(claim) for machine in others]
            for counter, entry in zip(counted, there, strict=True):
                if entry:
                    counter["same_numbers"] += entry["same_numbers"]
                    counter["agree" if entry["agrees"] else "differ"] += 1
            known = [entry for entry in there if entry]
            agreeing = sum(entry["agrees"] for entry in known)
            rows.append(
                {
                    "link": page_of(claim["id"]),
                    "name": claim["id"],
                    "title": claim["title"],
                    "state": state_of(claim),
                    "text": result_text(claim),
                    "there": there,
                    "agreement": f"{agreeing} of {len(known)}" if known else "",
                    "differing": len(known) - agreeing,
                }
            )
    differing = sorted((row for row in rows if row["differing"]), key=lambda row: -row["differing"])
    agreeing = [row for row in rows if not row["differing"]]
    counts = list(zip(others, counted, strict=True))
    return {
        "title": _title(len(differing), sum(bool(row["agreement"]) for row in rows)),
        "differing": differing,
        "agreeing": agreeing,
        "columns": others,
        "agreement": counts,
    }


def _title(differing: int, compared: int) -> str:
    """Say what came out."""
    if not compared:
        return "No claim was measured on two machines"
    if not differing:
        return f"The machines agree about {plural(compared, 'claim')}"
    return f"Machines have different verdicts for {differing} of {plural(compared, 'claim')}"
