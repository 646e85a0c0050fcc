"""The table at the end of a reproduction: experiments, verdicts, time, and where the report is."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.report.formats import counted, duration
from analysis.report.results import LOOKS, NOT_HERE, STATES, collect, findings
from analysis.verdicts.rules import Verdict
from common.counts import plural

STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.NEAR: "yellow",
    Verdict.UNDECIDED: "magenta",
    Verdict.NOT_REPRODUCED: "red",
    Verdict.NOT_TESTABLE: "dim",
    NOT_HERE: "dim",
} | dict.fromkeys(LOOKS.values(), "cyan")


def print_summary(results: Path, console: Console | None = None) -> None:
    """Print one line for each experiment that has been measured."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("experiment", no_wrap=True)
    table.add_column("claims", justify="right")
    experiments = collect(results)
    states = [state for state in STATES if any(experiment.counts[state] for experiment in experiments)]
    for state in states:
        # heads take several lines, so that the table fits 80 columns
        head = state.replace("reproduced", "repro-\nduced").replace(" in one seed", "").replace(" ", "\n")
        table.add_column(head, justify="right", style=STYLES[state])
    table.add_column("wall\ntime", justify="right")
    for experiment in experiments:
        if experiment.folder:
            counts = experiment.counts
            cells = [str(counts[state] or "") for state in states]
            table.add_row(experiment.id, str(sum(counts.values())), *cells, duration(experiment.wall_s))
    console = console or Console()
    console.print(table)
    for study, states_of in findings(experiments).items():
        by_state = ", ".join(counted(state, states_of[state]) for state in STATES if states_of[state])
        console.print(f"{study}, {plural(states_of.total(), 'finding')}: {by_state}", highlight=False, soft_wrap=True)
    for experiment in experiments:
        for run in experiment.data.get("failed", []):
            line = f"failed, and left out: {experiment.id}: {run['cell']}, seed {run['seed']}: {run['why']}"
            console.print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    index = results / "report" / "index.html"
    if index.exists():
        console.print(f"Report: {index}", soft_wrap=True)
