"""Says what a claim is by each reading of a scan that is hard to read."""

import math
from collections.abc import Mapping
from typing import Any

from analysis.judge.of_claim import by_print
from analysis.judge.verdict import Verdict
from analysis.report.formats import paper_value


def by_scan(claim: Mapping[str, Any]) -> str:
    """Say what each reading gives, such as "open: read as 720 s: nearly, read as 840 s: does not hold".

    Nothing where all readings give the same verdict, and for a claim that is not judged or only looked at.
    """
    measured = claim.get("measured")
    if not (claim.get("alternatives") and measured) or claim.get("is_look") or claim["verdict"] == Verdict.UNTESTABLE:
        return ""
    values = {int(seed): math.inf if value == "never" else value for seed, value in measured["by_seed"].items()}
    readings: dict[Verdict, list[str]] = {}
    for printed, verdict in by_print(claim, values):
        readings.setdefault(verdict, []).append(paper_value({"paper": printed, "unit": claim.get("unit")}))
    if len(readings) == 1:
        return ""
    each = [f"read as {' or '.join(some)}: {verdict}" for verdict, some in readings.items()]
    return f"{Verdict(claim['verdict'])}: {', '.join(each)}"
