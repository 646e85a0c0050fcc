"""Says what a claim is by each reading of a scan that is hard to read."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from analysis.judge import rules
from analysis.judge.of_claim import by_print, expected
from analysis.judge.tolerances import Zones
from analysis.judge.verdict import Verdict
from analysis.report.formats import paper_value


def by_scan(claim: Mapping[str, Any]) -> str:
    """Say what each reading gives, such as "open: read as 720 s: nearly, read as 840 s: does not hold".

    Nothing where all readings give the same verdict, and for a claim that is not judged or only looked at.
    """
    measured = claim.get("measured")
    if not (claim.get("alternatives") and measured) or claim.get("is_look") or claim["verdict"] == Verdict.UNTESTABLE:
        return ""
    values = _by_seed(measured)
    readings: dict[Verdict, list[str]] = {}
    for printed, verdict in by_print(claim, values):
        readings.setdefault(verdict, []).append(paper_value({"paper": printed, "unit": claim.get("unit")}))
    if len(readings) == 1:
        return ""
    each = [f"read as {' or '.join(some)}: {verdict}" for verdict, some in readings.items()]
    return f"{Verdict(claim['verdict'])}: {', '.join(each)}"


def other_zones(claim: Mapping[str, Any]) -> Iterator[tuple[str, Zones]]:
    """Yield what else the scan may say, and the zones around that, where seeds have been measured."""
    for printed in claim.get("alternatives", []) if claim.get("measured") else ():
        judgement = rules.judge_number(
            expected({**claim, "paper": printed, "alternatives": []}), _by_seed(claim["measured"])
        )
        if judgement.zones:
            yield printed, judgement.zones


def _by_seed(measured: Mapping[str, Any]) -> dict[int, float]:
    return {int(seed): math.inf if value == "never" else value for seed, value in measured["by_seed"].items()}
