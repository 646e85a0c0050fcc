"""JSON Schema with whole numbers that are whole numbers: 1.0 is none, as no reader here takes it for one."""

from __future__ import annotations

from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.validators import extend


def _is_whole(_checker: Any, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


Validator: Final[Any] = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator, type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole)
)
