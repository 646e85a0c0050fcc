"""Reads the implementations that scenarios may name: folders with an implementation.yaml, the project's and others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from scenarios import homes, load, schema
from scenarios.errors import FieldPath, Problem, ScenarioError, choices
from scenarios.homes import DESCRIPTION
from scenarios.load import Document
from scenarios.names import KINDS
from scenarios.units import QUANTITIES, UnitError
from topologies.pairs import IPV4

IMPLEMENTATIONS = Path(__file__).parents[1] / "images" / "implementations"
VERSION = "@"
"""Stands between the name of an implementation and one of the versions that it lists."""
_IS = "implementation"
_CODE = frozenset({"fetch", "build_packages", "root", "version_command"})
_UNSAID = {"application": "stream", "family": "unnamed"}

TIMESTAMPED = frozenset({"tcp", "utp"})
"""The transports whose packets carry their host's clock, unencrypted."""

Implementation = dict[str, Any]
Value = int | bool | str
"""The value of a parameter."""


def known(folder: Path | None = None) -> dict[str, Implementation]:
    """Return every implementation in `folder` (default: the project's, and elsewhere) by name, with what it extends.

    A version that one lists, and that is no implementation of its own, is there as NAME@VERSION. One whose description
    is wrong is left out, and so is what extends it: it harms nobody else. `refuse_wrong` tells why.
    """
    return {name: about for name, about in _all_described(folder).items() if not isinstance(about, ScenarioError)}


def refuse_wrong(names: Iterable[str] | None = None, folder: Path | None = None) -> None:
    """Raise ScenarioError with what is wrong in the descriptions of these implementations (default: all)."""
    everything = _all_described(folder)
    asked_for = everything if names is None else [name if name in everything else folder_of(name) for name in names]
    errors = [about for name in asked_for if isinstance(about := everything.get(name), ScenarioError)]
    if errors:
        raise ScenarioError(problem for error in errors for problem in error.problems)


def folders(folder: Path | None = None) -> dict[str, Path]:
    """Return the folder of each implementation by its name, whatever it holds; the project's come first."""
    own = {file.parent.name: file.parent for file in sorted((folder or IMPLEMENTATIONS).glob(f"*/{DESCRIPTION}"))}
    return own if folder else homes.elsewhere() | own


def versions(folder: Path | None = None) -> dict[str, dict[str, str]]:
    """Return, for each implementation that lists versions, which implementation each version is, oldest first."""
    return {
        name: {version: about.get(_IS, f"{name}{VERSION}{version}") for version, about in listed.items()}
        for name, document in _sound(_documents(folder)).items()
        if (listed := document.data.get("versions"))
    }


def folder_of(name: str) -> str:
    """Name the folder of an implementation, which is one for all versions that it lists."""
    return name.partition(VERSION)[0]


def _all_described(folder: Path | None) -> Mapping[str, Implementation | ScenarioError]:
    return _described_as_they_are(_files(folder))


@lru_cache(maxsize=2)
def _described_as_they_are(files: tuple[_File, ...]) -> dict[str, Implementation | ScenarioError]:
    """Describe all implementations once for each state of their files: each cell of each scenario asks for them."""
    rules = schema.load_schema("implementation")
    documents = {file.name: _document(file) for file in files}
    sound = _sound(documents)
    described: dict[str, Implementation | ScenarioError] = {}
    for name, document in documents.items():
        try:
            described |= (
                _described(name, document, sound, rules) if isinstance(document, Document) else {name: document}
            )
        except ScenarioError as error:
            described[name] = error
    return described


def _described(
    name: str, document: Document, documents: Mapping[str, Document], rules: schema.Schema
) -> dict[str, Implementation]:
    """Return an implementation and its versions by name."""
    versions = document.data.get("versions", {})
    whole = _without_versions(document)
    for base in ancestors(name, documents):
        _refuse_lost_packages(document, base, documents[base].data)
        whole = replace(whole, data=_merged(_without_versions(documents[base]).data, whole.data))
    checked = replace(whole, data=whole.data | {"versions": versions})
    wrong = schema.problems(checked, rules) or _unknown_versions(document, documents)
    if wrong:
        raise ScenarioError(wrong)
    described = {name: schema.with_defaults(whole.data, rules)}
    for version, fields in versions.items():
        if _IS not in fields:
            title = f"{whole.data['title']}, version {version}"
            described[f"{name}{VERSION}{version}"] = described[name] | fields | {"title": title}
    return described


@dataclass(frozen=True)
class _File:
    """A description, and what changes when somebody writes it: inode, size and time in ns; None if there is none."""

    name: str
    path: Path
    state: tuple[int, int, int] | None


def _files(folder: Path | None) -> tuple[_File, ...]:
    def file(name: str, path: Path) -> _File:
        try:
            about = path.stat()
        except OSError:
            return _File(name, path, None)
        return _File(name, path, (about.st_ino, about.st_size, about.st_mtime_ns))

    return tuple(file(name, home / DESCRIPTION) for name, home in folders(folder).items())


def _documents(folder: Path | None) -> dict[str, Document | ScenarioError]:
    return {file.name: _document(file) for file in _files(folder)}


def _sound(documents: Mapping[str, Document | ScenarioError]) -> dict[str, Document]:
    return {name: document for name, document in documents.items() if isinstance(document, Document)}


@lru_cache(maxsize=1024)
def _document(file: _File) -> Document | ScenarioError:
    kind = KINDS["implementation"]
    if not kind.allows(file.name):
        return ScenarioError([Problem(file.path, 1, "the folder's name", f"found {file.name!r}", kind.meaning)])
    if file.path.is_symlink():  # to a file of the user's, which messages would quote
        return ScenarioError([Problem(file.path, 1, "(whole file)", "found a link", "a file")])
    try:
        return load.read(file.path)
    except ScenarioError as error:
        return error


def _without_versions(document: Document) -> Document:
    """Leave out the versions: whoever extends an implementation has its own, or none."""
    return replace(document, data={field: value for field, value in document.data.items() if field != "versions"})


def _unknown_versions(document: Document, documents: Mapping[str, Document]) -> list[Problem]:
    """List the versions that are said to be implementations and are none."""
    listed = document.data.get("versions", {}).items()
    named = {version: about[_IS] for version, about in listed if _IS in about}
    return [
        document.problem(("versions", version, _IS), f"found {name!r}", choices(sorted(documents), name))
        for version, name in named.items()
        if name not in documents
    ]


def of_side(flow: Mapping[str, Any], role: str) -> str:
    """Name the implementation of one side of a flow."""
    sender: str = flow["implementation"]
    return str(flow.get("receiver_implementation", sender)) if role == "receiver" else sender


def used_by(flows: Iterable[Mapping[str, Any]]) -> set[str]:
    """Name every implementation of some flows."""
    return {of_side(flow, role) for flow in flows for role in ("sender", "receiver")}


def split_sides(flow: dict[str, Any]) -> None:
    """Let `implementation` of a flow be the sender's; `receiver_implementation` is there if the other side differs."""
    if isinstance(sides := flow["implementation"], dict):
        flow["implementation"] = sides["sender"]
        if sides["receiver"] != sides["sender"]:
            flow["receiver_implementation"] = sides["receiver"]


def mismatch(sender: Implementation, receiver: Implementation) -> str | None:
    """Say why two implementations, or one on both sides, cannot meet in one flow; None if they can."""
    if "sender" not in sender["roles"]:
        return "the sender cannot send"
    # the guest's own TCP receives for controls that have no say in it
    if receiver is not sender and "receiver" not in receiver["roles"]:
        return "the receiver cannot receive"
    # what is above UDP has no name but its family: QUIC, DNS
    fields = ("kind", "transport", "application", *(["family"] if sender["transport"] == "udp" else []))
    for field in fields:
        sent, received = (side.get(field, _UNSAID.get(field)) for side in (sender, receiver))
        if sent != received:
            return f"their {field} differs: {sent} and {received}"
    return None


def can_talk_over(about: Implementation, version: int) -> bool:
    """Tell whether an implementation can have flows over a version of IP, 4 or 6."""
    return about["kind"] == "kernel-tcp" or version in about.get("ip", [IPV4])


def programs_over(everything: Mapping[str, Implementation], version: int) -> list[str]:
    """Return the names of the programs that can have flows over a version of IP."""
    programs = (name for name, about in everything.items() if about["kind"] == "program")
    return sorted(name for name in programs if can_talk_over(everything[name], version))


def line_of(name: str) -> list[str]:
    """Return the name of an implementation that has no wrong description, then what it extends, and so on."""
    return [name, *ancestors(name, _sound(_documents(None)))]


def program_of(name: str) -> str:
    """Name the program or congestion control that an implementation runs, of which it may be a setting.

    One of the kernel's TCP is that of the same congestion control and module. Another one is what it extends, unless it
    says where code of its own comes from. One that is not known is its own.
    """
    everything, documents = known(), _sound(_documents(None))
    if name not in everything or name not in documents:
        return name
    control = _control(everything[name])
    if control:
        same = (other for other, about in everything.items() if _control(about) == control)
        return min(same, key=lambda other: (bool(everything[other].get("tcp")), other))
    return next(
        each for each in line_of(name) if "extends" not in documents[each].data or _CODE & {*documents[each].data}
    )


def _control(about: Implementation) -> tuple[str, str | None] | None:
    return (about["congestion_control"], about.get("module")) if "congestion_control" in about else None


def descriptions() -> dict[str, list[Path]]:
    """Return the files that say what each implementation is: its own, and those of what it extends."""
    homes_of, documents = folders(), _sound(_documents(None))
    return {
        name: [homes_of[each] / DESCRIPTION for each in (name, *ancestors(name, documents))]
        for name in map(folder_of, known())
    }


def ancestors(name: str, documents: Mapping[str, Document]) -> list[str]:
    """Return what `name` extends, what that extends, and so on.

    Raises ScenarioError if one does not exist or extends itself in the end.
    """
    line: list[str] = []
    while (base := documents[line[-1] if line else name].data.get("extends")) is not None:
        if base not in documents or base in (name, *line):
            at = documents[line[-1] if line else name]
            found = f"found {base!r}" + (", which extends this one in the end" if base in documents else "")
            raise ScenarioError(
                [at.problem(("extends",), found, choices(sorted(set(documents) - {name, *line}), base))]
            )
        line.append(base)
    return line


def _refuse_lost_packages(document: Document, base: str, inherited: Mapping[str, Any]) -> None:
    """Raise ScenarioError for a root without packages that replaces one with packages, which its author expects."""
    own, lost = document.data.get("root"), inherited.get("root", {}).get("packages")
    if isinstance(own, dict) and "suite" in own and "packages" not in own and lost:
        allowed = f"what of {', '.join(lost)} this root needs, or []"
        found = f"missing; a root of its own has none of the packages of {base}"
        raise ScenarioError([document.problem(("root", "packages"), found, allowed)])


def _merged(base: Any, changes: Any) -> Any:
    """Update `base` with `changes`: mappings field by field; a root and anything else is replaced."""
    if not (isinstance(base, dict) and isinstance(changes, dict)):
        return changes
    merged = {name: value if name == "root" else _merged(base.get(name), value) for name, value in changes.items()}
    return base | merged


def parameter_problems(document: Document, path: FieldPath, declared: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the `params` of the flow at `path` against the parameters its implementation declares."""
    params: dict[str, object] = _at(document.data, (*path, "params")) or {}
    for name, value in params.items():
        field = (*path, "params", name)
        if name not in declared:
            yield document.problem(field, "unknown parameter", choices(list(declared), name))
            continue
        allowed = _allowed(declared[name])
        try:
            number = _read(declared[name], value)
        except UnitError as error:
            yield document.problem(field, str(error), allowed)
            continue
        low, high = _range(declared[name])
        if not isinstance(number, str) and not low <= number <= high:
            yield document.problem(field, f"found {value!r}, out of range", allowed)


def resolved_parameters(given: Mapping[str, object], declared: Mapping[str, Any]) -> dict[str, Value]:
    """Return each declared parameter with its value or default; quantities are integers, named like `target_ns`."""
    values = {}
    for name, parameter in declared.items():
        kind = parameter["type"]
        suffix = f"_{QUANTITIES[kind].suffix}" if kind in QUANTITIES else ""
        values[name + suffix] = _read(parameter, given.get(name, parameter["default"]))
    return values


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise UnitError(f"found {value!r}")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnitError(f"found {value!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise UnitError(f"found {value!r}")
    return value


_READERS: dict[str, Callable[[object], Value]] = {"bool": _bool, "int": _int, "text": _text}
_WORDS = {"bool": "true or false", "int": "a whole number", "text": "text"}


def _read(parameter: Mapping[str, Any], value: object) -> Value:
    kind = parameter["type"]
    if kind == "choice":
        if value not in parameter["choices"]:
            raise UnitError(f"found {value!r}")
        return str(value)
    return _READERS[kind](value) if kind in _READERS else QUANTITIES[kind].parse(value)


def _range(parameter: Mapping[str, Any]) -> tuple[float, float]:
    if "range" not in parameter:
        return float("-inf"), float("inf")
    low, high = (float(_read(parameter, bound)) for bound in parameter["range"])
    return low, high


def _allowed(parameter: Mapping[str, Any]) -> str:
    kind = parameter["type"]
    if kind == "choice":
        return choices(parameter["choices"])
    words = _WORDS.get(kind) or str(QUANTITIES[kind])
    return f"{words}, {parameter['range'][0]} to {parameter['range'][1]}" if "range" in parameter else words


def _at(data: Any, path: FieldPath) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data.get(path[-1])
