# SPDX-License-Identifier: MIT
"""Build the root that a program asks for in its implementation.yaml: a Debian release or a container image.

Each is an entry of the store, shared by all programs that ask for the same root.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from images import container, locked, walls
from images.cache import Store, digest_of, file_digest, manifest_of, remove, without_privileges
from images.errors import ImageError
from images.locked import Lock
from images.rootfs.build import ENVIRONMENT, EPOCH, install_debian
from images.run import Say, logged
from scenarios import homes, implementations

CLEAN = Path(__file__).with_name("rootfs") / "clean.sh"
IMPLEMENTATION, FETCHED = "/opt/implementation", "/opt/fetched"
SCENARIOS = Path(implementations.__file__).parent
PATH = "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"


def archive_of(name: str, wanted: dict[str, Any], folders: Sequence[Path]) -> Path | None:
    """Return the archive with the image that program `name` asks for, from one of its folders, or None.

    Raises ImageError when there is no such file.
    """
    if "archive" not in wanted:
        return None
    for folder in folders:
        if (folder / wanted["archive"]).is_file():
            check_link(folder / wanted["archive"])
            return Path(folder / wanted["archive"])
    missing = folders[0] / wanted["archive"]
    raise ImageError(f"{name}: there is no archive {missing}; `docker image save --output FILE IMAGE` makes one")


def check_link(path: Path) -> None:
    """Raise ImageError if a file of an implementation's folder is a link to anything but code of the project."""
    allowed = (implementations.IMPLEMENTATIONS, SCENARIOS, *homes.elsewhere().values())
    if not any(path.resolve().is_relative_to(folder.resolve()) for folder in allowed):
        raise ImageError(f"{path} is a link to {path.resolve()}; allowed: a file of an implementation or of scenarios/")


def from_image(store: Store, say: Say, name: str, wanted: dict[str, Any], archive: Path | None) -> dict[str, Any]:
    """Return the index entry of a root from the image in `archive`, or from a tag of the local Docker.

    Raises ImageError if the image is missing or is not the one that was asked for.
    """
    source = file_digest(archive) if archive else _local(name, wanted["tag"])
    if wanted.get("sha256", source) != source:
        raise ImageError(f"{archive}: its SHA-256 is {source}, {name} asks for {wanted['sha256']}")
    what = f"the image {archive or wanted['tag']}"

    def make(folder: Path) -> None:
        say(f"{name}: unpacking {what} ({source})")
        saved = archive or _save(source, folder / "image.tar", store.root / "logs" / f"{name}.log")
        try:
            image = container.unpack(saved, folder / "root")
        except ImageError as error:
            raise ImageError(f"{name}: {what}: {error}") from error
        if image.left_out:
            say(f"{name}: left out are {len(image.left_out)} devices or pipes, such as {image.left_out[0]}")
        (folder / "image.json").write_text(json.dumps(asdict(image)) + "\n")
        if not archive:
            saved.unlink()

    entry = store.ensure("roots", digest_of({"image": source, "recipe": file_digest(Path(container.__file__))}), make)
    image = json.loads((entry / "image.json").read_text())
    root = {"root": str(entry / "root"), "root_digest": image["id"], "environment": image["environment"]}
    return root | ({"archive_sha256": source} if archive else {})


def _local(name: str, tag: str) -> str:
    """Return the id that the local Docker has for the image with a tag."""
    try:
        command = ["docker", "image", "inspect", "--format={{.Id}}", "--", tag]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ImageError(
            f"{name}: its root is the Docker image {tag}, but docker is not installed here; an archive that "
            "`docker image save` wrote elsewhere can be named as `root: {archive: FILE}`"
        ) from None
    if done.returncode:
        raise ImageError(f"{name}: its root is the Docker image {tag}, but docker says: {done.stderr.strip()}")
    return done.stdout.strip()


def _save(image: str, archive: Path, log: Path) -> Path:
    logged(["docker", "image", "save", f"--output={archive}", "--", image], log, f"Saving the image {image}")
    return archive


def from_debian(
    store: Store, say: Say, name: str, wanted: dict[str, Any], lock: Lock | None, log: Path
) -> dict[str, Any]:
    """Return the index entry of a root with a Debian release.

    Without a lock, it gets the packages that the mirror has when it is built.
    """
    inputs = {"root": wanted, "packages": lock.digest if lock else None, "clean": file_digest(CLEAN)}
    inputs |= {"environment": ENVIRONMENT, "install": None}

    def make(folder: Path) -> None:
        suite, packages = wanted["suite"], wanted["packages"]
        if lock is None:
            say(f"{name}: its root has no lock, so it differs with the day (`python -m images lock {name}` writes one)")
        chosen = lock or locked.resolve(store, suite, packages, complete=True)
        archives = locked.fetch(store, say, chosen, f"root of {name}")
        say(f"{name}: installing Debian {suite} with {len(packages)} packages (1 minute)")
        install_debian(folder, chosen, archives, [str(CLEAN)], log, f"Building the root of {name}")

    entry = store.ensure("roots", digest_of(inputs), make)
    return {"root": str(entry / "root"), "root_digest": (entry / "tar.sha256").read_text().strip()}


def installed(
    store: Store,
    say: Say,
    name: str,
    base: dict[str, Any],
    digest: str,
    files: Path,
    fetch: Callable[[], dict[str, Path]],
    log: Path,
) -> dict[str, Any]:
    """Return the index entry of a root with what `install` makes of root `base`, behind the walls of a build.

    `files` are the program's, with that digest.
    """
    if walls.unconfined():
        raise ImageError(f"{name}: `install` of a program never runs without walls ({walls.UNCONFINED} is set)")

    def make(folder: Path) -> None:
        say(f"{name}: installing into a copy of its root")
        root = folder / "root"
        logged(["cp", "--archive", "--", base["root"], str(root)], log, f"Copying the root of {name}")
        see = {IMPLEMENTATION: files, **{f"{FETCHED}/{package}": path for package, path in fetch().items()}}
        command = walls.changing(root, [f"{IMPLEMENTATION}/install"], see, {"FETCHED": FETCHED, "PATH": PATH})
        logged(command, log, f"Installing {name}")
        without_privileges(root)
        for place in (IMPLEMENTATION, FETCHED):  # where these were mounted
            path = root / place.strip("/")
            if path.resolve().is_relative_to(root.resolve()):  # `install` may have put a link in place of /opt
                remove(path)
        _settle(root)

    entry = store.ensure("roots", digest_of({"root": base["root_digest"], "install": digest}), make)
    return {"root": str(entry / "root"), "root_digest": digest_of(manifest_of(entry / "root"))}


def _settle(root: Path) -> None:
    """Give what is newer than the root's other files their date, as mmdebstrap does: programs in the guest see it."""
    for parent, folders, names in os.walk(root, topdown=False):
        for path in (Path(parent, name) for name in (*names, *folders)):
            if path.lstat().st_mtime > int(EPOCH):
                os.utime(path, (int(EPOCH), int(EPOCH)), follow_symlinks=False)
