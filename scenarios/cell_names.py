"""The name of a cell: its values, as folders and pages have it. The only place that writes it or takes it apart.

Values of a matrix have neither a comma nor an equals sign (scenarios/schemas/scenario.schema.yaml), so both ways are
sure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

SINGLE: Final = "single"
CASE: Final = "case"


def name_of(values: Mapping[str, Any]) -> str:
    """Return the name of the cell with these values; SINGLE for one that has none."""
    return ",".join(f"{name}={written(value)}" for name, value in values.items()) or SINGLE


def values_of(name: str) -> dict[str, str]:
    """Return the values of a cell, or of a point, as they are written, by their names in the order of the name."""
    return {} if name == SINGLE else dict(part.split("=", 1) for part in name.split(","))


def without(name: str, *left_out: str) -> str:
    """Return a name without some of its values."""
    return name_of({key: value for key, value in values_of(name).items() if key not in left_out})


def written(value: object) -> str:
    """Write a matrix value as YAML does, and as names of cells do."""
    return str(value).lower() if isinstance(value, bool) else str(value)
