"""The static report: an index and one page an experiment, in one folder that needs no network."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.files import whole, write_text
from analysis.report import words
from analysis.report.results import Result, collect, findings
from analysis.verdicts.rules import Outcome

TEMPLATES: Final = Path(__file__).with_name("templates")
FIGURES: Final = ("figure.svg", "figure-narrow.svg", "figure.png", "figure.html", "../viewer.js")
CAPTION: Final = "figure.txt"


def write_report(results: Path, out: Path) -> Path:
    """Write the report on everything under `results`; returns its index."""
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out):
        return _write(results, out)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Wait for another target's report into the same folder: the later one holds what both have."""
    folder = os.open(out, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _write(results: Path, out: Path) -> Path:
    experiments = [_if_drawn(experiment) for experiment in collect(results)]
    environment = pages(TEMPLATES)
    environment.globals["outcomes"] = list(Outcome)
    for experiment in experiments:
        if experiment.folder:
            _copy_figure(experiment, out)
            render(environment, "experiment.html", out / f"{experiment.id}.html", _page(experiment))
    studies: dict[str, list[Result]] = {}
    for experiment in experiments:
        studies.setdefault(experiment.study, []).append(experiment)
    virtual_s: dict[Any, float] = {}  # of each run once, however many experiments look at it
    for experiment in experiments:
        virtual_s |= experiment.virtual_s
    totals = {name: _counts(of_study) for name, of_study in studies.items()}
    values = {
        "studies": studies,
        "findings": findings(experiments),
        "totals": totals,
        "total": _counts(experiments),
        "virtual_s": sum(virtual_s.values()),
        "runs": len(virtual_s),
        "crosscheck": _crosscheck(results),
    }
    render(environment, "index.html", out / "index.html", values)
    return out / "index.html"


def _crosscheck(results: Path) -> list[dict[str, Any]]:
    """What `make crosscheck` left, if it has been run; see docs/backends.md."""
    file = results / "crosscheck" / "crosscheck.json"
    entries: list[dict[str, Any]] = json.loads(file.read_text()) if file.exists() else []
    return entries


def _counts(experiments: list[Result]) -> dict[Outcome, int]:
    return {outcome: sum(one.counts[outcome] for one in experiments) for outcome in Outcome}


def pages(*templates: Path) -> Environment:
    """Give what renders pages from folders of templates: whatever is in them, text is never taken for HTML."""
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= words.FILTERS
    return environment


def render(environment: Environment, template: str, path: Path, values: dict[str, Any]) -> None:
    """Write a page."""
    write_text(path, environment.get_template(template).render(values))


def _if_drawn(experiment: Result) -> Result:
    """Give an experiment whose figure is missing, since another target still works on it, as one that was not run."""
    if experiment.folder and all((experiment.folder / name).exists() for name in (*FIGURES, CAPTION)):
        return experiment
    return replace(experiment, folder=None, data={})


def _copy_figure(experiment: Result, out: Path) -> None:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    for name in FIGURES:
        with whole(out / "figures" / experiment.id / name) as temporary:
            shutil.copyfile(experiment.folder / name, temporary)


def _page(experiment: Result) -> dict[str, Any]:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    return {
        "experiment": experiment,
        "entry": experiment.data["experiment"],
        "claims": experiment.data["claims"],
        "caption": (experiment.folder / CAPTION).read_text(encoding="utf-8").strip(),
        "commands": _commands(experiment),
    }


def _commands(experiment: Result) -> list[dict[str, Any]]:
    """Give every run with the command that makes it again."""
    scenario = experiment.data["experiment"].get("scenario")
    commands = []
    for run in experiment.data["runs"]:
        command = f"testbed run {scenario} --seed {run['seed']}"
        if run["cell"] != "single":
            command += f" --cell {run['cell']}"
        if run["size"] != "full":
            command += f" --size {run['size']}"
        commands.append({**run, "command": command})
    return commands
