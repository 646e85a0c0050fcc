"""What boots: reads cache/images.json and debug-images.json, which ``python -m images`` writes."""

import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import EngineError
from engine.files import file_digest

_MANIFEST = "manifest.json"  # of each entry of the cache: SHA-256 of its files
PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Images:
    """Folders and files that a guest is made of, and what identifies them."""

    kernel: Path
    rootfs: Path
    tools: Path
    modules: dict[str, Path]
    seccomp: bool
    provenance: dict[str, Any]


@dataclass(frozen=True)
class Program:
    """A built program under test: what its endpoints see as /opt/implementation, and its root (None: the guest's).

    `environment` are variables that the root brings along.
    """

    files: Path
    root: Path | None
    environment: dict[str, str]
    provenance: dict[str, Any]


@cache
def program(name: str) -> Program:
    """The program of an implementation.

    Raises:
        EngineError: it has not been built.
    """
    index = cache_folder() / "programs" / f"{name}.json"
    try:
        entry = json.loads(index.read_text())
        root = entry.get("root")
        environment = entry.get("environment", {})
        return Program(Path(entry["files"]), Path(root) if root else None, environment, _without_paths(entry))
    except FileNotFoundError:
        raise EngineError(f"{name} has not been built: `python -m images {name}` does that") from None
    except (KeyError, ValueError) as error:
        raise EngineError(f"{index} is not what `python -m images` writes ({error}): run it again") from None


@cache
def load(debug: bool = False) -> Images:
    """The images of this checkout (or of $TESTBED_CACHE), small ones compared with what was built.

    With `debug` the debug kernel and its modules in place of the others. The root file system's thousands of
    files are compared by ``python -m images`` only.

    Raises:
        EngineError: they have not been built, or have changed since.
    """
    prefix = "debug-" if debug else ""
    index, target = cache_folder() / f"{prefix}images.json", f"make {prefix}images"
    try:
        entries = json.loads(index.read_text())
        images = Images(
            kernel=Path(entries["kernel"]["path"]),
            rootfs=Path(entries["rootfs"]["path"]),
            tools=Path(entries["tools"]["path"]),
            modules={
                name.removeprefix("module:"): Path(entry["path"])
                for name, entry in entries.items()
                if name.startswith("module:")
            },
            seccomp=entries["kernel"]["seccomp"],
            provenance={name: _without_paths(entry) for name, entry in entries.items()},
        )
        for file in (images.kernel, *images.modules.values(), *images.tools.iterdir()):
            if file.is_file() and file.name != _MANIFEST:
                _check_unchanged(file)
        return images
    except FileNotFoundError:
        raise EngineError(f"{index} does not exist: build the images first, with `{target}`") from None
    except (KeyError, ValueError) as error:
        raise EngineError(f"{index} is not what `{target}` writes ({error}): run it again") from None


def _check_unchanged(file: Path) -> None:
    built = json.loads((file.parent / _MANIFEST).read_text())[file.name].split()[0]
    if file_digest(file) != built:
        raise EngineError(f"{file} has changed since it was built: `make images` builds it again")


def _without_paths(entry: dict[str, Any]) -> dict[str, Any]:
    left_out = ("path", "packages", "files", "root", "environment")
    return {name: value for name, value in entry.items() if name not in left_out}


def cache_folder() -> Path:
    """Where built images are: `cache/` of this checkout, or $TESTBED_CACHE."""
    return Path(os.environ.get("TESTBED_CACHE", PROJECT / "cache"))
