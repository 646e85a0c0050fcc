"""Cells of the papers in ns-2: what was recorded belongs to this ns-2."""

import json
from statistics import fmean

import pytest

from analysis.claims import registry
from analysis.ns2 import NUMBERS, SPREAD, by_claim, cells
from images import build_root, locked
from images.cache import file_digest
from images.ns2 import build
from testbed.folders import STUDIES
from testbed.simulator.__main__ import FOLDER, KEPT
from testbed.simulator.run import SCRIPT


def test_the_results_are_of_these_cells_and_this_script() -> None:
    kept = json.loads(KEPT.read_text())
    assert kept["made_by"]["script"] == file_digest(SCRIPT)
    assert [*kept["cells"]] == [cell.id for cell in cells(FOLDER)]
    assert {cell.id: cell.seeds for cell in cells(FOLDER)} == {
        name: len(of["jain"]) for name, of in kept["cells"].items()
    }


def test_each_cell_names_the_papers_numbers_of_its_kind() -> None:
    claims = {claim.id: claim for file in STUDIES.glob("icccn/*.claims.yaml") for claim in registry.load(file).claims}
    metrics = {"utilization": "link_utilization", "jain": "jain_fairness", "loss": "loss_rate"}
    for cell in cells(FOLDER):
        for number, name in cell.claims.items():
            claim = claims[f"{cell.experiment}/{name}"]
            of = number.removesuffix(SPREAD)
            assert of in NUMBERS
            assert (claim.metric, claim.statistic) == (metrics[of], "std" if number != of else "mean")
            assert claim.cell in (None, f"case={cell.case}")


def test_the_build_root_has_what_ns2_needs() -> None:
    lock = locked.read(build.LOCK, build.SUITE, build.PACKAGES, build.NAME)
    assert {package.name for package in build_root.base_lock().packages} <= {package.name for package in lock.packages}


def test_claims_find_what_the_simulator_gives_in_each_reading() -> None:
    simulated = by_claim(FOLDER)
    fairness = simulated["icccn-table1-ledbat-vs-ledbat/e02"]
    assert [entry["title"] for entry in fairness][:2] == ["as written", "filter of 3"]
    assert fairness[0]["measured"]["seeds"] == 10
    kept = json.loads(KEPT.read_text())["cells"]["icccn-table1-ledbat-vs-ledbat/c2-dt2/as written"]
    assert fairness[0]["measured"]["mean"] == pytest.approx(fmean(kept["jain"]))
    assert simulated["icccn-table1-ledbat-vs-ledbat/e03"][0]["measured"] == fairness[0]["measured"]
    utilization = simulated["icccn-table1-ledbat-vs-ledbat/e01"][0]["measured"]["mean"]
    assert utilization == pytest.approx(100 * fmean(kept["utilization_of_whole_run"]))
