"""The lists of docs/reference/tables.md; `python -m testbed.tables columns PAGE` puts them between the page's marks."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from analysis.tables import files, of_results, of_run
from analysis.tables.files import Field, File
from analysis.tables.schema import Column, Table


def lists() -> dict[str, str]:
    """Give each list of the page in Markdown, by the name in its mark."""
    tables = {f"{table.name}.parquet": table for table in (*of_run.ALL, *of_results.OVER_RUNS)}
    tables["metrics.csv"] = of_results.METRICS
    return (
        {"files of a run": _files(files.OF_RUN), "files of results": _files(files.OF_RESULTS)}
        | {"columns of each": _columns((*of_results.OF_EACH, of_results.CELL_VALUE))}
        | {name: f"A row is {table.row}.\n\n{_listed_once(name, tables)}" for name, table in tables.items()}
        | {name: _fields(fields) for name, fields in files.FIELDS.items()}
    )


def _listed_once(name: str, tables: Mapping[str, Table]) -> str:
    """Give the columns of a table, or the name of an earlier one that has the same."""
    same = next(other for other, table in tables.items() if table.columns == tables[name].columns)
    return _columns(_own(tables[name])) if same == name else f"It has the columns of {same}."


def _own(table: Table) -> Sequence[Column]:
    """Give the columns of a table without those that each table over runs begins with, which are listed once."""
    common = len(of_results.OF_EACH)
    return table.columns[common if table.columns[:common] == of_results.OF_EACH else 0 :]


def filled(text: str) -> str:
    """Put the lists between the marks of a page. Raises ValueError where a list has no mark."""
    for name, made in lists().items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        text, count = re.subn(f"{begin}\n.*?{end}", lambda _: f"{begin}\n{made}\n{end}", text, flags=re.DOTALL)  # noqa: B023
        if count != 1:
            raise ValueError(f"{begin}: found {count} times; allowed: once, with {end} behind it")
    return text


def _files(listed: Iterable[File]) -> str:
    """Give the files that are not hidden."""
    return _table(("file", "holds"), ((f"`{file.path}`", file.holds) for file in listed if "/." not in f"/{file.path}"))


def _fields(listed: Iterable[Field]) -> str:
    rows = [(f"`{field.path}`", _typed(field.type, field.unit), field.meaning) for field in listed]
    return _table(("field", "type", "meaning"), rows)


def _columns(listed: Iterable[Column]) -> str:
    """Give the columns; a reason for null that three or more share stands above them, once."""
    listed = list(listed)
    often = [reason for reason, count in Counter(one.null for one in listed).items() if reason and count > 2]
    shared = [_shared(reason, [one.name for one in listed if one.null == reason]) for reason in often]
    rows = [
        (f"`{one.name}`", _typed(one.type, one.unit), one.meaning if one.null in ("", *often) else _with_null(one))
        for one in listed
    ]
    return "".join(shared) + _table(("column", "type", "meaning"), rows)


def _shared(reason: str, names: Sequence[str]) -> str:
    return f"{', '.join(f'`{name}`' for name in names)} are null if {reason}.\n\n"


def _with_null(column: Column) -> str:
    return f"{column.meaning} (null: {column.null})"


def _typed(type_: str, unit: str) -> str:
    return f"{type_}, {unit}" if unit not in ("", "1") else type_


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])


def main(words: list[str]) -> int:
    """Fill the page that is named; return 0."""
    page = Path(words[0])
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0
