"""Makes again what an archive shows of its numbers: figures, tables over runs, outcomes of KUnit cases.

Numbers are compared to nine digits, and places in pictures to a hundredth of a pixel, since processors with other
vector units add in another order.
"""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from analysis.digits import nine_digits
from analysis.errors import BadInputError
from analysis.figures.draw import draw
from analysis.tables import package
from analysis.tables.over_runs import FOLDER, write_tables
from analysis.watchdog import LIMIT_S, ended_after
from common import sums
from common.sums import DamagedError
from engine import kunit
from engine.errors import EngineError
from engine.repetition import differences
from testbed.archive.contents import Contents
from testbed.archive.crate import EXPERIMENTS, KUNIT, Crate
from testbed.archive.kinds import FIGURE
from testbed.folders import REFERENCE

_OF_THE_HOST: Final = ("wall_s", "cpu_s", "commit")
"""Columns of tables over runs that differ by design."""
_OF_FILES: Final = ("bytes", "hash")
_NUMBER: Final = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")
_SAME_PLACE: Final = 0.01
_LIMIT_S: Final = 600.0  # of comparing a table
_MARK: Final = re.compile(r"(<[^>]*>)")
_COLOUR: Final = re.compile(r"#\w*")
_LABEL: Final = re.compile(r'aria-label="[^"]*')


def figures(archived: Contents, experiment: str, runs: Path) -> list[str]:
    """Draw the figures of an experiment that was measured again; return which of them are others than the archived.

    Raises:
        EngineError: a figure cannot be drawn.
    """
    out = runs.parent / EXPERIMENTS
    try:
        with ended_after(LIMIT_S, f"{experiment}: its figures"):
            draw([experiment], runs, out, reference=REFERENCE)
    except (BadInputError, DamagedError) as error:
        raise EngineError(f"{archived.crate.name}: {archived.message_of(error)}") from None
    files = (Path(experiment, name) for name in FIGURE)
    return [file.name for file in files if not _same_picture(archived.crate.folder / EXPERIMENTS / file, out / file)]


def _same_picture(archived: Path, made: Path) -> bool:
    """Whether two captions are the same, or two pictures, but for how the numbers of their marks end."""
    there, here = archived.read_bytes(), made.read_bytes()
    if there == here or made.suffix != ".svg":
        return there == here
    try:
        parts = [_MARK.split(text.decode()) for text in (there, here)]
    except UnicodeDecodeError:
        return False
    # what people read stands between marks
    return (
        len(parts[0]) == len(parts[1])
        and parts[0][::2] == parts[1][::2]
        and all(map(_same_mark, parts[0][1::2], parts[1][1::2]))
    )


def _same_mark(there: str, here: str) -> bool:
    if any(kind.findall(there) != kind.findall(here) for kind in (_LABEL, _COLOUR)):
        return False
    words, others = (_NUMBER.split(_COLOUR.sub("", mark)) for mark in (there, here))
    if len(words) != len(others) or words[::2] != others[::2]:
        return False
    pairs = zip(words[1::2], others[1::2], strict=True)
    return all(math.isclose(float(one), float(other), rel_tol=0, abs_tol=_SAME_PLACE) for one, other in pairs)


def tables(archived: Contents, results: Path) -> list[str]:
    """Write the tables over all runs, which have all been measured again; return which are others than the archived.

    Raises:
        EngineError: a table cannot be made.
    """
    try:
        with ended_after(LIMIT_S, "tables over runs"):
            made = write_tables(results)
            return list(_other_tables(archived.crate, made))
    except (BadInputError, DamagedError) as error:
        raise EngineError(f"{archived.crate.name}: {archived.message_of(error)}") from None


def _other_tables(crate: Crate, made: Path) -> Iterator[str]:
    names = {path.name for path in made.iterdir() if path.is_file()} - {sums.FILE}
    there = {name.removeprefix(f"{FOLDER}/") for name in crate.sums if name.startswith(f"{FOLDER}/")}
    yield from sorted(names ^ there)
    for name in sorted(names & there):
        archived = crate.folder / FOLDER / name
        if name == package.FILE:
            said, again = crate.read(Path(FOLDER, name)), json.loads((made / name).read_text())
            if not _fits(crate, said) or _without_sums(said) != _without_sums(again):
                yield name
        elif archived.read_bytes() != (made / name).read_bytes() and not _same_table(archived, made / name):
            yield name


def _fits(crate: Crate, described: dict[str, Any]) -> bool:
    """Whether the sum of each table in an archived description is that of the archived file."""
    try:
        return all(
            each["hash"] == f"sha256:{crate.sums[f'{FOLDER}/' + each['path']]}" for each in described["resources"]
        )
    except (KeyError, TypeError):
        return False


def _without_sums(described: dict[str, Any]) -> dict[str, Any]:
    """Leave out size and sum of each table."""
    resources = [
        {name: value for name, value in each.items() if name not in _OF_FILES} for each in described["resources"]
    ]
    return described | {"resources": resources}


def _same_table(archived: Path, made: Path) -> bool:
    """Whether an archived table, which comes from anybody, has the rows of the one that was made.

    A process of its own reads them: a damaged file may abort it, or take all memory that it may have.
    """
    code = f"import sys; from {__name__} import is_same_table as same; sys.exit(not same(*sys.argv[1:]))"
    words = [sys.executable, "-P", "-c", code, str(archived), str(made)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def is_same_table(archived: str, made: str) -> bool:
    """Whether `has_same_rows` holds, within bounds of time and memory. Raises BadInputError where it wants more."""
    with ended_after(_LIMIT_S, f"reading {archived}"):
        return has_same_rows(archived, made)


def has_same_rows(archived: str, made: str) -> bool:
    """Whether two tables have the same columns and rows, but for the columns of the host."""
    here = pl.read_parquet(made)
    try:
        if pl.read_parquet_schema(archived) != here.schema:
            return False
        if pl.scan_parquet(archived).select(pl.len()).collect().item() != len(here):
            return False
        there = pl.read_parquet(archived)
    except (PolarsError, OSError):
        return False
    rows = [nine_digits(table.drop(_OF_THE_HOST, strict=False).rows()) for table in (there, here)]
    return bool(rows[0] == rows[1])


def tests(crate: Crate) -> list[str]:
    """Run the KUnit cases again; return what of their outcomes is other than archived.

    Raises:
        EngineError: they cannot be run here.
    """
    archived, again = crate.read(KUNIT), kunit.run()
    # the kernel's log tells of the host
    return differences(*({name: value for name, value in each.items() if name != "log"} for each in (archived, again)))
