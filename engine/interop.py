"""Carries out `testbed interop`: a scenario for every two implementations, handed to the pipeline."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import yaml

from engine import orders, own_study
from engine.errors import EngineError
from engine.own_study import ROOT
from scenarios import implementations, load
from scenarios.errors import choices

SNAKEFILE = ROOT / "workflows" / "interop" / "Snakefile"
CASES = ROOT / "workflows" / "interop" / "cases.yaml"
STUDY = "interop"


def interop(names: Sequence[str], chosen: Sequence[str], into: Path) -> NoReturn:
    """Let every implementation send to every other and to itself, in the chosen cases (none: all).

    Everything is kept in the folder `into`/<the names>; a second call continues there.

    Raises:
        EngineError: something is wrong with the order, before anything runs.
    """
    known = orders.known(names)
    for name in names:
        if known[name]["transport"] == "udp":
            raise EngineError(f"{name} delivers no stream; allowed: implementations over TCP or uTP")
    if len(set(names)) < len(names):
        raise EngineError(f"found {', '.join(names)}; allowed: each implementation once")
    cases = load.read(CASES).data
    for case in chosen:
        if case not in cases["cases"]:
            raise EngineError(f"--case: found {case!r}; allowed: {choices(list(cases['cases']), case)}")
    cases["cases"] = {name: case for name, case in cases["cases"].items() if not chosen or name in chosen}
    folder = own_study.folder_of(into, "-".join(names))
    study = ROOT / folder / "studies" / STUDY
    order = order_of(names, cases, known)
    own_study.write(study, {study / f"{one['experiment']}.yaml": text for one, text in filled(cases, order)})
    (ROOT / folder / "order.json").write_text(json.dumps(order, indent=1) + "\n")
    own_study.become_pipeline(SNAKEFILE, "interop", folder)


def order_of(names: Sequence[str], cases: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Say what is asked: the cases with their titles, and every ordered pair, with the reason if it cannot meet."""
    pairs = [
        {
            "sender": sender,
            "receiver": receiver,
            "experiment": f"{sender}-to-{receiver}".replace(".", "-"),
            "unsupported": implementations.mismatch(known[sender], known[receiver]),
        }
        for sender in names
        for receiver in names
    ]
    titles = {name: case.get("title", cases["title"]) for name, case in cases["cases"].items()}
    return {"implementations": list(names), "cases": titles, "pairs": pairs}


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
        result.append((pair, "# filled by `testbed interop`\n" + yaml.safe_dump(data, sort_keys=False, width=120)))
    return result


def _between(pair: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{**flow, "implementation": {side: pair[side] for side in ("sender", "receiver")}} for flow in flows]
