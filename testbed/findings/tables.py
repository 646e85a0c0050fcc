"""The bugs that the testbed found in clients, in Markdown: what shows each, what varies its cause, who knows of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from scenarios import implementations, schema
from scenarios.errors import ScenarioError

FILE: Final = "finding.yaml"
SCENARIO: Final = "scenario.yaml"
CHANGE: Final = "change.patch"
SCHEMA: Final = Path(__file__).with_name("schema.yaml")
_COLUMNS: Final = ("finding", "shown by", "version", "cause", "reported", "without the testbed")


@dataclass(frozen=True)
class ClientBug:
    """What a folder of a finding says; `folder` holds the files that it names."""

    folder: Path
    section: str
    clients: list[str]
    interop: str | None
    cause: str
    reported: str
    without_testbed: str

    @property
    def sources(self) -> list[str]:
        """Where each client that has it comes from, with its version."""
        known = implementations.known()
        return list(dict.fromkeys(str(known[name].get("source", name)) for name in self.clients))

    @property
    def has_reproduction(self) -> bool:
        """Whether a file beside it shows the bug without the testbed."""
        return (self.folder / self.without_testbed).is_file()


def read(file: Path) -> ClientBug:
    """Read and check what a folder says.

    Raises:
        BadInputError: it names line and field of everything that is wrong.
    """
    try:
        document, data = schema.checked(file, SCHEMA)
        bug = ClientBug(file.parent, interop=data.pop("interop", None), **data)
        unknown = sorted(set(bug.clients) - implementations.known().keys())
        if unknown:
            raise ScenarioError([document.problem(("clients",), f"found {unknown[0]!r}", "implementations")])
        if bug.interop is None and not (bug.folder / SCENARIO).is_file():
            raise ScenarioError([document.problem((), f"found neither {SCENARIO} nor interop", "one of them")])
        if not bug.has_reproduction and not bug.without_testbed.startswith("no: "):
            found = f"found {bug.without_testbed!r}, no file beside it"
            raise ScenarioError([document.problem(("without_testbed",), found, "a file, or `no: ` and the reason")])
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return bug


def tables(folders: Sequence[Path]) -> str:
    """Return one table, in Markdown, of the findings whose folders stand in `folders`, by their sections' names."""
    bugs = [read(file) for folder in folders for file in folder.glob(f"*/{FILE}")]
    head = f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}\n"
    return head + "".join(_row(bug) for bug in sorted(bugs, key=lambda bug: bug.section.casefold()))


def _row(bug: ClientBug) -> str:
    where = f"findings/{bug.folder.name}"
    shown = f"interop, `{bug.interop}`" if bug.interop else f"[scenario]({where}/{SCENARIO})"
    patch = f", [patch]({where}/{CHANGE})" if (bug.folder / CHANGE).is_file() else ""
    without = f"[{bug.without_testbed}]({where}/{bug.without_testbed})" if bug.has_reproduction else ""
    reported = "" if bug.reported == "no" else bug.reported
    cells = [bug.section, shown, "; ".join(bug.sources), bug.cause + patch, reported, without]
    return f"| {' | '.join(cells)} |\n"
