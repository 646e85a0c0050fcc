"""What fails besides findings: of conformance and interoperation, as their pages have it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from analysis.files import replace_between
from analysis.judge.verdict import SIGNS, Verdict
from analysis.reference.papers import row

MARKS: Final = "<!-- products: written by python -m testbed.tables papers -->", "<!-- end of products -->"
CONFORMANCE: Final = Path("docs/results/conformance.md")
INTEROP: Final = Path("docs/results/interop.md")
_TABLES: Final = re.compile(r"<!-- tables: [^\n]*\n(.*?)<!-- end of tables -->", re.DOTALL)
_FAILS: Final = SIGNS[Verdict.FAILS]
_OWN: Final = {
    "RFC 6817": "tcp-ledbat",
    "draft-irtf-iccrg-ledbat-plus-plus": "tcp-ledbatpp",
    "RFC 9840": "tcp-rledbat",
    "BEP 29": None,
}
"""Documents by how their titles begin, each with the module that is made after it; None for all that are asked."""


def write(page: Path, conformance: Path = CONFORMANCE, interop: Path = INTEROP) -> None:
    """Write what fails by the tables of two pages between the marks of a third.

    Raises:
        BadInputError: a page lacks its marks.
    """
    lines = [*_of_documents(_tables(conformance)), "", *_of_pairs(_tables(interop))]
    replace_between(page, *MARKS, "\n" + "\n".join(lines) + "\n\n")


def _tables(page: Path) -> str:
    found = _TABLES.search(page.read_text())
    if found is None:
        raise BadInputError(f"{page}: found no tables; allowed: a page with some that a program wrote")
    return found[1]


def _rows(table: str) -> Iterator[list[str]]:
    """Yield the cells of each row of a table, without its head and rule."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    yield from ([cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:])


def _of_documents(text: str) -> Iterator[str]:
    yield "| requirement | fails in |"
    yield "|---|---|"
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        [(title, module)] = [each for each in _OWN.items() if part.startswith(each[0])]
        asked, _, met = part.partition("| implementation |")
        rows = [(names.split(", "), fails.split(", ")) for names, fails, *_ in _rows(f"| implementation |{met}")]
        for number, (_, _, section, says) in enumerate(_rows(asked), 1):
            failed = [name.strip("`") for names, fails in rows if str(number) in fails for name in names]
            failed = [name for name in failed if module in (name, None)]
            if failed:
                yield row(f"{title}, {section}: {says}", ", ".join(f"`{name}`" for name in failed))


def _of_pairs(text: str) -> Iterator[str]:
    letters = re.findall(r"\b([a-z])\s`([^`]+)`", text.partition("| sender |")[0])
    pairs, _, scripts = text.partition("| script |")
    senders = [cells for _, *cells in _rows(f"| sender |{pairs.partition('| sender |')[2]}")]
    cells = [cell for each in senders for cell in each]
    yield "| case or script of interoperation | fails in |"
    yield "|---|---|"
    for letter, case in letters:
        count = sum(cell == _FAILS or letter in cell.split() for cell in cells)
        yield row(f"`{case}`", f"{count} of {len(cells)} pairs")
    for name, fails, *_ in _rows(f"| script |{scripts}"):
        if fails:
            yield row(name, f"{len(fails.split(', '))} of {len(senders)} libraries")
