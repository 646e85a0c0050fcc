"""Applies JSON schemas: checks with messages for people, fills in defaults, converts quantities to integers.

The project adds keywords. ``unit: time`` (or another name of `units.QUANTITIES`) means that a value is a quantity
written with its unit; ``atLeast`` and ``atMost`` bound such a value, in the same notation. ``name: debian package`` (or
another of `names.KINDS`) means that a value is a name of that kind.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import ValidationError
from jsonschema.validators import extend

from scenarios.errors import Problem, ScenarioError, choices
from scenarios.load import Document, read
from scenarios.names import KINDS
from scenarios.units import QUANTITIES, UnitError
from scenarios.validator import Validator

SCHEMAS = Path(__file__).with_name("schemas")

Schema = Mapping[str, Any]

_TYPES = {"object": "fields below it", "array": "a list", "string": "text", "integer": "a whole number"}
_TYPES |= {"boolean": "true or false", "number": "a number"}


@functools.cache
def load_schema(name: str, folder: Path = SCHEMAS) -> Schema:
    """Load the schema `<name>.schema.yaml`, with each `$ref` replaced by what it names."""
    written = read(folder / f"{name}.schema.yaml").data
    schema: Schema = _without_references(written, written.get("$defs", {}))
    return schema


def checked(path: Path, schema: Path) -> tuple[Document, Any]:
    """Read a file by the schema in another one; return it, and its data with defaults for missing fields.

    Raises:
        ScenarioError: it violates the schema; the message names line and field of everything that does.
    """
    rules = read(schema).data
    document = read(path)
    if wrong := problems(document, rules):
        raise ScenarioError(wrong)
    return document, with_defaults(document.data, rules)


def problems(document: Document, schema: Schema) -> list[Problem]:
    """Return every violation of the schema, in the order of the file's lines."""
    errors = _Validator(schema).iter_errors(document.data)
    wrong = [problem for error in errors for problem in _explain(document, error)]
    return sorted(wrong, key=lambda problem: problem.line)


def with_defaults(data: Any, schema: Schema) -> Any:
    """Copy `data` with defaults for missing fields, at every depth of the schema."""
    if isinstance(data, dict):
        fields: Schema = schema.get("properties", {})
        filled = {name: field["default"] for name, field in fields.items() if "default" in field} | data
        ordered = sorted(filled, key=[*fields, *data].index)
        return {name: with_defaults(filled[name], fields.get(name, {})) for name in ordered}
    if isinstance(data, list):
        return [with_defaults(item, schema.get("items", {})) for item in data]
    return data


def in_base_units(data: Any, schema: Schema) -> Any:
    """Copy valid `data` with integers for quantities, whose fields get the unit as a suffix (`rate_bps`)."""
    if isinstance(data, dict):
        converted = {}
        for name, value in data.items():
            field = schema.get("properties", {}).get(name, {})
            if "unit" in field:
                quantity = QUANTITIES[field["unit"]]
                named = name if name == quantity.suffix else f"{name}_{quantity.suffix}"
                converted[named] = quantity.parse(value)
            else:
                converted[name] = in_base_units(value, field)
        return converted
    if isinstance(data, list):
        return [in_base_units(item, schema.get("items", {})) for item in data]
    return data


def _without_references(node: Any, definitions: Schema) -> Any:
    """Replace each `$ref`. What stands beside it takes precedence, and adds to the fields and what is required."""
    if isinstance(node, list):
        return [_without_references(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    own = {name: _without_references(value, definitions) for name, value in node.items() if name != "$ref"}
    if "$ref" not in node:
        return own
    target = _without_references(definitions[node["$ref"].removeprefix("#/$defs/")], definitions)
    both = own.keys() & target.keys()
    added = {name: own[name] | target[name] for name in both & {"properties"}}
    added |= {name: own[name] + target[name] for name in both & {"required"}}
    return target | own | added


def _check_unit(_validator: Any, unit: str, value: object, _schema: Schema) -> Iterator[ValidationError]:
    try:
        QUANTITIES[unit].parse(value)
    except UnitError as error:
        yield ValidationError(str(error))


def _check_bound(below: bool, bound: str, value: object, schema: Schema) -> Iterator[ValidationError]:
    quantity = QUANTITIES[schema["unit"]]
    try:
        number = quantity.parse(value)
    except UnitError:
        return  # `unit` reports it
    limit = quantity.parse(bound)
    if number < limit if below else number > limit:
        yield ValidationError(f"found {value!r}, too {'small' if below else 'large'}")


def _check_at_least(_validator: Any, bound: str, value: object, schema: Schema) -> Iterator[ValidationError]:
    return _check_bound(True, bound, value, schema)


def _check_at_most(_validator: Any, bound: str, value: object, schema: Schema) -> Iterator[ValidationError]:
    return _check_bound(False, bound, value, schema)


def _check_unique(_validator: Any, wanted: bool, value: object, _schema: Schema) -> Iterator[ValidationError]:
    """Compare values as written, in one pass; the validator's own check compares all pairs if types differ."""
    if not wanted or not isinstance(value, list):
        return
    seen: set[str] = set()
    for item in value:
        written = str(item).lower() if isinstance(item, bool) else str(item)
        if written in seen:
            yield ValidationError(f"found {written!r} again")
            return
        seen.add(written)


def _check_name(_validator: Any, kind: str, value: object, _schema: Schema) -> Iterator[ValidationError]:
    if isinstance(value, str) and not KINDS[kind].allows(value):  # `type` reports the others
        yield ValidationError(f"found {value!r}")


def _check_pattern(_validator: Any, pattern: str, value: object, _schema: Schema) -> Iterator[ValidationError]:
    """Search as JSON Schema says: its `$` is the end, while Python's lets a line feed follow."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield ValidationError(f"found {value!r}")


_KEYWORDS = {
    "name": _check_name,
    "pattern": _check_pattern,
    "unit": _check_unit,
    "atLeast": _check_at_least,
    "atMost": _check_at_most,
    "uniqueItems": _check_unique,
}
_Validator: Any = extend(Validator, _KEYWORDS)  # type: ignore[no-untyped-call]


def _explain(document: Document, error: ValidationError) -> Iterator[Problem]:
    """Yield the problems behind one error of the validator, with what was found and what is allowed."""
    path = tuple(error.absolute_path)
    value: Any = error.instance
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    found = _shown(value)
    match error.validator:
        case "additionalProperties":
            known = list(schema.get("properties", {}))
            patterns = schema.get("patternProperties", {})
            for name in value:
                if name not in known and not any(re.search(pattern, name) for pattern in patterns):
                    allowed = f"a name matching {' or '.join(patterns)}" if patterns else choices(known, name)
                    yield document.problem((*path, name), "unknown field", allowed)
        case "required":
            for name in schema["required"]:
                if name not in value:
                    yield document.problem(
                        (*path, name), "missing", _meaning(schema.get("properties", {}).get(name, {}))
                    )
        case "enum":
            yield document.problem(path, found, choices([str(value) for value in schema["enum"]], value))
        case "type":
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            yield document.problem(path, found, " or ".join(_TYPES[name] for name in types))
        case "oneOf" if isinstance(value, dict):
            names = [option["required"][0] for option in schema["oneOf"]]
            given = [name for name in names if name in value]
            yield document.problem(path, f"found {' and '.join(given) or 'none'}", f"one of {', '.join(names)}")
        case "pattern":
            yield document.problem(path, found, schema.get("description", f"text matching {schema['pattern']}"))
        case "name":
            yield document.problem(path, error.message, KINDS[schema["name"]].meaning)
        case "unit":
            yield document.problem(path, error.message, str(QUANTITIES[schema["unit"]]))
        case "atLeast":
            yield document.problem(path, error.message, f"{schema['atLeast']} or more")
        case "atMost":
            yield document.problem(path, error.message, f"{schema['atMost']} or less")
        case "oneOf":
            pass  # `type` reports it
        case "maxProperties":
            yield document.problem(path, f"found {len(value)} of them", f"{schema['maxProperties']} at most")
        case "minimum":
            yield document.problem(path, found, f"{schema['minimum']} or more")
        case "maximum":
            yield document.problem(path, found, f"{schema['maximum']} or less")
        case "uniqueItems":
            yield document.problem(path, error.message, "each value once")
        case _:
            yield document.problem(path, error.message, schema.get("description", f"{error.validator}: see the schema"))


def _meaning(field: Schema) -> str:
    """Return what a missing field should hold: its allowed values and their meaning."""
    values = ", ".join(map(str, field.get("enum", field.get("items", {}).get("enum", ()))))
    description = str(field.get("description", "a value"))
    return f"{values} ({description})" if values else description


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "found " + ("fields" if isinstance(value, dict) else "a list")
    return "found nothing" if value is None else f"found {value!r}"
