"""A description of the tables over runs as a Data Package (https://datapackage.org), beside them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from analysis.tables.schema import Table
from common import sums

FILE: Final = "datapackage.json"
FORMAT: Final = 1
"""Of the tables, whose `version` it is."""
_PROFILE: Final = "https://datapackage.org/profiles/2.0/datapackage.json"
_TYPES: Final = {"true or false": "boolean", "text": "string", "float64": "number"}


def describe(tables: Iterable[Table], folder: Path) -> None:
    """Write the description of the tables of a folder."""
    package = {
        "$schema": _PROFILE,
        "name": "testbed-tables",
        "version": str(FORMAT),
        "title": "Runs, flows, queues, events and claims of the LEDBAT testbed",
        "description": "docs/reference/tables.md has the meaning of each column, too",
        "resources": [_resource(table, folder / f"{table.name}.parquet") for table in tables],
    }
    (folder / FILE).write_text(json.dumps(package, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _resource(table: Table, file: Path) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": f"a row is {table.row}",
        "path": file.name,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "bytes": file.stat().st_size,
        "hash": f"sha256:{sums.digest(file)}",
        "schema": {"fields": [_field(column.as_json()) for column in table.columns]},
    }


def _field(column: dict[str, str]) -> dict[str, Any]:
    """Describe a column; what the standard has no name for (unit, source, null) stands under its own."""
    known = {"name": column["name"], "type": _TYPES.get(column["type"], "integer"), "description": column["meaning"]}
    own = {name: column[name] for name in ("unit", "source", "null") if name in column}
    return known | own | ({} if "null" in column else {"constraints": {"required": True}})
