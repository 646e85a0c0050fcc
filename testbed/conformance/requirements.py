"""The file of requirements, checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.errors import BadInputError
from scenarios import schema
from scenarios.errors import Problem, ScenarioError, choices
from testbed.conformance.measures import MEASURES

FILE: Final = Path(__file__).with_name("requirements.yaml")
SCHEMA: Final = Path(__file__).with_name("schema.yaml")


@dataclass(frozen=True)
class Paper:
    """A document; of which transport it speaks, and whose window has to limit the sender; None: any."""

    title: str
    transport: str | None
    governs: str | None


@dataclass(frozen=True)
class Observation:
    """The case whose packets show a requirement, and expressions: a number, and the least and the most it may be."""

    case: str
    measure: str
    at_least: str | None
    at_most: str | None


@dataclass(frozen=True)
class Requirement:
    """A sentence of a document; `shown` is the reason where packets do not show it."""

    id: str
    document: str
    section: str
    level: str  # MUST, SHOULD or text
    says: str
    shown: Observation | str


@dataclass(frozen=True)
class Requirements:
    """A whole file."""

    documents: dict[str, Paper]
    requirements: list[Requirement]


def load(path: Path = FILE) -> Requirements:
    """Read and check a file. Raises BadInputError that names line and field of everything that is wrong."""
    try:
        document, _ = schema.checked(path, SCHEMA)
        documents = {
            name: Paper(entry["title"], entry.get("transport"), entry.get("governs"))
            for name, entry in document.data["documents"].items()
        }
        requirements: dict[str, Requirement] = {}
        problems: list[Problem] = []
        for index, entry in enumerate(document.data["requirements"]):
            field = ("requirements", index)
            if entry["id"] in requirements:
                problems.append(document.problem((*field, "id"), f"found {entry['id']!r} again", "another name"))
            if entry["document"] not in documents:
                allowed = choices(list(documents), entry["document"])
                problems.append(document.problem((*field, "document"), f"found {entry['document']!r}", allowed))
            for name in ("measure", "at_least", "at_most"):
                if wrong_word := expressions.problem(str(entry.get(name, 0)), MEASURES):
                    allowed = "an expression in the words of docs/reference/claims.md and docs/howto/conformance.md"
                    problems.append(document.problem((*field, name), wrong_word, allowed))
            shown = entry.get("hidden") or Observation(
                entry["case"], entry["measure"], _text(entry, "at_least"), _text(entry, "at_most")
            )
            texts = {name: entry[name] for name in ("id", "document", "section", "level", "says")}
            requirements[entry["id"]] = Requirement(**texts, shown=shown)
        if problems:
            raise ScenarioError(problems)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return Requirements(documents, list(requirements.values()))


def _text(entry: dict[str, Any], field: str) -> str | None:
    return str(entry[field]) if field in entry else None
