"""The table at the end of a reproduction: what became of each study's findings, and what to do next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from analysis.judge.verdict import Verdict
from analysis.report.beside import Beside
from analysis.report.overview import StudyView, states_there, studies
from analysis.report.results import LOOKS, NOT_HERE, collect, is_quick

COLUMNS: Final = {  # head, style, and the state of findings that it counts
    "hold": ("green", Verdict.HOLDS),
    "nearly": ("yellow", Verdict.NEARLY),
    "do not": ("red", Verdict.FAILS),
    "open": ("magenta", Verdict.OPEN),
    "cannot be\ntested": ("dim", Verdict.UNTESTABLE),
    "not judged\nhere": ("dim", NOT_HERE),
}


def print_summary(
    results: Path, reference: Beside | None = None, next_steps: Sequence[str] = (), console: Console | None = None
) -> None:
    """Print how many findings of each study have which answer, here and in the reference set, and what to do next."""
    experiments = collect(results)
    is_look = is_quick(experiments)
    rows: list[tuple[str, str, Counter[str]]] = []
    for view in studies(experiments, None):
        whose = "one seed" if is_look else "here"
        rows.append((f"{view.label}: {view.counts.total()}", whose, _in_columns(view.counts, is_look)))
        if there := _counts_there(view, reference):
            rows.append(("", "reference", _in_columns(there, False)))
    heads = [head for head, (_, state) in COLUMNS.items() if any(counts[state] for _, _, counts in rows)]
    table = Table("findings", "", box=None, header_style="dim", pad_edge=False)
    for head in heads:
        table.add_column(head, justify="right", style=COLUMNS[head][0])
    for study, whose, counts in rows:
        cells = (str(counts[COLUMNS[head][1]] or "") for head in heads)
        table.add_row(study, whose, *cells, style=None if study else "dim")
    console = console or Console()
    console.print(table)
    lines = ["One seed agrees or differs, and decides nothing."] if is_look and rows else []
    lines += [
        f"failed, and left out: {experiment.id}: {run['cell']}, seed {run['seed']}: {run['why']}"
        for experiment in experiments
        for run in experiment.data.get("failed", [])
    ]
    if (index := results / "report" / "index.html").exists():
        lines.append(f"Report: {index}")
    for line in [*lines, *next_steps]:
        style = "red" if line.startswith("failed") else None
        console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def _counts_there(view: StudyView, reference: Beside | None) -> Counter[str]:
    """Count what the line above counts, by the reference set's verdicts; nothing where that has none of them."""
    claims = [claim for experiment in view.experiments for claim in experiment.claims]
    there = states_there(claims, reference)
    return Counter(there[one.name] for one in view.findings if not one.apart and one.name in there)


def _in_columns(counts: Mapping[str, int], is_look: bool) -> Counter[str]:
    """Count what one seed says in the column that it is like, or, beside findings with more seeds, as open."""
    as_verdict = {look: verdict if is_look else Verdict.OPEN for verdict, look in LOOKS.items()}
    states: Counter[str] = Counter()
    for state, amount in counts.items():
        states[as_verdict.get(state, state)] += amount
    return states
