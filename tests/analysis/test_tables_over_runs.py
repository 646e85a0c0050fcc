"""The tables over all runs: what is in them, that failed runs are, and that only what has changed is made again."""

import json
from pathlib import Path
from typing import Any

import frictionless
import polars as pl
import pytest

from analysis.__main__ import main
from analysis.tables.files import OF_RESULTS
from analysis.tables.of_results import OVER_RUNS, RUNS
from analysis.tables.over_runs import write_tables
from common import sums
from scenarios.run_files import OF_RUN
from tests.analysis.listed import unlisted
from tests.analysis.synthetic import vouch
from tests.analysis.test_failed_runs import WHY, measured, results

__all__ = ["results"]


def table(results: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(results / "tables" / f"{name}.parquet")


@pytest.fixture
def made(results: Path) -> Path:
    """Results with values of cells of several kinds, measured, with their tables."""
    values: list[dict[str, Any]] = [
        {"rate": "2mbit", "n": 1, "mixed": "10ms"},
        {"rate": "10mbit", "n": 2, "mixed": "off"},
    ]
    for folder, of_cell in zip(sorted(results.glob("runs/*/*/*/seed-*")), values, strict=True):
        counted = {"sent_pkts": 90, "sent_bytes": 135_000, "dropped_pkts": 10}
        more: tuple[dict[str, Any], ...] = {"cell_values": of_cell}, {"counters": {"queues": {"bottleneck": counted}}}
        for name, fields in zip(OF_RUN, more, strict=True):
            text = json.dumps(json.loads((folder / name).read_text()) | fields)
            (folder / name).write_text(text)
        vouch(folder)
    [experiment] = (results / "runs").glob("*/*")
    measured(results, experiment.name)
    assert main(["tables", "--results", str(results)]) == 0
    return results


def test_every_file_of_results_is_on_the_page(made: Path) -> None:
    [experiment] = (made / "experiments").glob("*/")
    assert main(["figure", experiment.name, "--runs", str(made / "runs"), "--out", str(made / "experiments")]) == 0
    assert main(["report", "--results", str(made), "--out", str(made / "report")]) == 0
    assert (experiment / "figure.html").exists()
    claims = [name for name in unlisted(made, OF_RESULTS) if name.startswith("made/")]  # the test's own
    assert unlisted(made, OF_RESULTS) == claims


def test_every_run_has_a_row_and_one_that_failed_says_why(made: Path) -> None:
    runs = table(made, "runs")
    assert runs["seed"].to_list() == [3, 1, 2]
    assert runs["outcome"].to_list() == ["failed", "done", "done"]
    assert runs["why"].to_list() == [WHY, None, None]
    flows = table(made, "flows")
    assert set(flows["seed"]) == {1, 2}
    own = flows.filter(seed=1)
    assert own["share"].sum() == pytest.approx(1)
    assert own["throughput_bps"].min() > 0  # type: ignore[operator]  # a number
    assert own["waited_p95_ms"].to_list() == pytest.approx([3] * len(own), abs=0.1)


def test_values_of_cells_are_columns_with_their_unit(made: Path) -> None:
    runs = table(made, "runs").filter(outcome="done")
    assert runs["cell_rate_bps"].to_list() == [2_000_000, 10_000_000]
    assert runs["cell_n"].to_list() == [1, 2]
    assert runs["cell_mixed"].to_list() == ["10ms", "off"]


def test_a_queue_has_what_it_counted_and_its_trace(made: Path) -> None:
    queue = table(made, "queues").filter(seed=1).row(0, named=True)
    assert (queue["queue"], queue["discipline"], queue["loss_rate"]) == ("bottleneck", "fifo", 0.1)
    assert queue["p50_pkts"] <= queue["p95_pkts"] <= queue["max_pkts"]


def test_a_claim_has_a_row(made: Path) -> None:
    [claim] = table(made, "claims").rows(named=True)
    assert (claim["metric"], claim["seeds"], claim["held"]) == ("queue", 2, 2)
    assert claim["verdict"]


def test_the_description_is_a_data_package_of_these_files(made: Path) -> None:
    file = made / "tables/datapackage.json"
    report = frictionless.Package.validate_descriptor(str(file))
    assert report.valid, report.flatten(["message"])
    resources = {resource["name"]: resource for resource in json.loads(file.read_text())["resources"]}
    assert list(resources) == [each.name for each in OVER_RUNS]
    for name, resource in resources.items():
        rows = table(made, name)
        assert [field["name"] for field in resource["schema"]["fields"]] == rows.columns
        kinds = {"boolean": pl.Boolean, "string": pl.String, "number": pl.Float64, "integer": pl.Int64}
        assert [kinds[field["type"]] for field in resource["schema"]["fields"]] == rows.dtypes
        required = [field["name"] for field in resource["schema"]["fields"] if "constraints" in field]
        assert sum(rows[column].null_count() for column in required) == 0
        assert resource["hash"] == f"sha256:{sums.digest(made / 'tables' / resource['path'])}"


def test_only_what_has_changed_is_made_again(made: Path, tmp_path: Path) -> None:
    [kept] = (made / "tables/.rows").glob("*/rows.json")
    first = kept.stat().st_mtime_ns
    write_tables(made)
    assert kept.stat().st_mtime_ns == first
    [folder] = made.glob("runs/*/*/*/seed-2")
    folder.rename(folder.with_name("seed-4"))
    write_tables(made)
    assert sorted(table(made, RUNS.name)["seed"]) == [1, 3, 4]
    second = kept.stat().st_mtime_ns
    code = tmp_path / "code"
    code.touch()
    write_tables(made, newer_than=code)
    assert kept.stat().st_mtime_ns > second > first


def test_rows_that_are_damaged_are_made_again(made: Path) -> None:
    (kept,) = (made / "tables/.rows").glob("*/rows.json")
    whole = kept.read_text()
    kept.write_text(whole.replace('"seed": 1', '"seed": 7'))
    write_tables(made)
    assert 7 not in table(made, RUNS.name)["seed"]
