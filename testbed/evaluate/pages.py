"""What an evaluation writes: a page, the same as data, an appendix for an Internet-Draft, and a summary to print."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from analysis.files import write_made, write_text
from analysis.judge.statement import Statement
from analysis.judge.verdict import SIGNS, WORST_FIRST, Verdict, counted
from analysis.report.evidence import Evidence, of_run
from analysis.units import three_digits, with_unit
from common.counts import plural
from scenarios.cell_names import CASE, name_of, values_of
from testbed.evaluate.figures import Drawings
from testbed.evaluate.judge import STUDY, Result, RowAtPoint
from testbed.evaluate.read_criteria import Criterion
from testbed.shared.made import made_below
from testbed.shared.page import write_page

FORMAT: Final = 2
TEMPLATE: Final = Path(__file__).with_name("evaluation.html")
SHOWN: Final = 6
"""So many sentences of one part fit on a screen together with the other parts and the table of criteria."""


def write(
    folder: Path,
    judged: Sequence[Result],
    client: str,
    baseline: str,
    seeds: int,
    drawings: Drawings,
    again: str,
    placebo: str | None = None,
) -> Path:
    """Write evaluation.json, evaluation.md, index.html and what describes them into a folder; return the page.

    `again` is the command that makes them again.
    """
    document = {
        "format": FORMAT,
        "client": client,
        "baseline": baseline,
        "seeds": seeds,
        "placebo": placebo,
        "criteria": [_data(of_criterion) for of_criterion in judged],
    }
    write_made(folder / "evaluation.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_text(folder / "evaluation.md", appendix(judged, client, baseline, seeds, again))
    counts = Counter(cell.verdict for of_criterion in judged for cell in of_criterion.cells)
    values = document | {
        "judged": judged,
        "numbers": numbers(judged, baseline),
        "harms": harms(judged) or [_harmless(judged)],
        "faults": faults(judged),
        "unknown": unknown(judged, seeds),
        "verdicts": WORST_FIRST,
        "counts": counts,
        "title": _title(counts),
        "evidence_of": partial(_evidence, folder),
        "place": place,
        "placebo_says": placebo_says(judged),
        "most_seeds": max((cell.seeds for of_criterion in judged for cell in of_criterion.cells), default=seeds),
        "figures": drawings,
    }
    return write_page(folder / "index.html", TEMPLATE, values, made_below(folder / "runs"), again, ["evaluation.json"])


def _title(counts: Counter[Verdict]) -> str:
    """Say what came out, for the page's head."""
    decided = plural(counts[Verdict.HOLDS] + counts[Verdict.FAILS], "bound")
    if counts[Verdict.FAILS]:
        return f"misses {counts[Verdict.FAILS]} of {decided}"
    return f"keeps {decided}" if counts[Verdict.HOLDS] else "cannot be judged by these runs"


def _evidence(folder: Path, criterion: Criterion, row: Statement, cell: RowAtPoint) -> Evidence:
    """Give the evidence of a cell: the run with the control under test in its first seed, whose folder has the logs."""
    return replace(of_run(folder / cell.run, folder, f"studies/{STUDY}/{criterion.id}-{row.scenario}.yaml"), logs=[])


def placebo_says(judged: Sequence[Result]) -> str:
    """Say how the placebo stands in the same cells; a page without one says so."""
    told = counted(cell.placebo for of_criterion in judged for cell in of_criterion.cells if cell.placebo)
    return told or "none: the baseline has no placebo"


def summary(judged: Sequence[Result], client: str, baseline: str, seeds: int, page: Path) -> str:
    """Say on one screen how the control stands: a line a criterion, what it does where it fails, what is not known."""
    lines = [f"{client} beside {baseline}, by the criteria of RFC 9743:"]
    for of_criterion in judged:
        criterion = of_criterion.criterion
        verdicts = counted(cell.verdict for cell in of_criterion.cells) or "for the author to answer"
        sign = SIGNS[of_criterion.verdict] if criterion.rows else "-"
        part = "; a part is not measured" if criterion.rows and criterion.not_measured else ""
        lines.append(f"  {sign} {criterion.section:6} {criterion.title} ({verdicts}{part})")
    lines.append(f"  Placebo: {placebo_says(judged)}")
    parts = {
        "What it does:": numbers(judged, baseline),
        "Flows harmed more than by the baseline:": harms(judged) or [_harmless(judged)],
        f"Where it fails: {client}": faults(judged),
        "What is not known:": unknown(judged, seeds),
    }
    for head, sentences in parts.items():
        if sentences:
            lines += [head, *(f"  - {sentence}" for sentence in sentences[:SHOWN])]
        if len(sentences) > SHOWN:
            lines.append(f"  - and {len(sentences) - SHOWN} more, on the page")
    return "\n".join([*lines, f"Page: {page}"])


def numbers(judged: Sequence[Result], baseline: str) -> list[str]:
    """Say what the control does: what was measured in the rows that `tells` names, over all points, and the baseline's.

    A point at which one of the two has no number is left out.
    """
    sentences = []
    for of_criterion in judged:
        for row in of_criterion.criterion.rows:
            own = [cell.measured for cell in of_criterion.of(row) if cell.measured is not None]
            beside = [cell.beside for cell in of_criterion.of(row) if cell.beside is not None]
            if row.tells and own and beside:
                sentences.append(f"{row.tells}: {with_unit(_range(own), row.unit)}; {baseline}: {_range(beside)}")
    return sentences


def _range(values: Sequence[float]) -> str:
    least, most = three_digits(min(values)), three_digits(max(values))
    return least if least == most else f"{least} to {most}"


def harms(judged: Sequence[Result]) -> list[str]:
    """Say who is worse off beside the control, and by what; MUST comes first."""
    return _of_rows(judged, lambda row: f"{row.harms}: it {row.otherwise}" if row.harms else None)


def _harmless(judged: Sequence[Result]) -> str:
    """Say why nobody is known to be worse off."""
    rows = [(of_criterion, row) for of_criterion in judged for row in of_criterion.criterion.rows if row.harms]
    decided = sum(
        cell.verdict in (Verdict.HOLDS, Verdict.FAILS) for of_criterion, row in rows for cell in of_criterion.of(row)
    )
    if not decided:
        return "not known: no cell about others was decided"
    return f"nobody, in {plural(decided, 'decided cell')} about others"


def faults(judged: Sequence[Result]) -> list[str]:
    """Say how the control ended early, then in which other rows it fails, and where; MUST comes first."""
    ends = [cell.ended for of_criterion in judged for cell in of_criterion.cells if cell.ended]
    ended = [f"{ends[0]} ({plural(len(ends), 'cell')} with such an end)"] if ends else []
    return ended + _of_rows(judged, lambda row: None if row.harms else row.otherwise)


def unknown(judged: Sequence[Result], seeds: int) -> list[str]:
    """Say what these runs leave open: in rows, MUST first; what no run shows; what the author has to answer."""
    sentences = [] if seeds > 1 else ["whether other seeds say the same: one seed decides nothing"]
    for says, field in (("no run here shows", "not_measured"), ("only its author can answer", "form")):
        if sections := [each.criterion.section for each in judged if getattr(each.criterion, field)]:
            sentences.append(f"what {says} [{', '.join(sections)}]")
    sentences += _of_rows(judged, lambda row: f"whether it {row.otherwise}", Verdict.UNTESTABLE)
    return sentences + _of_rows(judged, lambda row: f"whether it {row.otherwise}", Verdict.OPEN)


def _of_rows(
    judged: Sequence[Result], says: Callable[[Statement], str | None], verdict: Verdict = Verdict.FAILS
) -> list[str]:
    sentences: dict[str, list[str]] = {level: [] for level in ("MUST", "SHOULD", "text")}
    for of_criterion in judged:
        for row in of_criterion.criterion.rows:
            points = [cell.point for cell in of_criterion.of(row) if cell.verdict == verdict and cell.counts]
            if points and (text := says(row)):
                where = "" if points == ["single"] else f" ({'; '.join(map(place, points))})"
                where += "" if verdict == Verdict.FAILS else f": {verdict}"
                criterion = of_criterion.criterion
                word = "" if criterion.level == "text" else f", {criterion.level}"
                sentences[criterion.level].append(f"{text}{where} [{criterion.section}{word}]")
    return [sentence for of_level in sentences.values() for sentence in of_level]


def place(point: str) -> str:
    """Name a point; the only one of a scenario has no name, and a case is called by its own."""
    values = values_of(point)
    return values[CASE] if list(values) == [CASE] else name_of(values) if values else ""


def appendix(judged: Sequence[Result], client: str, baseline: str, seeds: int, again: str) -> str:
    """Return Markdown for the appendix of an Internet-Draft: each criterion with what was measured, and the forms."""
    lines = [
        f"# Evaluation of {client} by the criteria of RFC 9743",
        "",
        f"Each number is a mean over at least {plural(seeds, 'seed')} of runs in virtual time, beside {baseline} in "
        "the same network and with the same seeds, with the 95 % interval of its distance inside the bound. ✓ holds, ✗ "
        f"does not hold: of either, 5 % are expected to be so by chance; ○ open; {SIGNS[Verdict.UNTESTABLE]} cannot be "
        "tested. One seed decides nothing. "
        f"Placebo: {placebo_says(judged)}. `{again}` repeats it byte for byte.",
        "",
    ]
    for of_criterion in judged:
        lines += _section(of_criterion)
    return "\n".join(lines)


def _section(of_criterion: Result) -> list[str]:
    criterion = of_criterion.criterion
    level = "" if criterion.level == "text" else f" ({criterion.level})"
    lines = [f"## {criterion.section} {criterion.title}{level}", "", criterion.asks, ""]
    if criterion.rows:
        lines += ["| | statement | where | measured |", "|---|---|---|---|"]
        for row in criterion.rows:
            for cell in of_criterion.of(row):
                says = cell.why + (f"; it {cell.ended}" if cell.ended else "") + _distance(cell)
                texts = (SIGNS[cell.verdict], row.says, place(cell.point), says.replace("|", "\\|").replace("\n", " "))
                lines.append("| " + " | ".join(texts) + " |")
        lines.append("")
    for question in criterion.form:
        lines += [f"- {question}", "", "  (to be answered by the author)", ""]
    if criterion.not_measured:
        lines += [f"Not measured: {criterion.not_measured}", ""]
    return lines


def _distance(cell: RowAtPoint) -> str:
    if cell.margin is None:
        return "; one seed" if cell.seeds == 1 else ""
    low, high = map(three_digits, cell.margin)
    return f"; inside by {low} to {high}, {plural(cell.seeds, 'seed')}"


def _data(of_criterion: Result) -> dict[str, Any]:
    return {
        **asdict(of_criterion.criterion),
        "verdict": of_criterion.verdict,
        "cells": [asdict(cell) for cell in of_criterion.cells],
    }
