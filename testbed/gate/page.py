"""The page of a gate: a card for each budget, what is broken first."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Final

from analysis.report.evidence import Evidence, of_run
from analysis.report.rendering import write_page
from testbed.gate.judge import BROKEN, PASSED, STUDY, UNKNOWN, BudgetResult, Judgement

TEMPLATE: Final = Path(__file__).with_name("gate.html")


def write(judgement: Judgement, results: Path) -> Path:
    """Write index.html into the folder of a gate, each budget with its run; return the page."""
    order = (BROKEN, UNKNOWN, PASSED)
    values = {
        "client": judgement.client,
        "version": judgement.version,
        "seeds": judgement.seeds,
        "outcomes": sorted(judgement.outcomes, key=lambda outcome: order.index(outcome.result)),
        "results": order,
        "counts": Counter(outcome.result for outcome in judgement.outcomes),
        "evidence_of": partial(_evidence, results),
    }
    return write_page(results / "index.html", TEMPLATE, values)


def _evidence(results: Path, outcome: BudgetResult) -> Evidence:
    scenario = f"studies/{STUDY}/{Path(outcome.scenario).stem}.yaml"
    return of_run(results / outcome.run, results, scenario) if outcome.run else Evidence()
