"""Numbers in text by people: those of the studies against the data behind them, and how a page marks others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from statistics import fmean, median
from typing import Any

import pytest

from analysis.claims import registry
from analysis.report import prose
from analysis.report.beside import HOLDS
from analysis.report.results import LOOKS, Result, collect, states_of_findings
from analysis.verdicts.rules import Verdict
from tests.analysis import kept_results

SCENARIOS = {
    experiment.id: experiment.scenario.read_text()
    for experiment in map(registry.load, kept_results.STUDIES.glob("*/*.claims.yaml"))
    if experiment.scenario
}
EXPERIMENTS = {experiment.id for experiment in map(registry.load, kept_results.STUDIES.glob("*/*.claims.yaml"))}
STUDIES = sorted(study.name for study in kept_results.STUDIES.iterdir())
# worked out in the text, from what it says
ARITHMETIC = {
    # of ICCCN's 300 s without the start gaps: s, percent
    *(300 - gap for gap in (2, 5, 10)),
    *(100 * (300 - gap) / 300 for gap in (2, 5, 10)),
    # ICCCN's path holds at 10 Mbit/s, and with its buffer of 10 packets at 2 Mbit/s: packets of 12,000 bits
    10e6 * 0.05 / 12_000,
    2e6 * 0.05 / 12_000 + 10,
}


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> list[Result]:
    root = tmp_path_factory.mktemp("kept")
    kept_results.write(root)
    return collect(root)


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_of_findings_are_printed_by_the_paper(study: str) -> None:
    folder = kept_results.STUDIES / study
    experiments = [registry.load(file) for file in registry.claims_files(folder)]
    wrong = []
    for finding, sentence in registry.load_study(folder).findings.items():
        known: set[float] = set()
        for result in experiments:
            claims = [{**claim.data, "cause": None} for claim in result.claims if claim.finding == finding]
            known |= set(prose.leaves([claims, result.data["title"]])) if claims else set()
        wrong += [
            f"{finding}: {number[0]}" for number in prose.numbers(sentence) if not prose.is_behind(number[0], known)
        ]
    assert wrong == []


@pytest.mark.parametrize("study", STUDIES)
def test_what_a_study_concludes_agrees_with_the_verdicts(study: str, experiments: list[Result]) -> None:
    about = registry.load_study(kept_results.STUDIES / study)
    states = states_of_findings(claim for result in experiments if result.study == study for claim in result.claims)
    assert about.concluded.keys() <= about.conclusions.keys()
    assert ("right" in about.concluded) == ("right" in about.conclusions)
    allowed = {
        "short": {*HOLDS, Verdict.NOT_REPRODUCED},
        "right": set(HOLDS),
        "wrong": {Verdict.NOT_REPRODUCED},
        "open": {Verdict.UNDECIDED, Verdict.NOT_TESTABLE, *LOOKS.values()},  # as on the first page
    }
    concluded = [(kind, name) for kind, names in about.concluded.items() for name in names]
    assert {name for _, name in concluded} <= about.findings.keys()
    assert [(kind, name, states[name]) for kind, name in concluded if states[name] not in allowed[kind]] == []
    # what only one seed shows is called so
    looks = {kind for kind, name in concluded if states[name] in LOOKS.values()}
    assert [kind for kind in looks if "one seed" not in " ".join(about.conclusions[kind])] == []


def test_a_tested_cause_names_a_run_that_exists() -> None:
    """`by` begins with an experiment, or a cell of the own one, or says that the runs were not kept."""
    missing = []
    for study in STUDIES:
        for file in registry.claims_files(kept_results.STUDIES / study):
            experiment = registry.load(file)
            for claim in experiment.claims:
                cause = claim.data.get("cause")
                if cause and "by" in cause and not _exists(cause["by"].partition(",")[0].strip(), experiment.runs_of):
                    missing.append(f"{claim.id}: {cause['by']}")
    assert missing == []


def _exists(name: str, runs_of: str) -> bool:
    if name in EXPERIMENTS or name.startswith("runs that were not kept: "):
        return True
    values = [part.partition("=")[2] for part in name.split(",")]
    return all(value and value in SCENARIOS[runs_of] for value in values)


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_of_conclusions_are_those_of_the_reference_set(study: str, experiments: list[Result]) -> None:
    own = [result for result in experiments if result.study == study]
    known = prose.values_of(own) | ARITHMETIC
    wrong = []
    for sentences in registry.load_study(kept_results.STUDIES / study).conclusions.values():
        for sentence in sentences:
            wrong += [f"{number[0]} in: {sentence}" for number in unknown(sentence, known)]
    not_recorded = [result.id for result in own if result.folder is None]
    if wrong and not_recorded:
        pytest.skip(f"the reference set lacks {', '.join(not_recorded)}; nothing else shows {'; '.join(wrong)}")
    assert wrong == []


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_of_causes_are_those_of_the_reference_set(study: str, experiments: list[Result]) -> None:
    """Each number is the experiment's own, one of an experiment that the cause names, or stands in their scenarios."""
    wrong = []
    for result in (result for result in experiments if result.study == study):
        for claim in result.claims:
            if cause := claim.get("cause"):
                named = prose.quoted_by(prose.text_of(cause), result, experiments)
                known = prose.values_of(named) | ARITHMETIC
                known |= set(prose.leaves([SCENARIOS[other.data["experiment"]["runs_of"]] for other in named]))
                wrong += [f"{claim['id']}: {number[0]}" for number in unknown(cause["text"], known)]
    assert wrong == []


def unknown(text: str, known: set[float]) -> list[re.Match[str]]:
    return [number for number in prose.numbers(text) if not prose.is_behind(number[0], known)]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It is 0.65, 17,520 bytes or 6.5e-4 in Fig. 2(a), e05 and sec. 4", ["0.65", "17,520", "6.5e-4"]),
        ("two of 3 seeds, `base_history: 12`, RFC 6817", []),
        ("15 % at 2.0 s.", ["15", "2.0"]),
    ],
)
def test_numbers_are_those_that_say_how_much(text: str, numbers: list[str]) -> None:
    assert [number[0] for number in prose.numbers(text)] == numbers


def test_what_no_result_shows_is_marked() -> None:
    text = prose.marked("<b> 0.65 and 0.66, 12 % and `13`", {0.6512, 0.12})
    assert '">0.66</u>' in text
    assert text.count("<u ") == 1
    assert "&lt;b&gt;" in text and "<code>13</code>" in text


def test_a_cause_may_quote_the_experiments_that_it_names(experiments: list[Result]) -> None:
    first, other, unnamed = experiments[:3]
    cause = {"text": f"It is 0.5 ({other.id}).", "evidence": "tested"}
    assert prose.quoted_by(prose.text_of(cause), first, experiments) == [first, other]
    assert prose.quoted_by(prose.text_of(cause | {"by": unnamed.id}), first, experiments) == [first, other, unnamed]


def test_a_number_is_compared_with_its_digits() -> None:
    assert prose.is_behind("0.65", {0.6549})
    assert not prose.is_behind("0.65", {0.656})
    assert prose.is_behind("12", {0.1249})  # percent
    assert not prose.is_behind("1,260", {1271.0})


def test_percentages_of_titles_are_those_of_their_own_page() -> None:
    """A title quotes no other page: LEDBAT with another estimate used 3 % of the link, the page's own 99.7 %."""
    wrong = []
    for file in (file for study in STUDIES for file in registry.claims_files(kept_results.STUDIES / study)):
        experiment = registry.load(file)
        recorded = kept_results.REFERENCE / f"{experiment.id}.json"
        kept = json.loads(recorded.read_text()) if recorded.exists() else {}
        if (
            "figure" not in kept or experiment.data["figure"]["kind"] == "map"
        ):  # of a map's cells, a title joins several
            continue
        known = [[*(100 * part for part in some), *some] for some in _statistics(kept)]
        known += [[100 - percent for percent in some] for some in known]
        said = [experiment.data["title"]]
        said += [f"{claim.data.get('paper')} {claim.data.get('title')}" for claim in experiment.claims]
        printed = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", " ".join(said))}
        for numbers in re.findall(r"(?:(\d[\d.]*) to )?(\d[\d.]*) %", experiment.data.get("result", "")):
            ends = [number for number in numbers if number]
            of_one = any(all(any(_rounds(value, end) for value in some) for end in ends) for some in known)
            if not of_one and not {float(end) for end in ends} <= printed:
                wrong.append(f"{experiment.id}: {' to '.join(ends)} %")
    assert wrong == []


def _statistics(kept: dict[str, Any]) -> Iterator[list[float]]:
    """Give smallest, middle and largest of each quantity that the reference set has of an experiment."""
    for claim in kept["claims"].values():
        values = [value for value in (claim["by_seed"] or {}).values() if value != "never"]
        if values:
            yield [min(values), median(values), fmean(values), max(values)]
    for spread in kept["figure"].values():
        yield [value for value in spread if isinstance(value, int | float)]
    for spread in kept.get("also_measured", {}).values():
        yield [spread["minimum"], spread["mean"], spread["maximum"]]


def _rounds(value: float, printed: str) -> bool:
    return abs(value - float(printed)) <= 0.5 * 10.0 ** -len(printed.partition(".")[2]) * (1 + 1e-9)
