"""Reads a guest's report as untrusted input: a JSON file within bounds and of the expected form."""

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema.exceptions import best_match

from engine.errors import EngineError
from scenarios.errors import field_name
from scenarios.validator import Validator
from topologies.endings import ENDINGS

_LONGEST_BYTES = 16 << 20
_LONGEST_TEXT = 64 << 10
_DEEPEST = 12
_LARGEST = 2**63 - 1
_LONGEST_NUMBER = len(str(-_LARGEST))

_WHOLE = {"type": "integer", "minimum": 0, "description": "a whole number from 0"}
_WHOLE_OR_NONE = {"type": ["integer", "null"], "minimum": 0, "description": "a whole number from 0, or null"}
_INSTANT = {"type": "integer", "description": "a whole number"}  # negative: before the scenario's zero
_INSTANT_OR_NONE = {"type": ["integer", "null"], "description": "a whole number, or null"}
_STATUS = {"type": ["integer", "null"], "minimum": -64, "maximum": 255, "description": "an exit status, or null"}
_TEXTS = {"type": "array", "items": {"type": "string"}, "description": "a list of texts"}
_FIELDS = {"type": "object", "description": "fields below it"}
_COUNTS = {**_FIELDS, "additionalProperties": _WHOLE}
_OUTCOME = {
    **_FIELDS,
    "required": ["endpoint", "ending", "at_ns", "says"],
    "properties": {
        "endpoint": {"enum": ["sender", "receiver"], "description": "sender or receiver"},
        "ending": {"enum": ENDINGS, "description": f"one of {', '.join(ENDINGS)}"},
        "at_ns": _INSTANT,
        "says": {"type": "string", "description": "a text"},
    },
}

RUN: dict[str, Any] = {
    **_FIELDS,
    "required": ["status", "error", "virtual_ns"],
    "properties": {
        "status": {"enum": ["ok", "failed"], "description": "ok or failed"},
        "error": {"type": ["string", "null"], "description": "a text, or null"},
        "virtual_ns": _WHOLE,
        "ended_ns": _INSTANT,
        "counted_ns": _INSTANT,
        "versions": {**_FIELDS, "additionalProperties": {"type": "string", "description": "a text"}},
        "probe": _FIELDS,
        "counters": {**_FIELDS, "properties": {"interfaces": {**_FIELDS, "additionalProperties": _COUNTS}}},
        "captured": {**_FIELDS, "additionalProperties": _COUNTS},
        "flows": {
            **_FIELDS,
            "additionalProperties": {
                **_FIELDS,
                "properties": {
                    "completed_ns": _INSTANT_OR_NONE,
                    "received_bytes": _WHOLE_OR_NONE,
                    "sender_exit": _STATUS,
                    "receiver_exit": _STATUS,
                    "outcomes": {"type": "array", "items": _OUTCOME, "description": "a list of outcomes"},
                },
            },
        },
    },
    "if": {"properties": {"status": {"const": "ok"}}},
    "then": {"required": ["ended_ns", "counted_ns", "versions", "audit", "probe", "counters", "flows"]},
    "else": {"properties": {"error": {"type": "string", "description": "a text, since the run failed"}}},
}
"""The report of the agent (engine/guest/agent.py)."""

SCRIPT: dict[str, Any] = {
    **_FIELDS,
    "required": ["exit_status", "virtual_ns"],
    "properties": {
        "exit_status": {"type": "integer", "minimum": 0, "maximum": 255, "description": "a whole number, 0 to 255"},
        "virtual_ns": _WHOLE,
        "missing": _TEXTS,
        "elsewhere": _TEXTS,
        "controller_exit": {"type": ["integer", "null"], "description": "a whole number, or null"},
        "controller_listens": {"type": "boolean", "description": "true or false"},
        "rated": {"type": "boolean", "description": "true or false"},
        "storm": {
            "type": ["object", "null"],
            "required": ["loops", "interface", "pkts", "from_hosts_pkts"],
            "properties": {
                "loops": {"type": "array", "items": _TEXTS, "description": "a list of lists of texts"},
                "interface": {"type": "string", "description": "a text"},
                "pkts": _WHOLE,
                "from_hosts_pkts": _WHOLE,
            },
            "description": "fields below it, or null",
        },
    },
}
"""The report of the program that runs a user's script (engine/guest/exec_script.py)."""


def read(file: Path, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what `file` says, valid by `schema`; None if there is no such file.

    Raises:
        EngineError: it is anything else; one sentence names file and field.
    """
    try:
        said = _regular(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(file, "", f"found what cannot be read ({error.strerror})", "a regular file") from None
    if said is None or len(said) > _LONGEST_BYTES:
        raise _refused(file, "", "found something else", f"a regular file of at most {_LONGEST_BYTES >> 20} MiB")
    try:
        # a number too large for a float becomes Infinity, which is refused with its field
        data = json.loads(said.decode(), parse_int=_integer)
    except RecursionError:
        raise _refused(file, "", "found values nested without end", f"{_DEEPEST} levels") from None
    except ValueError as error:
        raise _refused(file, "", f"found no JSON ({error})", "what the guest's own program writes") from None
    _check_bounds(file, data)
    wrong = best_match(Validator(schema).iter_errors(data))
    if wrong is None:
        return dict(data)
    if wrong.validator == "required":
        missing = next(name for name in wrong.validator_value if name not in wrong.instance)
        raise _refused(file, field_name([*wrong.absolute_path, missing]), "it is missing", "any valid value")
    value = json.dumps(wrong.instance)
    raise _refused(
        file, field_name(wrong.absolute_path), f"found {_shortened(value)}", wrong.schema.get("description", "less")
    )


def _regular(file: Path) -> bytes | None:
    """Return the bytes of a regular file, at most one more than is allowed; None for anything else."""
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as stream:  # noqa: PTH123
        return stream.read(_LONGEST_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else math.inf


def _check_bounds(file: Path, data: Any) -> None:
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > _DEEPEST:
            raise _refused(file, field_name(path[:3]), "found values nested too deeply", f"{_DEEPEST} levels")
        if isinstance(value, dict):
            waiting += [((*path, _shortened(name)), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, index), inner) for index, inner in enumerate(value)]
        elif isinstance(value, str) and len(value) > _LONGEST_TEXT:
            allowed = f"at most {_LONGEST_TEXT} characters"
            raise _refused(file, field_name(path), f"found a text of {len(value)} characters", allowed)
        elif isinstance(value, int | float) and not (math.isfinite(value) and abs(value) <= _LARGEST):
            raise _refused(file, field_name(path), "found a number without bound", f"numbers up to {_LARGEST}")


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}..."


def _refused(file: Path, field: str, found: str, allowed: str) -> EngineError:
    place = f"{file.name}: {field}" if field else file.name
    return EngineError(f"the testbed refuses what the guest says: {place}: {found}; allowed: {allowed}")
