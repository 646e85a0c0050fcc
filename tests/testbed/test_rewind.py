"""`testbed rewind`: what is wrong with an order, the search for the instant, and futures of one real run."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.run_json import NS
from common import sums
from engine.errors import EngineError
from testbed.cli import main
from testbed.rewind import bisection, futures, history
from tests.analysis.browser import unsound_by_itself

SCENARIO = """\
experiment: turned
title: Losses, a longer path, and then nothing passes
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 1mbit, buffer: 30p}
delay: {forward: 10ms, backward: 10ms}
flows: [{name: client, implementation: tcp-cubic, from: s1, to: d1, start: 100ms}]
start_jitter: 50ms
events:
  - {at: 300ms, on: path, loss: {forward: 10%}}
  - {at: 500ms, on: path, suspension: {forward: 100ms}}
  - {at: 2s, on: path, loss: {forward: 100%}}
duration: 3500ms
"""
FAR = 1 << 62
PROPERTY = 'throughput("client", 2.5, 3.5) > 50000'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return carried_out(SCENARIO, tmp_path_factory.mktemp("rewind"))


def carried_out(scenario: str, folder: Path) -> Path:
    (folder / "turned.yaml").write_text(scenario)
    assert main(["run", str(folder / "turned.yaml"), "--seed", "3", "--columns", "--into", str(folder / "runs")]) == 0
    [run] = folder.glob("runs/*/turned/single/seed-3")
    return run


def test_other_futures_have_the_same_past(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    order = ["rewind", str(run), "--at", "1s", "--futures", "2", "--property", PROPERTY, "--into", str(tmp_path)]
    assert main([*order, "--capture", "sender"]) == 1
    printed = capsys.readouterr().out
    assert f"{run}: carried out again, with the same bytes" in printed
    [document] = [json.loads(file.read_text()) for file in tmp_path.glob("*/rewind.json")]
    assert [future["failed"] for future in document["futures"]] == [True, True]
    assert all(future["same_pkts"] > 20 for future in document["futures"])
    captures = [Path(future["folder"], "pcap") for future in document["futures"]]
    assert all((folder / "sender.pcap.gz").exists() for folder in captures)
    [page] = tmp_path.glob("*/index.html")
    assert f"Page: {page}" in printed
    assert unsound_by_itself(page) == []
    text = page.read_text()
    assert "2 of 2 futures of turned break the property from 1.000 s on" in text
    assert (page.parent / "futures.svg").exists()
    for folder in captures:
        late = page.parent / "late" / folder.parents[1].name / "sender.pcap"
        origin_ns = json.loads((folder.parent / "run.json").read_text())["origin_ns"]
        early, whole = (futures.before(folder / "sender.pcap.gz", ns) for ns in (origin_ns + NS, FAR))
        assert futures.before(late, FAR) == whole[len(early) :]
    first, second = ((folder / "bottleneck-out.pcap.gz").read_bytes() for folder in captures)
    assert first != second
    assert main([*order, "--events", "none"]) == 0
    assert "keeps" in capsys.readouterr().out


def test_a_property_of_no_flow(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--property", 'throughput("nobody", 1, 2) > 0', "--into", str(tmp_path)]
    assert main(["rewind", str(run), "--at", "1s", *words]) == 2
    assert "--property: " in (said := capsys.readouterr().err)
    assert "there is no flow 'nobody'; its flows are client" in said


def test_futures_without_a_property(run: Path, tmp_path: Path) -> None:
    assert main(["rewind", str(run), "--at", "1s", "--futures", "1", "--into", str(tmp_path)]) == 0
    [page] = tmp_path.glob("*/index.html")
    head = r"<h1>client has [\d.]+ Mbit/s from 1\.000 s on in 1 future of turned</h1>"
    assert re.search(head, page.read_text())


QUIET = """\
experiment: turned
title: Nothing happens but the trigger
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 1mbit, buffer: 30p}
delay: {forward: 10ms, backward: 10ms}
flows: [{name: client, implementation: tcp-cubic, from: s1, to: d1}]
events: [{at: TRIGGER}]
duration: 3500ms
"""
LOSS = "2s, on: path, loss: {forward: 100%}"
OUTAGE = "1700ms, on: path, suspension: {forward: 1800ms}"
DELAY = "2300ms, on: path, delay: {forward: 500ms}"
FAST = 'throughput("client", 2.4, 2.7) > 500000'
MIXED = SCENARIO.replace(LOSS, "TRIGGER")


@pytest.mark.parametrize(
    ("scenario", "trigger", "at_s", "holds"),
    [
        (MIXED, LOSS, 2.0, PROPERTY),
        (MIXED, OUTAGE, 1.7, PROPERTY),
        (MIXED, DELAY, 2.3, FAST),
        (QUIET, "1200ms, on: bottleneck, rate: 100kbit", 1.2, 'throughput("client", 2.5, 3.5) > 500000'),
        (QUIET, "1400ms, on: bottleneck, buffer: 2p", 1.4, "queue_pkts.max(2.5, 3.5) > 5"),
        (QUIET, "1900ms, on: path, loss: {backward: 100%}", 1.9, PROPERTY),
        (QUIET, "1300ms, on: path, corrupt: {forward: 100%}", 1.3, PROPERTY),
        (QUIET, "2100ms, on: path, black_hole: {forward: 1000B}", 2.1, PROPERTY),
        (QUIET, "1600ms, on: path, aggregation: {forward: 1500ms}", 1.6, 'throughput("client", 2.4, 2.7) > 500000'),
        (
            QUIET,
            "900ms, on: path, policed: {forward: 100kbit}, policed_burst: {forward: 10kB}",
            0.9,
            'throughput("client", 2.5, 3.5) > 500000',
        ),
    ],
    ids=[
        "loss",
        "outage",
        "delay",
        "capacity",
        "buffer",
        "ack-loss",
        "corruption",
        "black-hole",
        "aggregation",
        "policer",
    ],
)
def test_the_instant_of_a_planted_trigger(
    scenario: str, trigger: str, at_s: float, holds: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if trigger not in SCENARIO:
        run = carried_out(scenario.replace("TRIGGER", trigger), tmp_path)
    capsys.readouterr()
    order = ["rewind", str(run), "--when", holds, "--events", "none", "--futures", "0"]
    order += ["--into", str(tmp_path / "own")]
    assert main(order) == 0
    [low, high] = map(
        float, re.findall(r"point of no return lies between ([\d.]+) s and ([\d.]+) s", capsys.readouterr().out)[0]
    )
    assert low <= at_s <= high <= low + 0.1


def test_a_run_that_means_something_else_is_refused(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "seed-3")
    description = json.loads((copy / "run.json").read_text())
    description["bottleneck"]["rate_bps"] = 2_000_000
    (copy / "run.json").write_text(json.dumps(description))
    known = sums.read(copy)
    sums.write(copy, known | {"run.json": sums.digest(copy / "run.json")})
    with pytest.raises(EngineError, match=r"means something else in this version: .*network"):
        history.read(copy)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--at", "4s"], "--at: found '4s', not before the end; allowed: an instant before 3.5s"),
        (["--at", "3"], "--at: found '3', a number without a unit; allowed: a time such as 37.2s"),
        (["--at", "1s", "--capture", "sendr"], "--capture: found 'sendr'; allowed: "),
        (["--at", "1s", "--futures", "-1"], "--futures: found -1; allowed: a whole number, at least 0"),
        (["--when", PROPERTY, "--property", PROPERTY], "--property: found with --when"),
        (["--when", "queue_ms"], "--when: found 'queue_ms', which compares nothing; allowed: "),
        (["--at", "1s", "--events", "at: 2s, on: bottlenek"], "yaml:1: events[0].on: found 'bottlenek'; allowed: "),
        (["--at", "1s", "--events", "at: 4s, on: path"], "events[0].at: found '4s', not before the end; allowed: "),
        (["--at", "1s", "--events", "at: 500ms, on: path"], "events[0].at: found '500ms', before --at; allowed: 1s or"),
        (["--at", "1s", "--events", "at: 2s, on: path"], "events[0]: changes nothing; allowed: "),
        (["--at", "1s", "--events", "at: 2s, on: path, rate: 1mbit"], "events[0].rate: no field of path; allowed: "),
    ],
)
def test_what_is_wrong_with_an_order(
    words: list[str], message: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / "events.yaml"
    events.write_text(f"events: [{{{words[-1]}}}]\n")
    given = [str(events) if word.startswith("at: ") else word for word in words]
    assert main(["rewind", str(run), *given, "--into", str(tmp_path / "results")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


def test_a_repeated_run_that_differs_stops(run: Path) -> None:
    past = history.read(run)
    again = futures.FutureResult(run, {}, 0, {})
    futures.check_past(again, dataclasses.replace(past, digests=past.digests | {"pcap/sender.pcap": "0"}))
    other = dataclasses.replace(past, digests=past.digests | {"traces/queue.csv": "0"})
    with pytest.raises(EngineError, match=r"differs in traces/queue.csv: images or code have changed since$"):
        futures.check_past(again, other)


def test_a_folder_without_a_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rewind", str(tmp_path), "--at", "1s"]) == 2
    assert f"{tmp_path}: found no run.json; allowed: a run's folder (seed-N)" in capsys.readouterr().err
    assert main(["rewind", str(tmp_path / "none"), "--at", "1s"]) == 2
    assert f"{tmp_path / 'none'}: no such folder; allowed: a run's folder (seed-N)" in capsys.readouterr().err


@pytest.mark.parametrize("decided_s", [0.05, 7.3, 19.99])
def test_the_search_comes_within_a_tenth_of_a_second(decided_s: float) -> None:
    asked: list[int] = []

    def share(at_ns: int) -> float:
        asked.append(at_ns)
        return 0.6 if at_ns >= decided_s * NS else 0.4

    instant = bisection.search(20 * NS, share)
    assert instant.open_ns is not None
    assert instant.open_ns < decided_s * NS <= instant.lost_ns <= instant.open_ns + bisection.WITHIN_NS
    assert len(asked) <= 9


def test_what_fails_from_the_beginning() -> None:
    always: Callable[[int], float] = lambda _: 1.0  # noqa: E731
    assert bisection.search(20 * NS, always) == bisection.PointOfNoReturn(None, 0)


def test_a_capture_is_read_up_to_an_instant(tmp_path: Path) -> None:
    file = tmp_path / "one.pcap"
    records = [struct.pack("<IIII", 5, nanoseconds, 2, 2) + b"ab" for nanoseconds in (0, 500, 999)]
    file.write_bytes(struct.pack("<I20x", 0xA1B23C4D) + b"".join(records))
    assert futures.before(file, 5 * NS + 999) == records[:2]
    assert futures.before(file, 6 * NS) == records
