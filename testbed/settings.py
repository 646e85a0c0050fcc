"""Implementations with other parameters than their own: NAME:PARAMETER=VALUE,... becomes one with these defaults."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

from engine.errors import EngineError
from scenarios import homes, implementations
from scenarios.errors import choices
from scenarios.homes import DESCRIPTION
from scenarios.load import Document

SEPARATOR: Final = ":"
_FOLDER: Final = "settings"
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9._-]+")


def named(word: str, into: Path) -> str:
    """Return the name of an implementation. One with parameters is written into a folder of `into`, and lies there.

    Raises:
        EngineError: there is no such implementation or parameter, or the value is not one that it takes.
    """
    name, separator, written = word.partition(SEPARATOR)
    if not separator:
        return word
    known = implementations.known()
    if name not in known or implementations.VERSION in name:
        allowed = choices(sorted(each for each in known if implementations.VERSION not in each), name)
        raise EngineError(f"{word}: found {name!r}; allowed: {allowed}")
    given = dict(_pair(word, pair) for pair in written.split(","))
    document = Document(Path(word), {"params": given}, {(): 1})
    for problem in implementations.parameter_problems(document, (), known[name]["parameters"]):
        raise EngineError(
            f"{word}: {problem.field.removeprefix('params.')}: {problem.found}; allowed: {problem.allowed}"
        )
    parts = [name, *(f"{parameter}-{value}" for parameter, value in given.items())]
    folder = into / _FOLDER / _NO_NAME.sub("_", "-".join(parts))
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "title": f"{known[name]['title']}, with {written.replace(',', ', ')}",
        "extends": name,
        "parameters": {parameter: {"default": value} for parameter, value in given.items()},
    }
    text = f"# {word}\n{yaml.safe_dump(about, sort_keys=False, width=120)}"
    if not (folder / DESCRIPTION).exists() or (folder / DESCRIPTION).read_text() != text:
        (folder / DESCRIPTION).write_text(text)
    try:
        return homes.add(folder)
    except ValueError as error:
        raise EngineError(f"{word}: --into: {error}") from None


def _pair(word: str, pair: str) -> tuple[str, Any]:
    name, equals, value = pair.partition("=")
    if not (name and equals and value):
        raise EngineError(f"{word}: found {pair!r}; allowed: NAME{SEPARATOR}PARAMETER=VALUE,...")
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if re.fullmatch("-?[0-9]+", value) else value
