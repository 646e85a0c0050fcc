"""The pages of products, made of runs by hand: on a desk, on a phone, and for a checker of HTML.

Those of `hunt`, `rewind` and `check`, which need a guest, are looked at where these are tested.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.capture.columns import write_columns
from analysis.judge.verdict import Verdict
from analysis.observer.standalone import report
from testbed.check import page as check
from testbed.compare import judge as comparison
from testbed.compare import pages as compare
from testbed.conformance import judge as conformance
from testbed.evaluate import matrix
from testbed.evaluate import pages as evaluate
from testbed.gate import budgets, pictures, reports
from testbed.gate import judge as gate
from testbed.interop import judge as interop
from tests.analysis.browser import chromium, invalid, unsound
from tests.analysis.synthetic import plain, vouch, write
from tests.testbed.test_evaluate import cell, judged
from tests.testbed.test_gate import SCENARIO, budget, put
from tests.testbed.test_interop import pairs_that_differ

SEEDS = 4
AGAIN = "testbed product 'of an order' --seeds 4"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from chromium()


def raced(results: Path, study: str) -> Path:
    """Runs of two controls in a scenario of a study, which lies beside them; return the scenario."""
    scenario = results / "studies" / study / "race.yaml"
    scenario.parent.mkdir(parents=True)
    scenario.write_text(SCENARIO.replace("[tcp-ledbat]", "[tcp-cubic, tcp-ledbat]"))
    for every, client in enumerate(("tcp-cubic", "tcp-ledbat"), 1):
        for seed in range(1, SEEDS + 1):
            made = plain()
            made.flows, made.cell, made.seed = ("client", "tcp"), f"client={client}", seed
            own = [packet for packet in made.packets if packet.flow == 0][::every]
            made.packets = [packet for packet in made.packets if packet.flow == 1] + own
            made.packets.sort(key=lambda packet: packet.arrives)
            made.changes = {"cell_values": {"client": client}}
            write_columns(write(results / "runs", made))
    return scenario


def a_check(folder: Path) -> list[Path]:
    run = write(folder / "runs" / "transfer", plain())
    findings = [
        {"demand": "sends", "wrong": wrong, "runs": "runs/transfer"} for wrong in (None, f"it died (logs in {run})")
    ]
    refused = write(folder / "runs" / "unknown", plain())
    refused.rename(refused.with_name("failed-seed-1"))
    findings.append({"demand": "refuses", "wrong": None, "runs": "runs/unknown"})
    document = {"format": check.FORMAT, "implementation": "mine", "complete": True, "findings": findings}
    (folder / check.FILE).write_text(json.dumps(document))
    page = check.write(folder, AGAIN)
    assert "of the 3 runs here, none failed" in page.read_text()  # a refusal was asked for
    return [page]


def a_comparison(folder: Path) -> list[Path]:
    comparison.compare(folder, raced(folder, comparison.STUDY))
    index = compare.write_pages(folder, AGAIN)
    return [index, folder / "made-by-hand.html"]


def a_conformance(folder: Path) -> list[Path]:
    (folder / "runs").mkdir()
    conformance.write(folder, AGAIN)
    return [folder / "index.html"]


def an_evaluation(folder: Path) -> list[Path]:
    cells = [cell("rate=1mbit", Verdict.FAILS), cell("rate=2mbit", Verdict.HOLDS)]
    run = write(folder / "mine" / "runs", plain())
    run.rename(folder / "mine" / "runs" / "x")
    (folder / "mine" / "runs" / "made").rename(folder / "mine" / "runs" / "others")
    form = judged("MUST", [])
    each = [judged("MUST", cells), replace(form, criterion=replace(form.criterion, id="y"))]
    return [evaluate.write(folder / "mine", each, "mine", "tcp-cubic", 5, {}, AGAIN), matrix.write(folder)]


def a_gate(folder: Path) -> list[Path]:
    raced(folder, gate.STUDY)
    file = put(folder, budget("keeps a short queue", "queue_ms.mean() < 9"), budget("loses less", "loss_rate() < 0"))
    judgement = gate.judge(budgets.load(file), folder, "tcp-ledbat")
    reports.write(judgement, folder, AGAIN)
    versions = folder / "versions"
    versions.mkdir()
    folders = {version: versions / version for version in ("1.0", "1.1")}
    for of_version in folders.values():
        raced(of_version, gate.STUDY)
        reports.write(judgement, of_version, AGAIN)
    judgements = dict.fromkeys(folders, judgement)
    return [folder / "index.html", pictures.write(versions, "mine", judgements, folders, AGAIN)]


def an_interop(folder: Path) -> list[Path]:
    pairs = pairs_that_differ()
    pairs[1]["unsupported"] = ""
    for name, received in (("transfer", 1000), ("loss", 900)):
        run = folder / "runs" / "interop" / "a-to-b" / f"case={name}" / "seed-1"
        run.mkdir(parents=True)
        ended = {"received_bytes": received, "completed_ns": 5, "sender_exit": 0, "receiver_exit": 0}
        (run / "summary.json").write_text(json.dumps({"error": None, "flows": {"pair": ended}}))
        flows = [{"name": "pair", "bytes": 1000}]
        (run / "run.json").write_text(json.dumps({"flows": flows, "duration_ns": 60_000_000_000}))
        vouch(run)
    cases = {"transfer": "All arrives", "loss": "Packets are lost"}
    order = {"implementations": ["a", "b"], "cases": cases, "pairs": pairs, "scripts": {}, "alone": []}
    interop.write(folder, order, AGAIN)
    return [folder / "index.html"]


def an_observation(folder: Path) -> list[Path]:
    captures = sorted((write(folder / "runs", plain()) / "pcap").glob("*.pcap"))
    return [report.observe(captures, folder / "out")]


KINDS = (a_check, a_comparison, a_conformance, an_evaluation, a_gate, an_interop, an_observation)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_page_is_sound(kind: Callable[[Path], list[Path]], browser: Any, tmp_path: Path) -> None:
    for page in kind(tmp_path):
        assert unsound(browser, page) == []
        assert invalid(page.parent, page.name) == ""
        assert "of an order" in page.read_text() or kind in (an_evaluation, an_observation)
