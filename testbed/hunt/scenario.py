"""A scenario as data: written in few lines, and named by what it says."""

import hashlib
import json
from typing import Any, Final

import yaml

from testbed.shared.panel import CLIENT

Data = dict[str, Any]
EXPERIMENT: Final = "hunt"
_LIST_OF_LINES: Final = 1  # a longer list has a line for each of its items
_LONGEST_LINE: Final = 1 << 20


def text(data: Data, title: str | None = None) -> str:
    """Write a scenario, a line for each field and for each item of a list; `title` instead of its own."""
    lines = []
    for name, value in (data | ({"title": title} if title else {})).items():
        if isinstance(value, list) and len(value) > _LIST_OF_LINES and isinstance(value[0], dict):
            lines += [f"{name}:", *(f"  - {_line(item)}" for item in value)]
        else:
            lines.append(f"{name}: {_line(value)}")
    return "\n".join(lines) + "\n"


class _Dumper(yaml.SafeDumper):
    """Leaves `on` without quotes, which is a text in YAML 1.2."""


_Dumper.yaml_implicit_resolvers = {
    first: resolvers for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items() if first not in "oO"
}


def _line(value: Any) -> str:
    written = yaml.dump(value, None, _Dumper, default_flow_style=True, sort_keys=False, width=_LONGEST_LINE)
    return written.removesuffix("\n").removesuffix("\n...")


def name(data: Data) -> str:
    """Return a name that no other scenario has: a digest of all but its title."""
    rest = {field: value for field, value in data.items() if field != "title"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:16]


def of_client(data: Data, client: str) -> Data:
    """Return the same scenario with another implementation as the client."""
    return data | {"matrix": {CLIENT: [client]}}
