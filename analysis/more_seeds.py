"""The seeds that undecided claims ask for, kept in a file that the pipeline's next pass reads."""

import json
from pathlib import Path

from rich.console import Console

from analysis.documents import read_json
from analysis.files import write_text
from analysis.report.results import collect
from analysis.verdicts.seeds import more_seeds


def ask(results: Path, out: Path, console: Console | None = None) -> None:
    """Add to the file `out` the seeds that what is measured under `results` asks for; say how many cells do.

    The file has the number of seeds by experiment and cell. What stands in it stays: a claim that more seeds have
    decided keeps them.
    """
    wanted: dict[str, dict[str, int]] = read_json(out).data if out.exists() else {}
    cells = 0
    for experiment, asked in more_seeds(one.data for one in collect(results) if one.folder).items():
        before = wanted.setdefault(experiment, {})
        for cell, seeds in asked.items():
            cells += seeds > before.get(cell, 0)
            before[cell] = max(seeds, before.get(cell, 0))
    write_text(out, json.dumps(wanted, indent=1, sort_keys=True) + "\n")
    console = console or Console()
    said = f"{cells} cells need more seeds ({out}); the next pass runs them." if cells else "No cell needs more seeds."
    console.print(said, highlight=False, soft_wrap=True)
