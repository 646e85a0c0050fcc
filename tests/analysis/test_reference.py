"""The reference set: recorded in one go from complete results of one commit, and compared with others."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.claims import registry
from analysis.errors import BadInputError
from analysis.reference.files import FORMAT, SET, read
from analysis.reference.record import record
from analysis.report.beside import reference_set
from scenarios import cells, scenario_files
from tests.analysis import kept_results
from tests.analysis.synthetic import vouch

STUDY = kept_results.STUDIES / "aina"
NAME = "aina-table2-throughput"
EXPLAIN = ("aina-base-history", "aina-fig2-choices")
COMMIT = "c" * 40
KERNEL = {"digest": "a" * 64, "release": "7.3.4-testbed"}


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a study as a complete recording leaves them."""
    results = tmp_path_factory.mktemp("complete")
    kept_results.write(results, "aina")
    planned: dict[str, list[dict[str, Any]]] = {}
    for cell in cells.plan(list(scenario_files(STUDY)), "complete"):
        run = {
            "cell": cell["cell"],
            "size": "complete",
            "wall_s": 1.0,
            "virtual_s": 1.0,
            "ended": "2026-11-28T10:00:00+00:00",
        }
        planned.setdefault(cell["experiment"], []).extend({**run, "seed": seed} for seed in cell["seeds"])
    made = {"commit": [COMMIT], "kernel": [KERNEL], "module:tcp_ledbat": [{"digest": "b" * 64}]}
    for folder in (results / "experiments").glob("*/"):
        change(folder, lambda data: data | {"runs": planned[data["experiment"]["runs_of"]], "provenance": made})
    return results


def change(folder: Path, changed: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Change what was measured of an experiment."""
    verdicts = folder / "verdicts.json"
    verdicts.write_text(json.dumps(changed(json.loads(verdicts.read_text()))))
    vouch(folder)


def test_a_set_says_what_it_was_made_from_and_has_the_seeds_of_each_number(complete: Path, tmp_path: Path) -> None:
    record([STUDY], complete, tmp_path, COMMIT)
    about, kept = read(tmp_path)
    runs = sum(len(cell["seeds"]) for cell in cells.plan(list(scenario_files(STUDY)), "complete"))
    made_from = {"kernel": KERNEL, "module:tcp_ledbat": {"digest": "b" * 64}}
    said = {"commit": COMMIT, "date": "2026-11-28", "made_from": made_from, "runs": runs, "studies": ["aina"]}
    assert about == said | {"versions": {}, "format": FORMAT, "measured_by": COMMIT}
    assert kept.keys() == {registry.load(file).id for file in registry.claims_files(STUDY)}
    fields = {"also_measured", "claims", "commit", "figure", "runs"}
    assert all(one.keys() == fields and one["commit"] == COMMIT for one in kept.values())
    # a line for each claim: the history shows which ones changed
    text = (tmp_path / f"{NAME}.json").read_text()
    claims = kept[NAME]["claims"]
    assert {name: text.count(f'\n "{name}": ') for name in claims} == dict.fromkeys(claims, 1)
    assert main(["diff", "--results", str(complete), "--reference", str(tmp_path)]) == 0


def _other_kernel(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"provenance": data["provenance"] | {"kernel": [{"digest": "d" * 64}]}}


def _other_commit(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"provenance": data["provenance"] | {"commit": ["e" * 40, f"{COMMIT}-dirty"]}}


def _two_modules(data: dict[str, Any]) -> dict[str, Any]:
    two = [{"digest": "b" * 64}, {"digest": "f" * 64}]
    return data | {"provenance": data["provenance"] | {"module:tcp_ledbat": two}}


def _fewer_runs(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"runs": data["runs"][2:]}


def _more_runs(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"runs": [*data["runs"], data["runs"][0] | {"seed": 99}]}


def _quick(data: dict[str, Any]) -> dict[str, Any]:
    return data | {"runs": [run | {"size": "quick"} for run in data["runs"]]}


def _failed(data: dict[str, Any]) -> dict[str, Any]:
    first = data["runs"][0]
    failed = {"cell": first["cell"], "seed": first["seed"], "why": "it hung"}
    return data | {"runs": data["runs"][1:], "failed": [failed]}


def _untested(data: dict[str, Any]) -> dict[str, Any]:
    not_run = {"reason": "tests not run", "why": "no kernel"}
    claim = {"verdict": "cannot be tested", "why": "no kernel", "not_testable": not_run}
    return data | {"claims": [data["claims"][0] | claim, *data["claims"][1:]]}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (_other_kernel, "kernel: found aaaaaaaaaaaa (aina-"),
        (_other_kernel, f"and dddddddddddd ({NAME}); allowed: one build"),
        (_two_modules, "module:tcp_ledbat: found bbbbbbbbbbbb (aina-"),
        (_other_commit, f" and {'e' * 40} ({NAME}) and {COMMIT}-dirty ({NAME}); allowed: one build"),
        (_other_commit, f"commit: found {COMMIT}-dirty ({NAME}); allowed: runs of a clean checkout"),
        (_fewer_runs, f"{NAME}: found no run of size complete: cell "),
        (_more_runs, f"{NAME}: found a run that its scenario does not ask for: cell "),
        (_quick, f"{NAME}: found no run of size complete: cell "),
        (_failed, " failed: it hung"),
        (_untested, f"{NAME}/e01: found no measurement: no kernel"),
    ],
)
def test_a_mixture_is_not_recorded(
    complete: Path, tmp_path: Path, changed: Callable[[dict[str, Any]], dict[str, Any]], said: str
) -> None:
    results = tmp_path / "results"
    shutil.copytree(complete, results)
    change(results / "experiments" / NAME, changed)
    with pytest.raises(BadInputError) as refused:
        record([STUDY], results, tmp_path / "set", COMMIT)
    assert said in str(refused.value)
    assert not (tmp_path / "set").exists()


def test_nothing_is_recorded_from_other_files_in_part_or_beside_another_set(complete: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(complete, results)
    shutil.rmtree(results / "experiments" / NAME)
    (tmp_path / "set").mkdir()
    (tmp_path / "set/pam-fig4b.json").write_text("{}")
    with pytest.raises(BadInputError) as refused:
        record([STUDY], results, tmp_path / "set", f"{COMMIT}-dirty")
    for said in (
        f"the checkout: found files that differ from commit {COMMIT}; allowed: none",
        f"{NAME}: found no measurement",
        "pam-fig4b.json: found beside this set; allowed: its experiments alone",
    ):
        assert said in str(refused.value)


def test_a_file_of_another_recording_is_not_read(complete: Path, tmp_path: Path) -> None:
    record([STUDY], complete, tmp_path, COMMIT)
    file = tmp_path / f"{NAME}.json"
    file.write_text(file.read_text().replace(COMMIT, "e" * 40))
    with pytest.raises(BadInputError, match=f"found commit {'e' * 40}; allowed: {COMMIT}"):
        read(tmp_path)


def test_a_set_of_another_format_is_not_read(complete: Path, tmp_path: Path) -> None:
    record([STUDY], complete, tmp_path, COMMIT)
    file = tmp_path / SET
    file.write_text(file.read_text().replace(f'"format": {FORMAT}', '"format": 99'))
    with pytest.raises(BadInputError, match=f"{file}: format: found 99, allowed is {FORMAT}"):
        read(tmp_path)


def test_the_repository_has_whole_sets() -> None:
    _, kept = read(kept_results.REFERENCE)  # refuses a file of another recording than its set
    studied = {registry.load(file).id for file in kept_results.STUDIES.glob("*/*.claims.yaml")}
    assert kept.keys() == studied
    for file in kept_results.REFERENCE.rglob(SET):
        about = json.loads(file.read_text())
        assert len(about["commit"]) == 40 and about["runs"] and about["date"]
        assert {"kernel", "rootfs", "tools", "module:tcp_ledbat_research"} <= about["made_from"].keys()
        own = {
            registry.load(one).id
            for study in about["studies"]
            for one in registry.claims_files(kept_results.STUDIES / study)
        }
        assert own == {one.stem for one in file.parent.glob("*.json")} - {"set"}


def test_an_experiment_is_of_the_day_of_its_own_set_and_runs_count_over_the_sets_of_a_commit() -> None:
    full, sets = reference_set(kept_results.REFERENCE), {}
    for file in kept_results.REFERENCE.rglob(SET):
        sets[file.parent] = json.loads(file.read_text())
        for one in file.parent.glob("*-*.json"):
            assert full.called(one.stem) == f"reference set of {sets[file.parent]['date']}"
    assert len(sets) == 2
    of_commit = [each for each in sets.values() if each["commit"] == full.made["commit"]]
    assert full.runs == sum(each["runs"] for each in of_commit)
    assert full.called() == f"reference set of {max(each['date'] for each in of_commit)}"


@pytest.fixture
def compared(complete: Path, tmp_path: Path) -> tuple[Path, list[str]]:
    """Results of a study, and the arguments that compare them with what was recorded of it."""
    record([STUDY], complete, tmp_path / "set", COMMIT)
    results = tmp_path / "results"
    shutil.copytree(complete, results)
    return results, ["diff", "--results", str(results), "--reference", str(tmp_path / "set")]


def amounts(said: str) -> list[int]:
    """Give how many verdicts and values are the same, each with how many were compared."""
    last = said.splitlines()[-1]
    numbers = re.search(r": ([\d,]+) of ([\d,]+) verdicts?, ([\d,]+) of ([\d,]+) values?", last)
    assert numbers, last
    return [int(number.replace(",", "")) for number in numbers.groups()]


def test_what_is_the_same_is_counted(compared: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(compared[1]) == 0
    (said,) = capsys.readouterr().out.splitlines()
    assert said.startswith("As in the reference set, recorded on 2026-11-28 from commit cccccccccccc: ")
    verdicts, all_verdicts, values, all_values = amounts(said)
    assert verdicts == all_verdicts > 50 and values == all_values > 1000


def test_what_differs_is_named(compared: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    results, diff = compared

    def worse(data: dict[str, Any]) -> dict[str, Any]:
        first, second = data["claims"][:2]
        first["verdict"] = "nearly"
        second["measured"]["by_seed"] |= {"1": 7.0, "2": 8.0}
        del data["claims"][2]["measured"]["by_seed"]["1"]
        return _other_kernel(data)

    change(results / "experiments" / NAME, worse)
    shutil.rmtree(results / "experiments/aina-fig8-fixed-change-queue-delay")
    before = json.loads((results.parent / f"set/{NAME}.json").read_text())["claims"]
    assert main(diff) == 1
    said = capsys.readouterr().out
    first, second, third = sorted(before)[:3]
    for line in (
        f"{first}: nearly here, {before[first]['verdict']} in the reference set",
        f"{second}: 7.0 here, {before[second]['by_seed']['1']} in the reference set in seed 1, and in 1 more seed",
        f"{third}: nothing here, {before[third]['by_seed']['1']} in the reference set in seed 1",
        "aina-fig8-fixed-change-queue-delay: not measured here",
        f"Other builds than the reference set's: kernel: {'a' * 12} and {'d' * 12} here, {'a' * 12} there.",
    ):
        assert f"{line}\n" in said
    verdicts, all_verdicts, values, all_values = amounts(said)
    kept = json.loads((results.parent / "set/aina-fig8-fixed-change-queue-delay.json").read_text())
    assert all_verdicts - verdicts == 1 + len(kept["claims"]) and all_values - values == 3


def test_what_decides_no_finding_may_be_missing(
    compared: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    results, diff = compared
    for name in EXPLAIN:
        shutil.rmtree(results / "experiments" / name)
    assert main(diff) == 0
    said, _ = capsys.readouterr().out.splitlines()
    assert said == f"Not run here: 2 experiments of the reference set ({', '.join(EXPLAIN)})."


def test_a_quick_look_is_compared_in_its_seed_and_what_it_omits_is_no_difference(
    compared: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    results, diff = compared
    shutil.rmtree(results / "experiments")
    kept_results.write(results, "aina", size="quick")
    shutil.rmtree(results / "experiments/aina-base-history")
    with_tests = "aina-sec4-model-conformance"
    change(results / "experiments" / with_tests, _untested)
    assert main(diff) == 0
    said = capsys.readouterr().out
    assert "Not run at size quick: what 1 claim of these experiments needs.\n" in said
    assert "Not run here: 1 experiment of the reference set (aina-base-history).\n" in said
    assert re.search(r"[\d,]+ of [\d,]+ values of the seed that ran, to nine digits\.$", said)
    verdicts, all_verdicts, values, all_values = amounts(said)
    assert verdicts == all_verdicts and 50 < values == all_values < 1000

    def other(data: dict[str, Any]) -> dict[str, Any]:
        data["claims"][0]["measured"]["by_seed"]["1"] = 7.0
        return data

    change(results / "experiments" / NAME, other)
    assert main(diff) == 1
    assert f"{NAME}/e01: 7.0 here, " in capsys.readouterr().out


def test_two_results_are_compared_without_a_recording(compared: tuple[Path, list[str]], tmp_path: Path) -> None:
    results, _ = compared
    other = tmp_path / "other"
    shutil.copytree(results, other)
    diff = ["diff", "--results", str(results), "--reference", str(other)]
    assert main(diff) == 0
    change(results / "experiments" / NAME, lambda data: data | {"claims": data["claims"][1:]})
    assert main(diff) == 1
