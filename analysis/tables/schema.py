"""The form of a table: its columns with type, unit, meaning, source and nulls, which its Parquet file says of itself.

A file's metadata have the table's name under `table`, what a row is under `row`, and all columns as JSON under
`columns`, so that a table which left its folder still explains itself.
"""

import json
from dataclasses import dataclass
from typing import Final

import polars as pl

TYPES: Final[dict[type[pl.DataType], str]] = {
    pl.Boolean: "true or false",
    pl.Categorical: "text",
    pl.String: "text",
    pl.UInt8: "uint8",
    pl.UInt16: "uint16",
    pl.UInt32: "uint32",
    pl.UInt64: "uint64",
    pl.Int64: "int64",
    pl.Float64: "float64",
}
"""How pages and files name the type of a column; a Categorical is a text with a dictionary (R: factor)."""


@dataclass(frozen=True)
class Column:
    """A column: `unit` is empty for what has none, `null` for what is always there."""

    name: str
    kind: type[pl.DataType]
    meaning: str
    source: str
    unit: str = ""
    null: str = ""

    @property
    def type(self) -> str:
        """Its type as pages name it."""
        return TYPES[self.kind]

    def as_json(self) -> dict[str, str]:
        """Give what a file's metadata say of it; what is empty is left out."""
        fields = ("name", "type", "unit", "meaning", "source", "null")
        return {field: value for field in fields if (value := str(getattr(self, field)))}


@dataclass(frozen=True)
class Table:
    """A table: the name of its file without the ending, what a row of it is, and its columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pl.Schema:
        """What Polars has to know of it."""
        return pl.Schema({column.name: column.kind() for column in self.columns})

    @property
    def metadata(self) -> dict[str, str]:
        """What its file says of itself."""
        columns = [column.as_json() for column in self.columns]
        return {"table": self.name, "row": self.row, "columns": json.dumps(columns, ensure_ascii=False)}

    def empty(self) -> pl.DataFrame:
        """Make one without rows."""
        return pl.DataFrame(schema=self.schema)
