"""The lists of docs/reference/tables.md; `python -m testbed.tables columns PAGE` puts them between the page's marks."""

import re
from collections.abc import Iterable, Sequence
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
        | {name: f"A row is {table.row}.\n\n{_columns(_own(table))}" for name, table in tables.items()}
        | {name: _fields(fields) for name, fields in files.FIELDS.items()}
    )


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
    return _table(("file", "holds"), ((f"`{file.path}`", file.holds) for file in listed))


def _fields(listed: Iterable[Field]) -> str:
    head = ("field", "type", "unit", "meaning")
    return _table(head, ((f"`{field.path}`", field.type, field.unit, field.meaning) for field in listed))


def _columns(listed: Iterable[Column]) -> str:
    rows = ((f"`{one.name}`", one.type, one.unit, one.meaning, one.source, one.null) for one in listed)
    return _table(("column", "type", "unit", "meaning", "source", "null if"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], f"|{'---|' * len(head)}", *lines[1:]])


def main(words: list[str]) -> int:
    """Fill the page that is named; return 0."""
    page = Path(words[0])
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    return 0
