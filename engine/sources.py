"""Computes digests of this checkout's sources, so that nothing made from older ones passes for up to date.

``python -m engine.sources BACKEND STAGE=MODULE,... ...`` prints JSON: `code`, a digest for `runs` and for each stage,
and `images`, where the cache lists what these sources boot (`images.index`), by name.

A stage is made of the interpreter and of other people's packages, too: these decide digits, tables and pictures. What a
run gives is made in the guest, so its digest does without.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from images import index
from images.cache import digest_of, file_digest

PROJECT = Path(__file__).resolve().parents[1]
LOCK = "requirements.lock"
_RUNS = ("engine.run", "engine.guest", "topologies")
# what a module may use from its own folder besides modules: C sources, tables, page templates
_DATA = ("*.[ch]", "*.yaml", "templates/*")
# to parse each module would take five times as long; a text that looks like an import only adds a file
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[\w.]+)[ \t]+)?import[ \t]+(?P<names>\([^)]*\)|[^\n(]+)", re.MULTILINE
)
_NAME = re.compile(r"(?<!\bas )\b(?!as\b)[A-Za-z_][\w.]*")


def sources(modules: Iterable[str], project: Path = PROJECT) -> list[Path]:
    """Return the project's files that modules depend on: all that they import, and the data beside those.

    Imports are found in the text, anywhere in a module. A package stands for all modules below it, because it may
    import them by computed names.

    Raises:
        ValueError: there is no such module.
    """
    waiting: list[Path] = []
    for name in modules:
        place = project / Path(*name.split("."))
        members = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        if not all(file.is_file() for file in members or [place]):
            raise ValueError(f"{name}: found no such module in {project}")
        waiting += members
    files: set[Path] = set()
    while waiting:
        module = waiting.pop()
        if module in files:
            continue
        files.add(module)
        files.update(file for pattern in _DATA for file in module.parent.glob(pattern) if file.is_file())
        waiting += _imported(module, project)
    return sorted(files)


def digest(modules: Iterable[str], project: Path = PROJECT) -> str:
    """Return the SHA-256 (hex) of the names and contents of `sources`."""
    return digest_of({str(file.relative_to(project)): file_digest(file) for file in sources(modules, project)})


@cache
def environment(project: Path = PROJECT) -> dict[str, object]:
    """Return what executes the sources: the lock file's digest, the interpreter, and packages that the lock names.

    Packages have the versions that are installed, whatever the lock says; others do nothing here.
    """
    lock = project / LOCK
    locked = {_same_name(line.partition("==")[0]) for line in lock.read_text().splitlines() if "==" in line}
    installed = {_same_name(one.metadata["Name"]): one.version for one in distributions()}
    return {
        "lock": file_digest(lock),
        "python": f"{sys.implementation.name} {sys.version}",
        "packages": {name: version for name, version in installed.items() if name in locked},
    }


def stage(modules: Iterable[str], project: Path = PROJECT) -> str:
    """Return the SHA-256 (hex) of what executes a stage: its sources, as `digest` takes them, and the environment."""
    return digest_of([digest(modules, project), environment(project)])


def _same_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def runs(backend: str) -> str:
    """Return the SHA-256 (hex) of all sources that carry out a run on a backend, on the host and in the guest."""
    return digest((*_RUNS, f"engine.backends.{backend}"))


@cache
def _imported(module: Path, project: Path) -> list[Path]:
    """Return the project's files that importing a module executes."""
    return list(_imports(module, project))


def _imports(module: Path, project: Path) -> Iterator[Path]:
    package = ".".join(module.parent.relative_to(project).parts)
    for statement in _IMPORT.finditer(module.read_text()):
        names = _NAME.findall(statement["names"])
        if base := statement["base"]:
            base = importlib.util.resolve_name(base, package)
            # what follows `import` may be a module as well
            names = [base, *(f"{base}.{name}" for name in names)]
        for name in names:
            yield from _executed_by(name, project)


@cache
def _executed_by(name: str, project: Path) -> list[Path]:
    """Return the project's files that importing a module by its full name executes; none if it is not the project's."""
    package, _, own = name.rpartition(".")
    before = _executed_by(package, project) if package else []
    folder = (project / package.replace(".", "/")) / own
    if package and not folder.parent.is_dir():
        return before
    return [*before, *(file for file in (folder / "__init__.py", folder.with_suffix(".py")) if file.is_file())]


def main(backend: str, *stages: str) -> int:
    """Print what this module's description says; a stage is given as NAME=MODULE,..."""
    code = {"runs": runs(backend)}
    for named in stages:
        name, _, modules = named.partition("=")
        code[name] = stage(modules.split(","))
    print(json.dumps({"code": code, "images": index.names(PROJECT)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
