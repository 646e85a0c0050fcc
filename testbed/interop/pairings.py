"""Who meets whom in which case: the order of a `testbed interop`, and the scenarios that carry it out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from engine.errors import EngineError
from scenarios import implementations, utp_script
from scenarios.utp_script import Script, ScriptError
from testbed.interop.judge import PEER, STUDY
from testbed.shared.rulebooks import FOLDER

CASES: Final = FOLDER / STUDY / "cases.yaml"
SCRIPTS: Final = FOLDER / STUDY / "scripts"


def read_scripts(files: Iterable[Path]) -> dict[str, tuple[str, Script]]:
    """Return each script by its file's name, with its text.

    Raises:
        EngineError: a file cannot be read, or is no script.
    """
    scripts = {}
    for file in files:
        try:
            text = file.read_text()
            scripts[file.stem] = text, utp_script.read(text)
        except OSError as error:
            raise EngineError(f"{file}: cannot be read: {error.strerror}") from None
        except (UnicodeDecodeError, ScriptError) as error:
            raise EngineError(f"{file}: {error}") from None
    return scripts


def order_of(
    names: Sequence[str],
    cases: Mapping[str, Any],
    scripts: Mapping[str, tuple[str, Script]],
    known: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the order: cases and scripts with their titles, and who meets whom, with the reason if they cannot."""
    pairs = [
        {
            "sender": sender,
            "receiver": receiver,
            "experiment": _id(f"{sender}-to-{receiver}"),
            "unsupported": implementations.mismatch(known[sender], known[receiver]),
            "without": _impossible(cases["cases"], known[sender]),
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


def _impossible(cases: Mapping[str, Any], sender: Mapping[str, Any]) -> dict[str, str]:
    """Say for each case that cannot be carried out between two of this transport why not."""
    if sender["transport"] in implementations.TIMESTAMPED:
        return {}
    return {
        name: "a host's own clock shows only in packets of TCP and uTP"
        for name, case in cases.items()
        if "clocks" in case
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
            if name not in pair["without"]
        }
        if data["cases"]:
            result.append((pair, _text(data)))
    return result


def scripted(
    cases: Mapping[str, Any], scripts: Mapping[str, tuple[str, Script]], order: Mapping[str, Any]
) -> list[tuple[dict[str, Any], str]]:
    """Return each implementation that a scripted peer can meet with the text of its scenario."""
    result = []
    for meeting in order["alone"]:
        if meeting["unsupported"]:
            continue
        data = {**cases, "experiment": meeting["experiment"], "title": "Packets of a scripted peer"}
        data["cases"] = {
            name: {
                "flows": _with_peer(meeting["implementation"], text, script, cases["flows"]),
                "duration": _lasts(script),
            }
            for name, (text, script) in scripts.items()
        }
        result.append((meeting, _text(data)))
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
    """Return how long the run has to be: two seconds more than the script, for the connection."""
    return f"{math.ceil(script.longest_s) + 2}s"


def _text(data: Mapping[str, Any]) -> str:
    return "# filled by `testbed interop`\n" + yaml.safe_dump(data, sort_keys=False, width=120)


def _between(pair: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**flow, "implementation": {side: pair[side] for side in ("sender", "receiver")}} for flow in flows]
