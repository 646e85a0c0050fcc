"""The page of a gate: a card for each budget, what is broken first."""

from collections import Counter
from pathlib import Path
from typing import Final

from analysis.judge.verdict import WORST_FIRST
from analysis.report.evidence import Evidence, of_run
from testbed.gate.judge import STUDY, JudgedBudgets
from testbed.shared.made import made_below
from testbed.shared.page import write_page

TEMPLATE: Final = Path(__file__).with_name("gate.html")
FILES: Final = ("gate.json", "gate.md", "junit.xml")  # say the same


def write(judgement: JudgedBudgets, results: Path, again: str) -> Path:
    """Write index.html into the folder of a gate, which `again` repeats, each budget with its run; return the page."""
    values = {
        "client": judgement.client,
        "seeds": judgement.seeds,
        "outcomes": sorted(judgement.outcomes, key=lambda outcome: WORST_FIRST.index(outcome.verdict)),
        "verdicts": WORST_FIRST,
        "counts": Counter(outcome.verdict for outcome in judgement.outcomes),
        "evidence_of": lambda outcome: evidence(results, outcome.scenario, outcome.run, results),
    }
    return write_page(results / "index.html", TEMPLATE, values, made_below(results / "runs"), again, FILES)


def evidence(gate: Path, scenario: str, run: str, home: Path) -> Evidence:
    """Give what a run of a gate's folder left, for a page in the folder `home`; no run has no evidence."""
    studied = f"studies/{STUDY}/{Path(scenario).stem}.yaml"
    return of_run(gate / run, home, studied) if run else Evidence()
