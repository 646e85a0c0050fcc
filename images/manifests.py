# SPDX-License-Identifier: MIT
"""Where the sources come from that the manifests beside lock files name: from registries, or the folder itself.

What a manifest means is asked of the client that reads it (`go mod edit -json`, `cargo metadata`), without a network
and in a copy of the folder, since its syntax has more ways to write a path than any pattern here would know.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from images.errors import ImageError
from images.run import asked

LIMIT_S = 60.0
LARGEST_BYTES = 4 << 20  # of a manifest or a lock file, since clients take memory for what they read
CRATES = ("registry+https://", "sparse+https://")


def check_modules(work: Path, manifest: Path, environment: Mapping[str, str]) -> None:
    """Refuse a go.mod that takes a module from a folder outside `work`, a copy of the folder of `manifest`.

    Raises:
        ImageError: it does, or go cannot read it.
    """
    described = _described(["go", "mod", "edit", "-json"], work, manifest, environment)
    for replaced in described.get("Replace") or []:
        by = replaced["New"]
        if "Version" not in by and not _is_below(work / by["Path"], work):
            raise ImageError(f"{manifest}: replace: found {by['Path']}; allowed: a module, or a folder below this one")


def check_crates(work: Path, manifest: Path) -> None:
    """Refuse a Cargo.toml or a Cargo.lock that takes a crate from elsewhere than a registry or `work`.

    `work` is a copy of the folder of `manifest`.

    Raises:
        ImageError: it does, or cargo cannot read it.
    """
    lock = manifest.with_name("Cargo.lock")
    crates = _parsed(lock, work / "Cargo.lock").get("package", [])
    for name, entries in _patches(_parsed(manifest, work / "Cargo.toml")):
        for crate, entry in entries.items():
            if not (isinstance(entry, dict) and set(entry) <= {"path", "package"} and "path" in entry):
                raise ImageError(f"{manifest}: {name}: {crate}: found {entry!r}; allowed: the path of a folder below")
    own = {(package["name"], package["version"]) for package in _own_crates(work, manifest)}
    for crate in crates:
        source = crate.get("source")
        if source is None and (crate.get("name"), crate.get("version")) not in own:
            raise ImageError(
                f"{lock}: {crate.get('name')}: found no source; allowed: a registry, or a crate below this"
            )
        if source is not None and not str(source).startswith(CRATES):
            raise ImageError(f"{lock}: source: found {source!r}; allowed: a registry, which has its crates' digests")


def _own_crates(work: Path, manifest: Path) -> Iterator[dict[str, Any]]:
    """Yield the crates of the folder, and those below it on which they depend, each checked."""
    due, seen = [work], set[Path]()
    while due:
        folder = due.pop()
        if folder in seen:
            continue
        seen.add(folder)
        command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1", "--color", "never"]
        described = _described(command, folder, manifest, {})
        root = Path(described["workspace_root"])
        if not _is_below(root, work):
            raise ImageError(f"{manifest}: workspace: found {root}; allowed: this folder, or one below")
        for package in described["packages"]:
            home = Path(package["manifest_path"]).parent
            if not _is_below(home, work):
                raise ImageError(f"{manifest}: workspace: found {home}; allowed: crates below this folder")
            seen.add(home)
            yield package
            for needed in package["dependencies"]:
                at = f"{manifest}: {needed['name']}: found"
                if "path" in needed:
                    if not _is_below(Path(needed["path"]), work):
                        raise ImageError(f"{at} the path {needed['path']}; allowed: a folder below this one")
                    due.append(Path(needed["path"]))
                elif not str(needed["source"]).startswith(CRATES):
                    raise ImageError(f"{at} the source {needed['source']}; allowed: a registry")


def _patches(manifest: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of a Cargo.toml that put crates in the place of a registry's, which `cargo metadata` omits."""
    replaced = manifest.get("replace", {})
    patches = manifest.get("patch", {})
    yield "replace", replaced if isinstance(replaced, dict) else {"replace": replaced}
    for registry, entries in patches.items() if isinstance(patches, dict) else [("patch", {"patch": patches})]:
        yield f"patch.{registry}", entries if isinstance(entries, dict) else {registry: entries}


def _parsed(shown: Path, file: Path) -> dict[str, Any]:
    try:
        parsed = tomllib.loads(file.read_text())
        if not all(isinstance(package, dict) for package in parsed.get("package", []) if shown.name == "Cargo.lock"):
            raise ValueError("package: found no tables")
    except (ValueError, TypeError, RecursionError) as error:
        raise ImageError(f"{shown} is not what cargo writes: {error}") from None
    return parsed


def check_size(file: Path, shown: Path) -> None:
    """Refuse a file that is too large for a client to read.

    Raises:
        ImageError: it is.
    """
    if file.is_file() and file.stat().st_size > LARGEST_BYTES:
        raise ImageError(f"{shown}: found {file.stat().st_size} bytes; allowed: {LARGEST_BYTES} at most")


def _is_below(path: Path, folder: Path) -> bool:
    """Whether a path is a folder or what is in it, wherever links on the way lead."""
    return path.resolve().is_relative_to(folder.resolve())


def _described(command: Sequence[str], work: Path, manifest: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what a client says of the manifest in `work`, as JSON."""
    for name in ("go.mod", "Cargo.toml"):
        check_size(work / name, manifest)
    try:
        done = asked(command, cwd=work, environment=environment, limit_s=LIMIT_S)
    except ImageError as error:
        raise ImageError(f"{manifest}: {error}") from None
    except FileNotFoundError:
        raise ImageError(f"{manifest}: {command[0]} is not installed (`testbed doctor` tells how to get it)") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().replace(f"{work}/", "")
        raise ImageError(f"{manifest}: {command[0]} cannot read it: {said}")
    described: dict[str, Any] = json.loads(done.stdout)
    return described
