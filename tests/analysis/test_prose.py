"""Numbers in text by people: those of the studies against the data behind them, and how a page marks others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from analysis.claims import registry
from analysis.judge.rules import HOLDS
from analysis.judge.verdict import Verdict
from analysis.reference.files import read
from analysis.report import prose
from analysis.report.results import LOOKS, ExperimentResult, collect, states_of_findings
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
def experiments(tmp_path_factory: pytest.TempPathFactory) -> list[ExperimentResult]:
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
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("study", STUDIES)
def test_what_a_study_concludes_agrees_with_the_verdicts(study: str, experiments: list[ExperimentResult]) -> None:
    about = registry.load_study(kept_results.STUDIES / study)
    states = states_of_findings(claim for result in experiments if result.study == study for claim in result.claims)
    assert about.concluded.keys() <= about.conclusions.keys()
    assert ("right" in about.concluded) == ("right" in about.conclusions)
    allowed: dict[str, set[str]] = {
        "short": {*HOLDS, Verdict.FAILS},
        "right": set(HOLDS),
        "wrong": {Verdict.FAILS},
        "open": {Verdict.OPEN, Verdict.UNTESTABLE, *LOOKS.values()},  # as on the first page
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
    if name in EXPERIMENTS or name.startswith(registry.NOT_KEPT):
        return True
    values = [part.partition("=")[2] for part in name.split(",")]
    return all(value and value in SCENARIOS[runs_of] for value in values)


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_of_conclusions_are_those_of_the_reference_set(study: str, experiments: list[ExperimentResult]) -> None:
    own = [result for result in experiments if result.study == study]
    known = prose.values_of(own) | ARITHMETIC
    wrong = []
    for sentences in registry.load_study(kept_results.STUDIES / study).conclusions.values():
        for sentence in sentences:
            wrong += [f"{number[0]} in: {sentence}" for number in unknown(sentence, known)]
    not_recorded = [result.id for result in own if result.folder is None]
    if wrong and not_recorded:
        pytest.skip(f"the reference set lacks {', '.join(not_recorded)}; nothing else shows {'; '.join(wrong)}")
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_of_causes_are_those_of_the_reference_set(study: str, experiments: list[ExperimentResult]) -> None:
    """Each number is the experiment's own, one of an experiment that the cause names, or stands in their scenarios."""
    wrong = []
    for result in (result for result in experiments if result.study == study):
        for claim in result.claims:
            if cause := claim.get("cause"):
                named = prose.quoted_by(prose.text_of(cause), result, experiments)
                known = prose.values_of(named) | ARITHMETIC
                known |= set(prose.leaves([SCENARIOS[other.data["experiment"]["runs_of"]] for other in named]))
                wrong += [f"{claim['id']}: {number[0]}" for number in unknown(cause["text"], known)]
    assert not wrong, "\n".join(map(str, wrong))


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
    assert text.count("<u ") == 2 and "title=" not in text  # nobody points at paper, or on a phone
    assert "dotted</u>: by hand; no number here shows it" in text and "hand" not in prose.marked("0.65", {0.65})
    assert "12\N{NO-BREAK SPACE}% and" in text  # no line ends there
    assert "&lt;b&gt;" in text and "<code>13</code>" in text


def test_a_cause_may_quote_the_experiments_that_it_names(experiments: list[ExperimentResult]) -> None:
    first, other, unnamed = experiments[:3]
    cause = {"text": f"It is 0.5 ({other.id}).", "evidence": "tested"}
    assert prose.quoted_by(prose.text_of(cause), first, experiments) == [first, other]
    assert prose.quoted_by(prose.text_of(cause | {"by": unnamed.id}), first, experiments) == [first, other, unnamed]


def test_a_number_is_compared_with_its_digits() -> None:
    assert prose.is_behind("0.65", {0.6549})
    assert not prose.is_behind("0.65", {0.656})
    assert prose.is_behind("12", {0.1249})  # percent
    assert not prose.is_behind("1,260", {1271.0})


def test_numbers_of_titles_are_those_of_every_seed_on_their_own_page() -> None:
    """TCP sent 6.93 to 7.01 times as many bytes, and 4CP kept 24 to 46 %: titles said 7 times, and 30 %."""
    wrong = []
    recorded = read(kept_results.REFERENCE)[1]
    for file in (file for study in STUDIES for file in registry.claims_files(kept_results.STUDIES / study)):
        experiment = registry.load(file)
        kept = recorded.get(experiment.id)
        text = experiment.data.get("result", "").replace(",", "")
        if text and kept:
            printed, known = _printed(experiment, kept), list(_ends(kept))
            for said in _SAID.finditer(text):
                is_a_name = {*filter(None, said.groups())} <= printed
                is_elsewhere = (experiment.id, said[0]) in _ELSEWHERE
                if not (is_a_name or is_elsewhere or _is_of_all_seeds(said, known)):
                    wrong.append(f"{experiment.id}: {said[0]}: {text}")
    assert not wrong, "\n".join(map(str, wrong))


_SAID = re.compile(r"(?<![\w.])(?:(\d+(?:\.\d+)?) to )?(\d+(?:\.\d+)?)(?!\w)")
_ELSEWHERE = {
    ("today-lossy-long", "19"),  # s that others report, as the claim's source says
    ("aina-fig3-delay-decrease", "25 to 47"),  # ms: the target, and what is measured
    ("pam-table1-choices", "11680"),  # B: a setting
}


def _is_of_all_seeds(said: re.Match[str], known: list[tuple[float, float]]) -> bool:
    """Say whether a number is that of all seeds, rounded, or the ends are those of their range, maybe of several."""
    low, number = said.groups()
    before, after = said.string[: said.start()], said.string[said.end() :]
    has_least = any(_rounds(least, low or number) for least, _ in known)
    has_most = any(_rounds(most, number) for _, most in known)
    if low:
        return has_least and has_most
    if before.endswith(("at most ", "up to ", "within ")) or re.match(r" \S+ or less", after):
        return has_most
    if before.endswith("at least ") or re.match(r"(?: \S+)? or more", after):
        return has_least
    return any(_rounds(least, number) and _rounds(most, number) for least, most in known)


def _printed(experiment: registry.Experiment, kept: dict[str, Any]) -> set[str]:
    """Give the numbers that name things: in titles, in the paper, in names of numbers, and counts of seeds."""
    said = [experiment.data["title"], *_numbers(kept)]
    said += [f"{claim.data.get('paper')} {claim.data.get('title')}" for claim in experiment.claims]
    counts = [len(claim["held"]) for claim in kept["claims"].values() if claim["held"]]
    counts += [sum(claim["held"].values()) for claim in kept["claims"].values() if claim["held"]]
    return {*re.findall(r"\d+(?:\.\d+)?", " ".join(said)), *map(str, counts)}


def _numbers(kept: dict[str, Any]) -> dict[str, list[float]]:
    """Give the numbers of figures and beside claims."""
    found: dict[str, list[float]] = {}
    for kind in ("figure", "also_measured"):
        for name, some in kept.get(kind, {}).items():
            found[name] = [value for value in (some.values() if isinstance(some, dict) else some) if value != "never"]
    return found


def _ends(kept: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """Give the smallest and the largest of each quantity over its seeds, as parts and percent."""
    ranges = [
        [value for value in claim["by_seed"].values() if value != "never"]
        for claim in kept["claims"].values()
        if claim["by_seed"]
    ]
    ranges += _numbers(kept).values()
    for values in filter(None, ranges):
        for factor in (1, 100):
            low, high = factor * min(values), factor * max(values)
            yield from ((low, high), (factor - high, factor - low), (100 - high, 100 - low))


def _rounds(value: float, printed: str) -> bool:
    return abs(value - float(printed)) <= 0.5 * 10.0 ** -len(printed.partition(".")[2]) * (1 + 1e-9)
