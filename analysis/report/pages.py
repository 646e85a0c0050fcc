"""Writes the pages of the report: a function for each."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment

from analysis.experiment_files import CAPTION, PICTURE
from analysis.figures import style
from analysis.figures.in_reference import range_of
from analysis.files import whole, write_text
from analysis.report import causes, changes, first_page, machines, overview, prose
from analysis.report.beside import Beside
from analysis.report.cards import OMITTED, cards, page_of
from analysis.report.evidence import Source, command_of_all, list_of, listed, simulated
from analysis.report.explained import explained
from analysis.report.overview import StudyView
from analysis.report.packets import Watched, watched
from analysis.report.rendering import TEMPLATES, pages, render
from analysis.report.results import ExperimentResult, is_quick, state_of
from analysis.report.tables import table
from common import sums
from common.counts import plural

FIGURES: Final = (*(f"{PICTURE}{suffix}.svg" for suffix in style.WIDTHS), f"{PICTURE}.html", "../viewer.js")
LIVE: Final = "explained.js"


@dataclass(frozen=True)
class Report:
    """What all pages are written from, into `out`, from where they go to `home`."""

    experiments: Sequence[ExperimentResult]
    results: Path
    out: Path
    home: Path
    reference: Beside | None
    others: Sequence[Beside]

    @cached_property
    def shown(self) -> list[ExperimentResult]:
        """The experiments that were run and drawn."""
        return [experiment for experiment in self.experiments if experiment.folder]

    @cached_property
    def views(self) -> list[StudyView]:
        """The studies, each with its tiles."""
        return overview.studies(self.experiments, self.reference)

    @cached_property
    def is_quick(self) -> bool:
        """Whether this is a look at size quick."""
        return is_quick(self.experiments)

    @cached_property
    def _environment(self) -> Environment:
        return pages(TEMPLATES)

    @cached_property
    def _common(self) -> dict[str, Any]:
        return {
            "studies": self.views,
            "reference": self.reference,
            "others": self.others,
            "made": overview.banner(self.experiments),
            "drawn": {experiment.id for experiment in self.shown},
        }

    def write(self, template: str, values: Mapping[str, Any], name: str = "") -> None:
        """Write a page of what all pages have and what it has of its own; by default it is named like its template."""
        render(self._environment, template, self.out / (name or template), {**self._common, **values})


def write_experiments(report: Report) -> dict[str, Any]:
    """Write a page for each experiment; return the values that the causes of each quote."""
    tiles = {tile.experiment.id: tile for view in report.views for tile in view.tiles}
    shown, reference = report.shown, report.reference
    quotable = {}
    for before, experiment, after in zip([None, *shown], shown, [*shown[1:], None], strict=False):
        _copy_figure(experiment, report.out)
        kept = reference.kept.get(experiment.id) if reference else None
        source = Source(experiment, shown, report.results, report.out, report.home, kept)
        values = _page(experiment, shown, reference, report.others, source)
        quotable[experiment.id] = values["values"]
        values |= {"before": before, "after": after, "tile": tiles.get(experiment.id)}
        report.write("experiment.html", values, f"{experiment.id}.html")
    return quotable


def write_lists_of_runs(report: Report) -> None:
    """Write a page for all runs of each scenario, with the commands that repeat them."""
    for runs_of, (experiment, by_cell) in simulated(report.shown).items():
        cells = listed(runs_of, experiment, by_cell, report.results / "runs", report.home)
        report.write("runs.html", {"runs_of": runs_of, "experiment": experiment, "cells": cells}, list_of(runs_of))


def write_explained(report: Report) -> bool:
    """Write the page that explains LEDBAT by runs; tell whether these are there."""
    live = explained(report.results / "runs")
    if live is None:
        return False
    write_text(report.out / "explained-data.js", f"const RUNS = {json.dumps(live, separators=(',', ':'))};\n")
    with whole(report.out / LIVE) as temporary:
        shutil.copyfile(TEMPLATES / LIVE, temporary)
    report.write("explained.html", {"data": live, "watched": _watched(report.results, report.out)})
    return True


def write_search(report: Report) -> None:
    """Write what the search looks through."""
    claims = json.dumps(_searched(report.shown, report.reference), separators=(",", ":"))
    sentences = {f"{view.name}/{finding.name}": finding.sentence for view in report.views for finding in view.findings}
    findings = json.dumps(sentences, separators=(",", ":"))
    write_text(report.out / "claims.js", f"const CLAIMS = {claims};\nconst FINDINGS = {findings};\n")


def write_causes(report: Report, quotable: Mapping[str, Any]) -> Any:
    """Write the page of causes, if there are any; return them."""
    why = causes.table(report.shown, report.reference, quotable)
    if why:
        report.write("causes.html", {"causes": why})
    return why


def write_index(report: Report, why: Any, is_explained: bool) -> None:
    """Write the first page."""
    shown, reference, views = report.shown, report.reference, report.views
    ranking = first_page.ranking(shown)
    machine = first_page.machine(shown, reference) if reference else None
    report.write(
        "index.html",
        {
            "causes": why,
            "total": overview.totals(views),
            "why_not": overview.why_not(views),
            "crosscheck": _crosscheck(report.results),
            "explained": is_explained,
            "is_quick": report.is_quick,
            "unit_tests": first_page.unit_tests(shown),
            "programs": first_page.programs(shown),
            "picked": first_page.picked(views),
            "standings": first_page.standings(views),
            "standing": first_page.standing(views),
            "open_text": first_page.open_text(shown, reference, report.is_quick),
            "matrix_key": first_page.matrix_key(reference, report.is_quick),
            "machine": machine,
            "whose_verdicts": first_page.whose_verdicts(reference, report.is_quick),
            "same_numbers": first_page.same_numbers(machine, report.is_quick),
            "other_verdicts": first_page.other_verdicts(machine, report.is_quick) if machine else "",
            "yielding": first_page.yielding(shown, reference),
            "ranking": ranking,
            "ranking_caption": _caption(ranking) if ranking else "",
            "papers": first_page.papers(views),
            "asks_more": any("year" not in view.paper for view in views),
            "chosen_after": {
                f"{experiment.study_name}, {experiment.artefact}": late
                for experiment in shown
                if (late := [claim["id"] for claim in experiment.counted if "chosen_after" in claim])
            },
        },
    )


def write_changes(report: Report, reference: Beside) -> None:
    """Write what differs from the reference set, and a feed of it."""
    differences = changes.changes(report.shown, reference)
    compared = first_page.machine(report.shown, reference)
    summary = changes.summary(differences, compared.claims, compared.compared, report.is_quick)
    values = {"changes": differences, "summary": summary, "is_quick": report.is_quick}
    report.write("changes.html", values)
    write_text(report.out / "feed.xml", changes.feed(differences, "LEDBAT testbed: what changed", summary))


def write_machines(report: Report) -> None:
    """Write how the results of other machines compare."""
    beside = [*([report.reference] if report.reference else []), *report.others]
    report.write("machines.html", machines.table(report.shown, beside))


def _watched(results: Path, out: Path) -> list[Watched]:
    """Write the packets of each kind of run into a file of its own, which a browser loads once a reader asks for it."""
    kinds = []
    for kind, data in watched(results / "runs"):
        text = json.dumps(data, separators=(",", ":"))
        write_text(out / f"packets-{kind.name}.js", f"PACKETS[{json.dumps(kind.name)}] = {text};\n")
        kinds.append(kind)
    return kinds


def _searched(experiments: Sequence[ExperimentResult], reference: Beside | None) -> list[list[str]]:
    """Give what the search looks through, of each claim, beside the sentences of findings.

    That is its page, finding, state, place, text, its verdict in the reference set if another, and of its experiment
    the title and what came out.
    """
    there = reference.claims if reference else {}
    return [
        [
            page_of(claim["id"]),
            f"{experiment.study}/{claim.get('finding') or claim['id']}",
            state_of(claim),
            f"{experiment.study_name}, {experiment.artefact}",
            claim["title"],
            _verdict_there(claim, there),
            ". ".join(filter(None, (experiment.result, experiment.title))),
        ]
        for experiment in experiments
        for claim in experiment.claims
    ]


def _verdict_there(claim: Mapping[str, Any], there: Mapping[str, Mapping[str, Any]]) -> str:
    known = there.get(claim["id"])
    return state_of(known) if known and state_of(known) != state_of(claim) else ""


def _crosscheck(results: Path) -> list[dict[str, Any]]:
    """What `make trial NAME=crosscheck` left, if it has been run; see docs/explanation/backends.md."""
    folder, name = results / "crosscheck", "crosscheck.json"
    if not (folder / name).exists():
        return []
    entries: list[dict[str, Any]] = json.loads(sums.checked(folder, name).read_text())
    return entries


def _copy_figure(experiment: ExperimentResult, out: Path) -> None:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    for name in FIGURES:
        place = Path("figures", experiment.id, name)
        made_in = experiment.folder.joinpath(*place.parts[2:-1]).resolve()
        with whole(out / place) as temporary:
            shutil.copyfile(sums.checked(made_in, place.name), temporary)


def _page(
    experiment: ExperimentResult,
    experiments: Sequence[ExperimentResult],
    reference: Beside | None,
    others: Sequence[Beside],
    source: Source,
) -> dict[str, Any]:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    of_result = first_page.of_result(experiment)
    of_claims = " ".join(prose.text_of(claim["cause"]) for claim in experiment.claims if claim.get("cause"))
    return {
        "experiment": experiment,
        "entry": experiment.data["experiment"],
        "expected": "year" not in experiment.paper,
        "is_quick": is_quick([experiment]),
        "cards": cards(experiment.claims, [*([reference] if reference else []), *others], source),
        "values": prose.values_of(prose.quoted_by(of_claims, experiment, experiments)),
        "further": _further(experiment, reference),
        "table": table(experiment.data["figure"], experiment.claims, reference),
        "caption": _caption(experiment),
        "of_result": of_result,
        "none_ran": {text for _, text in of_result} == {OMITTED},
        "runs": plural(len(experiment.data["runs"]), "run"),
        "list_of_runs": list_of(experiment.data["experiment"]["runs_of"]),
        "again": command_of_all([experiment.id], {run["size"] for run in experiment.data["runs"]}),
    }


def _caption(experiment: ExperimentResult) -> str:
    assert experiment.folder is not None  # noqa: S101 (the caller has looked)
    return sums.checked(experiment.folder, CAPTION).read_text(encoding="utf-8").strip()


def _further(experiment: ExperimentResult, reference: Beside | None) -> list[dict[str, Any]]:
    """Give the numbers without verdicts that are known, beside those of a quick look the reference set's as `there`."""
    kept = reference.kept.get(experiment.id, {}) if reference and is_quick([experiment]) else {}
    numbers = []
    for entry in experiment.data["also_measured"]:
        by_seed = kept.get("also_measured", {}).get(entry["metric"], {})
        there = {"unit": entry["unit"], "range": range_of(by_seed.values()), "seeds": len(by_seed)}
        is_known = entry["measured"] and entry["measured"]["mean"] is not None
        if is_known or there["range"]:
            numbers.append({**entry, "measured": entry["measured"] if is_known else None, "there": there})
    return numbers
