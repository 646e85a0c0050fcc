"""What implementations break in the scenarios of a corpus: `python -m tests.hunt.known FOLDER IMPLEMENTATION...`.

It asks as `testbed hunt --corpus` does, and neither shrinks what is broken nor searches further. Its numbers go to
FOLDER/IMPLEMENTATION, where that command looks for them.
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scenarios import implementations
from testbed.hunt import arena, corpus, measure, read_properties
from testbed.hunt.hunt import Hunt, expressions
from testbed.shared.panel import STANDARD

FINDINGS: Final = arena.FOLDER.with_name("corpora") / "findings.yaml"


def begun(client: str, baseline: str | None, only: Sequence[str], folder: Path) -> Hunt:
    """Return a hunt that ends after its corpus. `baseline` is what a user gives; None: none."""
    about = implementations.known()[client]
    every = read_properties.load_all(about, against_version=baseline is not None)
    properties = [prop for prop in every if not only or prop.name in only]
    place, first = arena.read(arena.DEFAULT, client), corpus.read(FINDINGS, client)
    against = baseline or STANDARD
    others = {name for each in (place, *first) for name in each.implementations}
    folder.mkdir(parents=True, exist_ok=True)
    runs = measure.MeasuredRuns(folder, expressions(properties), measure.made_of({client, against, *others}))
    scenarios = [each.scenario({}, client) for each in first]
    hunt = Hunt(place, properties, client, against, runs, 1, "tour", lambda: 0 if hunt.trials else math.inf, scenarios)
    return hunt


def main() -> None:
    """Print a line for each property that a scenario breaks for sure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("implementations", nargs="+", metavar="IMPLEMENTATION")
    parser.add_argument("--baseline", help="as of `testbed hunt`: with it, the properties of versions count, too")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="check this property; repeatable")
    options = parser.parse_args()
    for client in options.implementations:
        hunt = begun(client, options.baseline, options.only, options.folder / client)
        for prop, trial in hunt.broken():
            print(f"{client}: {trial.scenario['title']}: {prop.name}", flush=True)
        for failure in hunt.runs.failures():
            print(f"{client}: a run failed: {failure}")
        print(f"{client}: {len(hunt.trials)} scenarios, {len(hunt.runs.requested)} runs", flush=True)


if __name__ == "__main__":
    main()
