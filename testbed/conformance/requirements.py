"""The file of requirements, checked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from analysis.claims import expressions
from analysis.errors import BadInputError
from scenarios import load as yaml_file
from scenarios import schema
from scenarios.errors import Problem, ScenarioError, choices
from testbed.conformance.measures import MEASURES

FILE: Final = Path(__file__).with_name("requirements.yaml")
SCHEMA: Final = Path(__file__).with_name("schema.yaml")


@dataclass(frozen=True)
class Paper:
    """A document; `transport` is the one that it speaks of, or None."""

    title: str
    transport: str | None


@dataclass(frozen=True)
class Shown:
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
    shown: Shown | str


@dataclass(frozen=True)
class Requirements:
    """A whole file."""

    documents: dict[str, Paper]
    requirements: list[Requirement]


def load(path: Path = FILE) -> Requirements:
    """Read and check a file. Raises BadInputError that names line and field of everything that is wrong."""
    try:
        rules = yaml_file.read(SCHEMA).data
        document = yaml_file.read(path)
        if wrong := schema.problems(document, rules):
            raise ScenarioError(wrong)
        documents = {
            name: Paper(one["title"], one.get("transport")) for name, one in document.data["documents"].items()
        }
        found: dict[str, Requirement] = {}
        problems: list[Problem] = []
        for index, one in enumerate(document.data["requirements"]):
            field = ("requirements", index)
            if one["id"] in found:
                problems.append(document.problem((*field, "id"), f"found {one['id']!r} again", "another name"))
            if one["document"] not in documents:
                allowed = choices(list(documents), one["document"])
                problems.append(document.problem((*field, "document"), f"found {one['document']!r}", allowed))
            for name in ("measure", "at_least", "at_most"):
                if wrong_word := expressions.problem(str(one.get(name, 0)), MEASURES):
                    allowed = "an expression in the words of docs/claims.md and docs/conformance.md"
                    problems.append(document.problem((*field, name), wrong_word, allowed))
            shown = one.get("hidden") or Shown(
                one["case"], one["measure"], _text(one, "at_least"), _text(one, "at_most")
            )
            texts = {name: one[name] for name in ("id", "document", "section", "level", "says")}
            found[one["id"]] = Requirement(**texts, shown=shown)
        if problems:
            raise ScenarioError(problems)
    except ScenarioError as error:
        raise BadInputError(str(error)) from None
    return Requirements(documents, list(found.values()))


def _text(one: dict[str, Any], field: str) -> str | None:
    return str(one[field]) if field in one else None
