"""Carries out `testbed interop`: a scenario for every two implementations, and of each with scripted peers."""

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from analysis.watchdog import LIMIT_S, ended_after
from engine.errors import EngineError
from scenarios import implementations, load, utp_script
from scenarios.errors import choices
from scenarios.utp_script import Script, ScriptError
from testbed import arguments, own_study
from testbed.interop import judge
from testbed.interop.judge import PEER, STUDY

CASES: Final = Path(__file__).with_name("cases.yaml")
SCRIPTS: Final = Path(__file__).with_name("scripts")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("implementation", nargs="+", help="each sends to each, and to itself")
    parser.add_argument(
        "--case", action="append", default=[], help="a case or script of docs/interop.md; may be repeated"
    )
    parser.add_argument("--script", type=Path, action="append", default=[], metavar="FILE", help="a packet script")
    parser.add_argument("--into", type=Path, default=Path("results/interop"), help="default: %(default)s")
    parser.set_defaults(kept="finished runs are kept")


def main(options: argparse.Namespace) -> int:
    """Let every implementation send to every other and to itself, and meet scripted peers; return 1 when one failed.

    The chosen cases and scripts are carried out; all that there are, if none is chosen. Everything is kept in the
    folder --into/<the names>; a second call continues there.

    Raises:
        EngineError: something is wrong with the order, before anything runs.
    """
    names, chosen = options.implementation, options.case
    known = arguments.known(names)
    for name in names:
        if known[name]["transport"] == "udp":
            raise EngineError(f"{name} delivers no stream; allowed: implementations over TCP or uTP")
    if len(set(names)) < len(names):
        raise EngineError(f"found {', '.join(names)}; allowed: each implementation once")
    cases, scripts = load.read(CASES).data, read_scripts(sorted(SCRIPTS.glob("*.utp")))
    for case in chosen:
        if case not in (there := [*cases["cases"], *scripts]):
            raise EngineError(f"--case: found {case!r}; allowed: {choices(there, case)}")
    if chosen or options.script:
        cases["cases"] = {name: case for name, case in cases["cases"].items() if name in chosen}
        scripts = {name: one for name, one in scripts.items() if name in chosen} | read_scripts(options.script)
    folder = own_study.folder_of(options.into, "-".join(names))
    order = order_of(names, cases, scripts, known)
    texts = filled(cases, order) + scripted(cases, scripts, order)
    own_study.write(folder, STUDY, {f"{meeting['experiment']}.yaml": text for meeting, text in texts})
    if own_study.carry_out(folder):
        return 1
    with ended_after(LIMIT_S, "testbed interop: the matrix"):
        counts = judge.write(folder, order)
    print(f"{', '.join(f'{counts[result]} {result}' for result in judge.SIGNS)}\n  {folder / 'index.html'}")
    return int(counts[judge.FAILED] > 0)


def read_scripts(files: Iterable[Path]) -> dict[str, tuple[str, Script]]:
    """Return each script by its file's name, with its text.

    Raises:
        EngineError: a file is none.
    """
    found = {}
    for file in files:
        try:
            text = file.read_text()
            found[file.stem] = text, utp_script.read(text)
        except (OSError, UnicodeDecodeError, ScriptError) as error:
            raise EngineError(f"{file}: {error}") from None
    return found


def order_of(
    names: Sequence[str],
    cases: Mapping[str, Any],
    scripts: Mapping[str, tuple[str, Script]],
    known: Mapping[str, Any],
) -> dict[str, Any]:
    """Say what is asked: cases and scripts with their titles, and who meets whom, with the reason if they cannot."""
    pairs = [
        {
            "sender": sender,
            "receiver": receiver,
            "experiment": _id(f"{sender}-to-{receiver}"),
            "unsupported": implementations.mismatch(known[sender], known[receiver]),
        }
        for sender in names
        for receiver in names
        if cases["cases"]
    ]
    alone = [
        {
            "implementation": name,
            "experiment": _id(f"{name}-by-script"),
            "unsupported": implementations.mismatch(known[name], known[PEER]),
        }
        for name in names
        if scripts
    ]
    return {
        "implementations": list(names),
        "cases": {name: case.get("title", cases["title"]) for name, case in cases["cases"].items()},
        "pairs": pairs,
        "scripts": {name: script.title for name, (_, script) in scripts.items()},
        "alone": alone,
    }


def _id(name: str) -> str:
    """Return an experiment's id; implementations may have dots in their names, and versions an @."""
    return name.replace(".", "-").replace(implementations.VERSION, "-")


def filled(cases: Mapping[str, Any], order: Mapping[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return each pair that can meet with the text of its scenario."""
    result = []
    for pair in order["pairs"]:
        if pair["unsupported"]:
            continue
        data = {**cases, "experiment": pair["experiment"], "flows": _between(pair, cases["flows"])}
        data["cases"] = {
            name: case | ({"flows": _between(pair, case["flows"])} if "flows" in case else {})
            for name, case in cases["cases"].items()
        }
        result.append((pair, _text(data)))
    return result


def scripted(
    cases: Mapping[str, Any], scripts: Mapping[str, tuple[str, Script]], order: Mapping[str, Any]
) -> list[tuple[dict[str, Any], str]]:
    """Return each implementation that a scripted peer can meet with the text of its scenario."""
    result = []
    for one in order["alone"]:
        if one["unsupported"]:
            continue
        data = {**cases, "experiment": one["experiment"], "title": "Packets of a scripted peer"}
        data["cases"] = {
            name: {"flows": _with_peer(one["implementation"], text, script, cases["flows"]), "duration": _lasts(script)}
            for name, (text, script) in scripts.items()
        }
        result.append((one, _text(data)))
    return result


def _with_peer(name: str, text: str, script: Script, flows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    ends = {} if script.bytes is None else {"bytes": f"{script.bytes}B"}
    sides = {"sender": name, "receiver": name, script.role: PEER}
    return [
        {key: value for key, value in flow.items() if key != "bytes"}
        | {"implementation": sides, "params": {"script": text}}
        | ends
        for flow in flows
    ]


def _lasts(script: Script) -> str:
    """How long the run has to be: with a bit for the connection to come about."""
    return f"{math.ceil(script.longest_s) + 2}s"


def _text(data: Mapping[str, Any]) -> str:
    return "# filled by `testbed interop`\n" + yaml.safe_dump(data, sort_keys=False, width=120)


def _between(pair: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**flow, "implementation": {side: pair[side] for side in ("sender", "receiver")}} for flow in flows]
