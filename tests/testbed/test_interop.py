"""`testbed interop`: what it refuses, what it writes, how it judges, and one real run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from scenarios import implementations
from scenarios.load import read
from scenarios.resolve import expand
from testbed import tables
from testbed.cli import main
from testbed.interop import judge
from testbed.interop.pairings import CASES, SCRIPTS, filled, order_of, read_scripts, scripted
from tests.analysis.synthetic import vouch

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "interop.md").read_text()


def test_the_page_shows_the_cases() -> None:
    listed = re.search(r"\|---\|---\|\n(.*?)\n<!-- end of cases", PAGE, re.DOTALL)
    assert listed
    cases = order_of([], read(CASES).data, {}, {})["cases"]
    assert listed[1].splitlines() == [f"| `{name}` | {title} |" for name, title in cases.items()]


def test_the_page_shows_the_scripts() -> None:
    listed = re.search(r"<!-- scripts: .*?\|---\|---\|\n(.*?)\n<!-- end of scripts", PAGE, re.DOTALL)
    assert listed
    scripts = read_scripts(sorted(SCRIPTS.glob("*.utp")))
    assert listed[1].splitlines() == [f"| `{name}` | {script.title} |" for name, (_, script) in scripts.items()]


def test_every_two_implementations_are_a_scenario_or_cannot_meet(tmp_path: Path) -> None:
    known = implementations.known()
    streams = [name for name, facts in known.items() if facts["kind"] == "program" and facts["transport"] == "utp"]
    order = order_of(streams, read(CASES).data, {}, known)
    meeting = {(pair["sender"], pair["receiver"]) for pair in order["pairs"] if not pair["unsupported"]}
    assert ("libutp", "utp-rs") in meeting
    assert ("qbittorrent", "transmission-3.00") in meeting
    assert ("libutp", "qbittorrent") not in meeting
    assert implementations.mismatch(known["quinn"], known["quic-go"]) is None
    assert implementations.mismatch(known["quinn"], known["udp-cbr"]) == "their family differs: QUIC and constant rate"
    texts = [text for pair, text in filled(read(CASES).data, order) if pair["sender"] == pair["receiver"]]
    assert len(texts) == len(streams)
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.yaml").write_text(text)
        cells = expand(tmp_path / f"{number}.yaml", "complete")
        assert [cell.name for cell in cells] == [f"case={name}" for name in order["cases"]]


def test_every_library_meets_every_script(tmp_path: Path) -> None:
    known, scripts = implementations.known(), read_scripts(sorted(SCRIPTS.glob("*.utp")))
    order = order_of(["libutp", "qbittorrent", "tcp-cubic"], read(CASES).data, scripts, known)
    assert [bool(meeting["unsupported"]) for meeting in order["alone"]] == [False, True, True]
    [(_, text)] = scripted(read(CASES).data, scripts, order)
    (tmp_path / "a.yaml").write_text(text)
    cells = {cell.name.removeprefix("case="): cell.settings for cell in expand(tmp_path / "a.yaml", "complete")}
    assert list(cells) == list(scripts)
    for name, settings in cells.items():
        [flow] = settings["flows"]
        sides = {"sender": flow["implementation"], "receiver": flow["receiver_implementation"]}
        assert sides[scripts[name][1].role] == "utp-script"
        told = flow["params"] if sides["sender"] == "utp-script" else flow["receiver_params"]
        assert told == {"script": scripts[name][0]}
        assert flow["bytes"] == scripts[name][1].bytes


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["libutpp"], "unknown implementation 'libutpp'; allowed: "),
        (["libutp", "libutp"], "allowed: each implementation once"),
        (["udp-cbr"], "udp-cbr is over UDP, family constant rate; allowed: implementations over TCP, uTP or QUIC"),
        (["libutp", "--case", "los"], "--case: found 'los'; allowed: transfer, loss"),
        (["libutp", "--script", "no.utp"], "no.utp: cannot be read: No such file"),
        (["libutp", "--script", "README.md"], "README.md: line 3: found "),
    ],
)
def test_a_wrong_order_is_one_message(words: list[str], message: str, tmp_path: Path, capsys: Any) -> None:
    assert main(["interop", *words, "--into", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def put(results: Path, name: str, flow: dict[str, Any] | None, error: str | None = None) -> None:
    """A run folder as the engine leaves it, in the only pair that there is."""
    folder = results / "runs" / "interop" / "a-to-b" / name
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps({"error": error, "flows": {"pair": flow} if flow else None}))
    flows = [{"name": "pair", "bytes": 1000}]
    (folder / "run.json").write_text(json.dumps({"flows": flows, "duration_ns": 60_000_000_000}))
    vouch(folder)


def test_pairs_over_quic_leave_out_cases_that_need_timestamps(tmp_path: Path) -> None:
    order = order_of(["quinn"], read(CASES).data, {}, implementations.known())
    [pair] = order["pairs"]
    assert {*pair["without"]} == {"clock-offset", "clock-skew"}
    [(_, text)] = filled(read(CASES).data, order)
    (tmp_path / "a.yaml").write_text(text)
    names = [cell.name for cell in expand(tmp_path / "a.yaml", "complete")]
    assert len(names) == len(order["cases"]) - 2
    judge.write(tmp_path, order, "testbed interop a b")
    results = json.loads((tmp_path / "interop.json").read_text())["results"]
    assert {each["case"] for each in results if each["verdict"] == "cannot be tested"} == {*pair["without"]}


def pairs_that_differ() -> list[dict[str, Any]]:
    """Pairs of a and b, all of which are unsupported."""
    return [
        {"sender": one, "receiver": two, "experiment": f"{one}-to-{two}", "unsupported": "they differ", "without": {}}
        for one in "ab"
        for two in "ab"
    ]


def test_how_runs_are_judged(tmp_path: Path) -> None:
    ended = {"received_bytes": 1000, "completed_ns": 5, "sender_exit": 0, "receiver_exit": 0}
    pairs = pairs_that_differ()
    pairs[1]["unsupported"] = ""  # a to b
    cases = {"transfer": "first", "loss": "second", "reordering": "third", "wrap": "fourth"}
    order = {"implementations": ["a", "b"], "cases": cases, "pairs": pairs, "scripts": {}, "alone": []}
    put(tmp_path, "case=transfer/seed-1", ended | {"completed_ns": None})
    put(tmp_path, "case=loss/seed-1", ended | {"received_bytes": 900, "completed_ns": None})
    put(
        tmp_path,
        "case=reordering/failed-seed-1",
        ended | {"receiver_exit": 1},
        "flow pair: receiver exited with 1: wrong",
    )
    counts = {"holds": 1, "open": 1, "does not hold": 3, "cannot be tested": 15}
    assert judge.write(tmp_path, order, "testbed interop a b") == counts
    results = json.loads((tmp_path / "interop.json").read_text())["results"]
    said = {
        result["case"]: (result["verdict"], result["why"])
        for result in results
        if result["verdict"] != "cannot be tested"
    }
    assert said == {
        "transfer": ("holds", None),
        "close": ("does not hold", "the sender had not ended when the run did"),
        "loss": ("does not hold", "900 of 1000 bytes arrived in 60 s"),
        "reordering": ("does not hold", "flow pair: receiver exited with 1: wrong"),
        "wrap": ("open", "there is no run"),
    }
    kinds = {result["case"]: result.get("kind") for result in results if result["verdict"] in ("does not hold", "open")}
    assert kinds == {"close": "", "loss": "timed out", "reordering": "gave up", "wrap": ""}
    page = (tmp_path / "index.html").read_text()
    assert ">a to b, loss: timed out</h3>" in page
    assert "900 of 1000 bytes arrived" in page
    assert "<h1>3 of 4 tries failed</h1>" in page
    # what holds has its evidence one click away, too
    [run] = re.findall(r'class="verdict holds" href="([^"]*)"', page)
    assert (tmp_path / unquote(run) / "run.json").exists()


def test_the_tables_of_a_page(tmp_path: Path) -> None:
    result = {("a", "a"): "holds", ("a", "b"): "cannot be tested", ("b", "a"): "does not hold", ("b", "b"): "holds"}
    results = [
        {"sender": sender, "receiver": receiver, "case": case, "verdict": result[sender, receiver], "why": None}
        for sender, receiver in result
        for case in ("transfer", "loss")
    ]
    results[-1]["verdict"] = "does not hold"
    results[1] |= {"verdict": "open", "why": judge.NO_RUN}
    scripted = [{"implementation": name, "script": "gap", "verdict": result[name, "a"]} for name in "ab"]
    document = {
        "format": judge.FORMAT,
        "implementations": ["a", "b"],
        "cases": {"transfer": "A title", "loss": "Another"},
        "results": results,
        "scripts": {"gap": "A title"},
        "scripted": scripted,
    }
    (tmp_path / "interop.json").write_text(json.dumps(document))
    vouch(tmp_path)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{tables.START}\nold\n{tables.END}\nafter\n")
    tables.main(["interop", str(page), str(tmp_path)])
    assert page.read_text().splitlines() == [
        "before",
        tables.START,
        "Failed: a `transfer`, b `loss`.",
        "",
        "| sender | 1 | 2 |",
        "|---|---|---|",
        "| 1 `a` | ✓ ○ | \N{EN DASH} |",
        "| 2 `b` | ✗ | b |",
        "",
        "| script | does not hold | open | cannot be tested |",
        "|---|---|---|---|",
        "| `gap` | 2 |  |  |",
        "",
        tables.END,
        "after",
    ]


def test_tables_are_of_one_commit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "format": judge.FORMAT,
        "implementations": [],
        "cases": {},
        "results": [],
        "scripts": {},
        "scripted": [],
    }
    (tmp_path / "interop.json").write_text(json.dumps(document))
    vouch(tmp_path)
    for seed, commit in (("1", "a" * 40), ("2", "b" * 40)):
        run = tmp_path / f"runs/interop/interop/case=transfer/seed-{seed}"
        run.mkdir(parents=True)
        (run / "run.json").write_text(json.dumps({"provenance": {"commit": commit}}))
        (run / "summary.json").write_text(json.dumps({"status": "ok"}))
        vouch(run)
    page = tmp_path / "page.md"
    page.write_text(f"{tables.START}\nold\n{tables.END}\n")
    assert tables.main(["interop", str(page), str(tmp_path)]) == 1
    assert f"commit: found {'a' * 40} and {'b' * 40}; allowed: one, that of all runs" in capsys.readouterr().err
    assert "\nold\n" in page.read_text()


def test_how_scripts_are_judged(tmp_path: Path) -> None:
    scripts = dict.fromkeys(("passes", "ends-otherwise", "fails", "dies", "missing"), "A title")
    alone = [{"implementation": "a", "experiment": "a-by-script", "unsupported": None}]
    order = {"implementations": ["a"], "cases": {}, "pairs": [], "scripts": scripts, "alone": alone}
    deviation = "flow pair: sender exited with 1: line 3"
    for name, error, exits in (
        ("passes/seed-1", None, (0, 0)),
        ("ends-otherwise/failed-seed-1", "flow pair: receiver exited with 1: nobody is there", (0, 1)),
        ("fails/failed-seed-1", deviation, (1, 1)),
        ("dies/failed-seed-1", deviation, (1, -11)),
    ):
        folder = tmp_path / "runs" / "interop" / "a-by-script" / f"case={name}"
        folder.mkdir(parents=True)
        flow = {"sender_exit": exits[0], "receiver_exit": exits[1]}
        (folder / "summary.json").write_text(json.dumps({"error": error, "flows": {"pair": flow}}))
        flows = [{"name": "pair", "implementation": "utp-script", "receiver_implementation": "a"}]
        (folder / "run.json").write_text(json.dumps({"flows": flows}))
        vouch(folder)
    assert judge.write(tmp_path, order, "testbed interop a b") == {"holds": 2, "does not hold": 2, "open": 1}
    scripted = json.loads((tmp_path / "interop.json").read_text())["scripted"]
    said = {entry["script"]: (entry["why"], entry["kind"]) for entry in scripted}
    assert said == {
        "passes": (None, ""),
        "ends-otherwise": (None, ""),
        "fails": (deviation, "deviated"),
        "dies": (deviation, "died"),
        "missing": ("there is no run", ""),
    }
    page = (tmp_path / "index.html").read_text()
    assert deviation in page
    assert ">a, dies: died</h3>" in page


def test_a_real_matrix(tmp_path: Path) -> None:
    command = [f"{Path(sys.executable).parent}/testbed", "interop", "tcp-cubic", "--case", "close"]
    done = subprocess.run([*command, "--into", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "tcp-cubic" / "interop.json").read_text())["results"]
    assert [(result["case"], result["verdict"]) for result in results] == [("transfer", "holds"), ("close", "holds")]
    assert all((tmp_path / "tcp-cubic" / capture).exists() for result in results for capture in result["captures"])


def test_real_scripts(program: Callable[[str], None], tmp_path: Path) -> None:
    """libutp passes one, and fails two as docs/results/interop.md says."""
    program("libutp")
    command = [f"{Path(sys.executable).parent}/testbed", "interop", "libutp", "--into", str(tmp_path)]
    chosen = ["gap", "fast-retransmission", "unknown-extension"]
    done = subprocess.run(
        [*command, *(word for name in chosen for word in ("--case", name))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    entries = {
        entry["script"]: entry for entry in json.loads((tmp_path / "libutp" / "interop.json").read_text())["scripted"]
    }
    assert {name: entry["verdict"] for name, entry in entries.items()} == dict.fromkeys(chosen, "does not hold") | {
        "gap": "holds"
    }
    assert "line 5, +0...0.5 > STATE ack=2: it did not come" in entries["unknown-extension"]["why"]
