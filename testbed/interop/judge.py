"""Which implementations understand each other: runs of `testbed interop` to interop.json and a page.

The form follows quic-interop-runner: every ordered pair in every case has passed, failed, or is unsupported, because
the two have nothing in common. A transfer has passed when the receiver got every byte as it was sent; the case `close`,
of the run of `transfer`, when the sender ended by itself after that. A script has passed when the peer that plays it
met nothing else than it says; how the implementation ends after that does not count.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final

from analysis.documents import read_json
from analysis.files import replace_between, write_text
from analysis.report import TEMPLATES, pages, render, write_shared

FORMAT: Final = 1
PASSED, FAILED, UNSUPPORTED = "passed", "failed", "unsupported"
SIGNS: Final = {PASSED: "✓", FAILED: "✗", UNSUPPORTED: "\N{EN DASH}"}
STUDY, FLOW, SEED = "interop", "pair", 1
FIRST, CLOSE = "transfer", "close"
CLOSING: Final = "The sender ends by itself once everything has arrived"
PEER: Final = "utp-script"  # plays the scripts
NO_RUN: Final = "there is no run"
OWN: Final = Path(__file__).parent
START, END = "<!-- tables: written by python -m testbed.tables -->", "<!-- end of tables -->"

Result = dict[str, Any]


def write(results: Path, order: Mapping[str, Any]) -> Counter[str]:
    """Write interop.json and index.html of what was asked for into the folder; return how often each result came."""
    cases: dict[str, str] = dict(order["cases"])
    judged = [result for pair in order["pairs"] for result in _of_pair(results, pair, cases)]
    if FIRST in cases:
        cases[CLOSE] = CLOSING
    scripted = [_by_script(results, one, script) for one in order["alone"] for script in order["scripts"]]
    document = {
        "format": FORMAT,
        "implementations": order["implementations"],
        "cases": cases,
        "results": judged,
        "scripts": order["scripts"],
        "scripted": scripted,
    }
    write_text(results / "interop.json", json.dumps(document, indent=1) + "\n")
    write_shared(results)
    table = {(one["sender"], one["receiver"], one["case"]): one for one in judged}
    table |= {(one["implementation"], one["script"]): one for one in scripted}
    render(pages(OWN, TEMPLATES), "interop.html", results / "index.html", document | {"table": table, "sign": SIGNS})
    return Counter(one["result"] for one in judged + scripted)


def write_page(folders: Sequence[Path], page: Path) -> None:
    """Replace what stands between the page's two marks by tables of what has been judged in `folders`."""
    tables = [table for folder in folders for table in _tables(read_json(folder / "interop.json").data)]
    replace_between(page, START, END, "".join(f"{table}\n" for table in tables))


def _tables(document: Result) -> list[str]:
    """Tables in Markdown: of all pairs, with a letter for each case that failed, and of all scripts."""
    names, tables = document["implementations"], []
    letters = dict(zip(document["cases"], ascii_lowercase, strict=False))
    found = {(one["sender"], one["receiver"], one["case"]): one for one in document["results"]}

    def cases(sender: str, receiver: str) -> str:
        run = {case: found[sender, receiver, case] for case in letters}
        run = {case: one["result"] for case, one in run.items() if one["why"] != NO_RUN}
        said = SIGNS[next(iter(run.values()))] if len(set(run.values())) == 1 else ""
        said = said or " ".join(letters[case] for case, result in run.items() if result == FAILED)
        return said if len(run) == len(letters) or said == SIGNS[FAILED] else f"{said} ?"

    if letters:
        said = ", ".join(f"{letter} `{case}`" for case, letter in letters.items())
        rows = {f"{number} `{name}`": name for number, name in enumerate(names, 1)}
        tables.append(f"Failed: {said}.\n\n{_table('sender', rows, names, cases)}")
    if document["scripts"]:
        met = {(one["script"], one["implementation"]): SIGNS[one["result"]] for one in document["scripted"]}
        rows = {f"`{script}`": script for script in document["scripts"]}
        tables.append(_table("script", rows, names, lambda script, name: met[script, name]))
    return tables


def _table(corner: str, rows: dict[str, str], columns: Sequence[str], cell: Callable[[str, str], str]) -> str:
    numbers = "".join(f" {number} |" for number in range(1, len(columns) + 1))
    lines = [f"| {corner} |{numbers}", "|---" * (1 + len(columns)) + "|"]
    lines += [f"| {head} |" + "".join(f" {cell(row, column)} |" for column in columns) for head, row in rows.items()]
    return "\n".join(lines) + "\n"


def _of_pair(results: Path, pair: Result, cases: dict[str, str]) -> list[Result]:
    """Results of all cases of two implementations."""
    ends = {"sender": pair["sender"], "receiver": pair["receiver"]}
    found = []
    for case in cases:
        if pair["unsupported"]:
            found += [
                {**ends, "case": one, "result": UNSUPPORTED, "why": pair["unsupported"], "captures": []}
                for one in ((case, CLOSE) if case == FIRST else (case,))
            ]
            continue
        folder = _folder(results, pair["experiment"], case)
        why, closing = (NO_RUN, None) if folder is None else _judged(folder)
        captures = _captures(results, folder)
        found.append({**ends, "case": case, "result": FAILED if why else PASSED, "why": why, "captures": captures})
        if case == FIRST:
            said = "the transfer failed" if why else closing
            close = FAILED if said else PASSED
            found.append({**ends, "case": CLOSE, "result": close, "why": said, "captures": captures})
    return found


def _by_script(results: Path, one: Result, script: str) -> Result:
    """Result of an implementation and a script."""
    folder = _folder(results, one["experiment"], script)
    why = NO_RUN if folder is None else _deviation(folder)
    result = {"implementation": one["implementation"], "script": script}
    if one["unsupported"]:
        return {**result, "result": UNSUPPORTED, "why": one["unsupported"], "captures": []}
    return {**result, "result": FAILED if why else PASSED, "why": why, "captures": _captures(results, folder)}


def _deviation(folder: Path) -> str | None:
    """What kept the peer from coming to the end of its script; None if nothing did."""
    summary = read_json(folder / "summary.json")
    if not (folder / "run.json").exists():
        return summary.get("error", str)
    [flow] = read_json(folder / "run.json").children("flows")
    role = "sender" if flow.get("implementation", str) == PEER else "receiver"
    ended = (summary.maybe("flows", dict) or {}).get(FLOW, {}).get(f"{role}_exit")
    return None if ended == 0 else summary.maybe("error", str) or "the script did not come to its end"


def _folder(results: Path, experiment: str, case: str) -> Path | None:
    cell = results / "runs" / STUDY / experiment / f"case={case}"
    return next((one for one in (cell / f"seed-{SEED}", cell / f"failed-seed-{SEED}") if one.exists()), None)


def _captures(results: Path, folder: Path | None) -> list[str]:
    return sorted(str(one.relative_to(results)) for one in folder.glob("pcap/*.pcap")) if folder else []


def _judged(folder: Path) -> tuple[str | None, str | None]:
    """What is wrong with the transfer of a run, and with its end; None where nothing is."""
    summary = read_json(folder / "summary.json")
    if not (folder / "run.json").exists():  # it failed before it began
        return summary.get("error", str), None
    run = read_json(folder / "run.json")
    [wanted] = [flow.get("bytes", int) for flow in run.children("flows") if flow.get("name", str) == FLOW]
    flow = (summary.maybe("flows", dict) or {}).get(FLOW, {})
    error = summary.maybe("error", str)
    received = flow.get("received_bytes") or 0
    ended = flow.get("completed_ns")
    if received < wanted or flow.get("receiver_exit") not in (0, None):
        lasted = run.get("duration_ns", int) / 1e9
        return error or f"{received} of {wanted} bytes arrived in {lasted:g} s", None
    return None, None if ended is not None else error or "the sender had not ended when the run did"
