"""The static report: an index and one page an experiment, in one folder that needs no network."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from analysis.experiment_files import CAPTION, PICTURE
from analysis.figures import alternative_text, style
from analysis.files import whole, write_text
from analysis.report import causes, changes, first_page, formats, machines, overview, prose
from analysis.report.beside import Beside
from analysis.report.cards import cards, page_of
from analysis.report.evidence import Source, command_of_all, list_of, listed, simulated
from analysis.report.explained import explained
from analysis.report.packets import Watched, watched
from analysis.report.results import STATES, Result, collect, state_of, titled
from analysis.report.tables import table
from analysis.verdicts.rules import Verdict
from common import sums
from common.counts import plural

TEMPLATES: Final = Path(__file__).with_name("templates")
SHARED: Final = ("report.css", "report.js")  # by all pages of a folder
FIGURES: Final = (*(f"{PICTURE}{suffix}.svg" for suffix in style.WIDTHS), f"{PICTURE}.html", "../viewer.js")
LIVE: Final = "explained.js"
Simulated = Mapping[str, Sequence[Mapping[str, Any]]]  # by claim: what the papers' simulator gives, in each reading


def write_report(
    results: Path,
    out: Path,
    reference: Beside | None = None,
    others: Sequence[Beside] = (),
    simulated: Simulated | None = None,
) -> Path:
    """Write the report on everything under `results`, with others and a simulator's beside; returns its index."""
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out), sums.replacing(out, instead_of=sums.known(out)) as draft:
        experiments = [_beside_simulator(_if_drawn(experiment), simulated or {}) for experiment in collect(results)]
        _write(experiments, results, draft, reference, others, out)
    return out / "index.html"


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Wait for another target's report into the same folder: the later one holds what both have."""
    with (out / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _write(
    measured: Sequence[Result],
    results: Path,
    out: Path,
    reference: Beside | None,
    others: Sequence[Beside],
    home: Path,
) -> None:
    """Write the report into `out`, from where it goes to `home`."""
    full_run = reference.claims if reference else None
    experiments = [titled(experiment, full_run) for experiment in measured]
    beside = [*([reference] if reference else []), *others]
    views = overview.studies(experiments, reference)
    environment = pages(TEMPLATES)
    shown = [experiment for experiment in experiments if experiment.folder]
    common = {
        "studies": views,
        "reference": reference,
        "others": others,
        "made": overview.banner(experiments),
        "drawn": {experiment.id for experiment in shown},
    }
    tiles = {tile.experiment.id: tile for view in views for tile in view.tiles}
    quotable = {}
    for before, experiment, after in zip([None, *shown], shown, [*shown[1:], None], strict=False):
        _copy_figure(experiment, out)
        kept = reference.kept.get(experiment.id) if reference else None
        source = Source(experiment, shown, results, out, home, kept)
        values = _page(experiment, shown, reference, others, source)
        quotable[experiment.id] = values["values"]
        values |= {"before": before, "after": after, "tile": tiles.get(experiment.id)}
        render(environment, "experiment.html", out / f"{experiment.id}.html", common | values)
    for runs_of, (experiment, by_cell) in simulated(shown).items():
        cells = listed(runs_of, experiment, by_cell, results / "runs", home)
        values = {"runs_of": runs_of, "experiment": experiment, "cells": cells}
        render(environment, "runs.html", out / list_of(runs_of), values)
    write_shared(out)
    live = explained(results / "runs")
    if live:
        write_text(out / "explained-data.js", f"const RUNS = {json.dumps(live, separators=(',', ':'))};\n")
        with whole(out / LIVE) as temporary:
            shutil.copyfile(TEMPLATES / LIVE, temporary)
        render(
            environment,
            "explained.html",
            out / "explained.html",
            common | {"data": live, "watched": _watched(results, out)},
        )
    write_text(out / "claims.js", f"const CLAIMS = {json.dumps(_searched(shown, reference), separators=(',', ':'))};\n")
    why = causes.table(shown, reference, quotable)
    if why:
        render(environment, "causes.html", out / "causes.html", common | {"causes": why})
    values = {
        "causes": why,
        "total": overview.totals(views),
        "why_not": overview.why_not(views),
        "crosscheck": _crosscheck(results),
        "explained": live is not None,
        "is_quick": first_page.is_quick(experiments),
        "claims": sum(len(experiment.counted) for experiment in shown),
        "implementations": sorted({name for experiment in shown for name in experiment.implementations}),
        "failed": sum(len(experiment.data["failed"]) for experiment in shown),
        "full_run": first_page.full_run(shown, reference) if reference else None,
        "picked": first_page.picked(views),
        "full": first_page.full_counts(views),
        "undecided": first_page.undecided(shown, reference),
        "cannot": sum(finding.full == Verdict.NOT_TESTABLE for view in views for finding in view.findings),
        "machine": first_page.machine(shown, reference) if reference else None,
        "yielding": first_page.yielding(shown, reference),
        "ranking": (ranking := first_page.ranking(shown)),
        "ranking_caption": _caption(ranking) if ranking else "",
        "papers": first_page.papers(views),
        "chosen_after": [
            (claim["id"], f"{experiment.study_name}, {experiment.artefact}")
            for experiment in shown
            for claim in experiment.counted
            if "chosen_after" in claim
        ],
    }
    render(environment, "index.html", out / "index.html", common | values)
    if reference:
        differences = changes.changes(shown, reference)
        is_quick = values["is_quick"]
        summary = changes.summary(differences, sum(len(experiment.counted) for experiment in shown), is_quick)
        shown_there = {"changes": differences, "summary": summary, "is_quick": is_quick}
        render(environment, "changes.html", out / "changes.html", common | shown_there)
        write_text(out / "feed.xml", changes.feed(differences, "LEDBAT testbed: what changed", summary))
    if others:
        render(environment, "machines.html", out / "machines.html", common | machines.table(shown, beside))


def write_shared(out: Path) -> None:
    """Write the style sheet and the script that all pages of a folder share."""
    for name in SHARED:
        with whole(out / name) as temporary:
            shutil.copyfile(TEMPLATES / name, temporary)


def _watched(results: Path, out: Path) -> list[Watched]:
    """Write the packets of each kind of run into a file of its own, which a browser loads once a reader asks for it."""
    kinds = []
    for kind, data in watched(results / "runs"):
        text = json.dumps(data, separators=(",", ":"))
        write_text(out / f"packets-{kind.name}.js", f"PACKETS[{json.dumps(kind.name)}] = {text};\n")
        kinds.append(kind)
    return kinds


def _searched(experiments: Sequence[Result], reference: Beside | None) -> list[list[str]]:
    """Give what the search looks through: for each claim its page, finding, state, place, text, and what is not shown.

    That is the title of its experiment, what came out of it, and the verdict of the full run.
    """
    there = reference.claims if reference else {}
    return [
        [
            page_of(claim["id"]),
            f"{experiment.study}/{claim.get('finding') or claim['id']}",
            state_of(claim),
            f"{experiment.study_name}, {experiment.artefact}",
            claim["title"],
            " ".join(
                [
                    experiment.title,
                    experiment.result,
                    there.get(claim["id"], {}).get("verdict", ""),
                ]
            ),
        ]
        for experiment in experiments
        for claim in experiment.claims
    ]


def _crosscheck(results: Path) -> list[dict[str, Any]]:
    """What `make crosscheck` left, if it has been run; see docs/explanation/backends.md."""
    folder, name = results / "crosscheck", "crosscheck.json"
    if not (folder / name).exists():
        return []
    entries: list[dict[str, Any]] = json.loads(sums.checked(folder, name).read_text())
    return entries


def pages(*templates: Path) -> Environment:
    """Give what renders pages from folders of templates: whatever is in them, text is never taken for HTML."""
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= formats.FILTERS | {"ordered": overview.ordered, "page": page_of, "marked": prose.marked}
    environment.globals |= {
        "states": STATES,
        "state_words": overview.STATE_WORDS,
        "state_of": state_of,
        "tally": overview.tally,
        "cause_words": causes.WORDS,
    }
    return environment


def write_page(page: Path, template: Path, values: dict[str, Any]) -> Path:
    """Write a page by a template that lies anywhere, and beside it what all pages share; return the page."""
    write_shared(page.parent)
    render(pages(template.parent, TEMPLATES), template.name, page, values)
    return page


def render(environment: Environment, template: str, path: Path, values: dict[str, Any]) -> None:
    """Write a page; what it says of a picture beside it comes from that picture."""
    told_of = partial(_told_of, path.parent)
    write_text(path, environment.get_template(template).render(values | {"told_of": told_of}))


def _told_of(folder: Path, address: str) -> str:
    return alternative_text.of_file(folder / address)


def _if_drawn(experiment: Result) -> Result:
    """Give an experiment without a figure, since another target still works on it, as one that was not run."""
    if experiment.folder and CAPTION in sums.known(experiment.folder):
        return experiment
    return replace(experiment, folder=None, data={})


def _beside_simulator(experiment: Result, simulated: Simulated) -> Result:
    """Give an experiment whose claims know what the papers' simulator gives for them."""
    claims = [{**claim, "simulated": simulated.get(claim["id"], [])} for claim in experiment.claims]
    return replace(experiment, data={**experiment.data, "claims": claims})


def _copy_figure(experiment: Result, out: Path) -> None:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    for name in FIGURES:
        place = Path("figures", experiment.id, name)
        made_in = experiment.folder.joinpath(*place.parts[2:-1]).resolve()
        with whole(out / place) as temporary:
            shutil.copyfile(sums.checked(made_in, place.name), temporary)


def _page(
    experiment: Result,
    experiments: Sequence[Result],
    reference: Beside | None,
    others: Sequence[Beside],
    source: Source,
) -> dict[str, Any]:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    of_claims = " ".join(prose.text_of(claim["cause"]) for claim in experiment.claims if claim.get("cause"))
    return {
        "experiment": experiment,
        "entry": experiment.data["experiment"],
        "expected": "year" not in experiment.paper,
        "is_quick": first_page.is_quick([experiment]),
        "shortened": _shortened(experiment),
        "cards": cards(experiment.claims, [*([reference] if reference else []), *others], source),
        "values": prose.values_of(prose.quoted_by(of_claims, experiment, experiments)),
        "further": _further(experiment, reference),
        "table": table(experiment.data["figure"], experiment.claims, reference),
        "caption": _caption(experiment),
        "of_result": first_page.of_result(experiment),
        "runs": plural(len(experiment.data["runs"]), "run"),
        "list_of_runs": list_of(experiment.data["experiment"]["runs_of"]),
        "again": command_of_all([experiment.id], {run["size"] for run in experiment.data["runs"]}),
    }


def _caption(experiment: Result) -> str:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    return sums.checked(experiment.folder, CAPTION).read_text(encoding="utf-8").strip()


def _further(experiment: Result, reference: Beside | None) -> list[dict[str, Any]]:
    """Give the numbers without verdicts that are known, with the full run's as `full` beside those of a quick look."""
    kept = reference.kept.get(experiment.id, {}) if reference and first_page.is_quick([experiment]) else {}
    there = kept.get("also_measured", {})
    numbers = []
    for entry in experiment.data["also_measured"]:
        is_known = entry["measured"] and entry["measured"]["mean"] is not None
        measured: dict[str, Any] | None = there.get(entry["metric"])
        full = measured and {"unit": entry["unit"], "measured": measured | {"ci95": None}}
        if is_known or full:
            numbers.append({**entry, "measured": entry["measured"] if is_known else None, "full": full})
    return numbers


def _shortened(experiment: Result) -> str:
    """Say how much shorter than at full size the runs are: "60 s (full: 300 s)"; nothing where they are not."""
    lengths = {(cell["duration_s"], cell.get("full_s", 0)) for cell in experiment.data.get("settings", [])}
    shorter = [pair for pair in lengths if pair[0] < pair[1]]
    if not shorter:
        return ""
    here, full = (
        " to ".join(dict.fromkeys(f"{end:,.0f}" for end in (min(ends), max(ends))))
        for ends in zip(*shorter, strict=True)
    )
    return f"{here} s (full: {full} s)"
