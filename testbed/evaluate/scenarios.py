"""The scenarios of an evaluation: those of the criteria, filled, and those without the control that bounds need."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import yaml

from scenarios import implementations
from scenarios.checks import RELAYED
from testbed.evaluate.read_criteria import ALONE, Criterion
from testbed.shared.panel import CLIENT, filled, points_for


def placebo_of(baseline: str) -> str | None:
    """Return the implementation that differs from a baseline in nothing that anybody would notice, if there is one."""
    name = f"{baseline}-placebo"
    return name if name in implementations.known() else None


def texts(criteria: Sequence[Criterion], names: Sequence[str], seeds: Mapping[str, int]) -> dict[str, str]:
    """Return the scenarios of criteria by their files' names; `seeds` by the names of those of the criteria.

    Raises:
        ScenarioError: one cannot be carried out with what was asked for.
    """
    made: dict[str, str] = {}
    for criterion in criteria:
        for name, file in criterion.scenarios.items():
            made[name] = filled(file, names, seeds[name], points_for(file, names), may_fail="everybody")
        for name, (of, word, victim) in criterion.references.items():
            made[name] = _without_control(made[of], word, victim)
    return made


def _without_control(scenario: str, word: str, victim: str) -> str:
    """Return a filled scenario without the control, or with the victim's implementation in its place."""
    data: dict[str, Any] = yaml.safe_load(scenario)
    data["experiment"] += f"-{word}"
    data["matrix"].pop(CLIENT)
    for fields in (data, *data.get("cases", {}).values()):
        if "flows" in fields:
            fields["flows"] = _flows(fields["flows"], word, victim)
    used = {flow[end] for flow in data["flows"] for end in ("from", "to")}
    for fields in (data, *data.get("cases", {}).values()):
        for name in {*RELAYED} & fields.keys():
            fields[name] = [entry for entry in fields[name] if entry["host"] in used]
    data["paired"] = [parameter for parameter in data.get("paired", []) if parameter != CLIENT]
    for name in ("matrix", "paired"):
        if not data[name]:
            del data[name]
    return yaml.safe_dump(data, sort_keys=False, width=120)


def _flows(flows: Sequence[dict[str, Any]], word: str, victim: str) -> list[dict[str, Any]]:
    others = [flow for flow in flows if flow["name"] != CLIENT]
    if word == ALONE:
        return others
    [like] = [flow for flow in others if flow["name"] == victim]
    same: dict[str, Any] = {name: deepcopy(like[name]) for name in ("implementation", "params") if name in like}
    return [{**flow, **same} if flow["name"] == CLIENT else flow for flow in flows]
