"""Which implementations understand each other: runs of `testbed interop` to interop.json and a page.

The form follows quic-interop-runner: every ordered pair in every case has a verdict, and cannot be tested where the two
have nothing in common. A transfer holds when the receiver got every byte as it was sent; the case `close`, of the run
of `transfer`, when the sender ended by itself after that. A script holds when the peer that plays it met nothing else
than it says; how the implementation ends after that does not count. Where there is no run, it is open.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from analysis.capture import packed
from analysis.documents import read_made
from analysis.files import write_made
from analysis.judge.verdict import SIGNS, Verdict
from analysis.report.evidence import Evidence, of_run
from analysis.run.outcomes import kind_of_failure
from common.counts import plural
from scenarios import run_files
from testbed.shared.made import made_below
from testbed.shared.page import write_page

FORMAT: Final = 2
FILE: Final = "interop.json"
FAILED: Final = "failed"
STUDY, FLOW, SEED = "interop", "pair", 1
FIRST, CLOSE = "transfer", "close"
CLOSING: Final = "The sender ends by itself once everything has arrived"
PEER: Final = "utp-script"  # plays the scripts
NO_RUN: Final = "there is no run"
TIMED_OUT: Final = "timed out"
DEVIATED: Final = "deviated"
_ROLES: Final = {"sender": "receiver", "receiver": "sender"}  # of the other side
TEMPLATE: Final = Path(__file__).with_name("interop.html")

Result = dict[str, Any]


def write(results: Path, order: Mapping[str, Any], again: str) -> Counter[Verdict]:
    """Write interop.json and index.html of what was asked for into the folder; return how often each verdict came.

    The page names the command that does it `again`.
    """
    cases: dict[str, str] = dict(order["cases"])
    judged = [result for pair in order["pairs"] for result in _of_pair(results, pair, cases)]
    if FIRST in cases:
        cases[CLOSE] = CLOSING
    scripted = [_by_script(results, meeting, script) for meeting in order["alone"] for script in order["scripts"]]
    document = {
        "format": FORMAT,
        "implementations": order["implementations"],
        "cases": cases,
        "results": judged,
        "scripts": order["scripts"],
        "scripted": scripted,
    }
    write_made(results / FILE, json.dumps(document, indent=1) + "\n")
    table = {(meeting["sender"], meeting["receiver"], meeting["case"]): meeting for meeting in judged}
    table |= {(meeting["implementation"], meeting["script"]): meeting for meeting in scripted}
    counts = Counter(meeting["verdict"] for meeting in judged + scripted)
    values = document | {
        "table": table,
        "title": _title(counts),
        "counts": counts,
        "signs": SIGNS,
        "verdicts": list(Verdict),
    }
    first = next(iter(cases), "")
    values["unsupported"] = [
        result for result in judged if (result["verdict"], result["case"]) == (Verdict.UNTESTABLE, first)
    ]
    values["evidence_of"] = partial(_evidence, results)
    write_page(results / "index.html", TEMPLATE, values, made_below(results / "runs"), again, [FILE])
    return counts


def _title(counts: Counter[Verdict]) -> str:
    """Say what came out, for the page's head."""
    tried = plural(counts[Verdict.HOLDS] + counts[Verdict.FAILS], "try", "tries")
    if counts[Verdict.FAILS]:
        return f"{counts[Verdict.FAILS]} of {tried} failed"
    return f"Implementations understand each other in {tried}" if counts[Verdict.HOLDS] else "Nothing could be tried"


def _evidence(results: Path, result: Result) -> Evidence:
    """Give what the run behind a result left."""
    run = Path(result["run"])
    return of_run(results / run, results, f"studies/{STUDY}/{run.parts[2]}.yaml") if result["run"] else Evidence()


def _of_pair(results: Path, pair: Result, cases: dict[str, str]) -> list[Result]:
    """Results of all cases of two implementations."""
    ends = {"sender": pair["sender"], "receiver": pair["receiver"]}
    judged = []
    for case in cases:
        if impossible := pair["unsupported"] or pair["without"].get(case):
            judged += [
                {**ends, "case": name, "verdict": Verdict.UNTESTABLE, "why": impossible, **_left(results, None)}
                for name in ((case, CLOSE) if case == FIRST else (case,))
            ]
            continue
        folder = _folder(results, pair["experiment"], case)
        why, closing = (NO_RUN, None) if folder is None else _judged(folder)
        left = _left(results, folder)
        kind = _kind(folder, why) if folder and why else ""
        judged.append({**ends, "case": case, "verdict": _verdict(why), "why": why, "kind": kind, **left})
        if case == FIRST:
            problem = "the transfer failed" if why else closing
            close = Verdict.OPEN if why == NO_RUN else _verdict(problem)
            judged.append({**ends, "case": CLOSE, "verdict": close, "why": problem, "kind": kind, **left})
    return judged


def _verdict(why: str | None) -> Verdict:
    return Verdict.OPEN if why == NO_RUN else Verdict.FAILS if why else Verdict.HOLDS


def _by_script(results: Path, meeting: Result, script: str) -> Result:
    """Result of an implementation and a script."""
    folder = _folder(results, meeting["experiment"], script)
    why = NO_RUN if folder is None else _deviation(folder)
    result = {"implementation": meeting["implementation"], "script": script}
    if meeting["unsupported"]:
        return {**result, "verdict": Verdict.UNTESTABLE, "why": meeting["unsupported"], **_left(results, None)}
    kind = _kind_by_script(folder) if folder and why else ""
    return {**result, "verdict": _verdict(why), "why": why, "kind": kind, **_left(results, folder)}


def _kind_by_script(folder: Path) -> str:
    """Tell in a word how a try of a script failed: the implementation died or refused its role, or it deviated.

    What it makes of a peer that leaves, such as giving up, does not count.
    """
    if not (folder / "run.json").exists():
        return FAILED
    ended = _exits(folder).get(f"{_ROLES[_role_of_peer(folder)]}_exit")
    kind = kind_of_failure("", [ended])
    return kind if kind in (run_files.DIED, run_files.REFUSED) else DEVIATED


def _role_of_peer(folder: Path) -> str:
    [flow] = read_made(folder, "run.json").children("flows")
    return "sender" if flow.get("implementation", str) == PEER else "receiver"


def _exits(folder: Path) -> dict[str, Any]:
    return (read_made(folder, "summary.json").maybe("flows", dict) or {}).get(FLOW) or {}


def _deviation(folder: Path) -> str | None:
    """What kept the peer from coming to the end of its script; None if nothing did."""
    summary = read_made(folder, "summary.json")
    if not (folder / "run.json").exists():
        return summary.get("error", str)
    ended = _exits(folder).get(f"{_role_of_peer(folder)}_exit")
    return None if ended == 0 else summary.maybe("error", str) or "the script did not come to its end"


def _folder(results: Path, experiment: str, case: str) -> Path | None:
    cell = results / "runs" / STUDY / experiment / f"case={case}"
    return next(
        (folder for folder in (cell / f"seed-{SEED}", cell / f"{run_files.FAILED}seed-{SEED}") if folder.exists()), None
    )


def _left(results: Path, folder: Path | None) -> dict[str, Any]:
    """Name the run and its captures, relative to the results."""
    if folder is None:
        return {"run": "", "captures": []}
    captures = [str(capture.relative_to(results)) for capture in packed.kept(folder)]
    return {"run": str(folder.relative_to(results)), "captures": captures}


def _kind(folder: Path, why: str) -> str:
    """Tell in a word how a transfer failed: an end of one side, or bytes that had not come when the run ended."""
    summary = read_made(folder, "summary.json")
    kind = kind_of_failure(why, [_exits(folder).get(f"{role}_exit") for role in _ROLES])
    return kind or (FAILED if summary.maybe("error", str) else TIMED_OUT)


def _judged(folder: Path) -> tuple[str | None, str | None]:
    """What is wrong with the transfer of a run, and with its end; None where nothing is."""
    summary = read_made(folder, "summary.json")
    if not (folder / "run.json").exists():  # it failed before it began
        return summary.get("error", str), None
    run = read_made(folder, "run.json")
    [wanted] = [flow.get("bytes", int) for flow in run.children("flows") if flow.get("name", str) == FLOW]
    flow = (summary.maybe("flows", dict) or {}).get(FLOW, {})
    error = summary.maybe("error", str)
    received = flow.get("received_bytes") or 0
    ended = flow.get("completed_ns")
    if received < wanted or flow.get("receiver_exit") not in (0, None):
        lasted = run.get("duration_ns", int) / 1e9
        return error or f"{received} of {wanted} bytes arrived in {lasted:g} s", None
    return None, None if ended is not None else error or "the sender had not ended when the run did"
