# SPDX-License-Identifier: MIT
"""Turn a container image, as `docker image save` writes it, into a folder that a guest can have as its root.

Both layouts are read: Docker's own, in which `manifest.json` names the parts, and the OCI image layout (`index.json`
and `blobs/`), which newer Dockers, podman and skopeo write too. An archive may come from anywhere: nothing of it lands
outside the folder, and every layer must have the digest that the image's configuration states.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from images import tars
from images.cache import remove
from images.errors import ImageError
from images.tars import Budget

PLATFORM = ("linux", "amd64")
_LONGEST_DESCRIPTION_BYTES = 16 << 20
# OCI image layer specification, "Whiteouts"
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True)
class Image:
    """An unpacked image: SHA-256 of its configuration (its id for Docker), its variables, what was left out of it."""

    id: str
    environment: dict[str, str]
    left_out: list[str]


def unpack(archive: Path, root: Path) -> Image:
    """Extract the layers of the archive's only image, one over the other, into the new folder `root`.

    Contents, modes and times are the image's. Owners are not: all belongs to, and can be read by, who unpacks. Devices
    and pipes are left out; a guest has its own.

    Raises ImageError if this is not such an archive, it is damaged, too large, or a member would land outside `root`.
    """
    root.mkdir()
    root = Path(os.path.realpath(root))
    budget = Budget()
    try:
        with _opened(archive, root.parent, budget) as tar:
            description, layers = _described(tar)
            config = json.loads(description)
            if (config["os"], config["architecture"]) != PLATFORM:
                raise ImageError(f"it is for {config['os']}/{config['architecture']}, guests are {'/'.join(PLATFORM)}")
            times: dict[str, float] = {}
            left_out: list[str] = []
            for name, digest in zip(layers, config["rootfs"]["diff_ids"], strict=True):
                with _layer(tar, name, digest, root.parent, budget) as layer:
                    left_out += _apply(layer, root, times, budget)
            _set_times(root, times)
            variables = config.get("config", {}).get("Env") or []
            environment = dict(variable.split("=", 1) for variable in variables)
            return Image(hashlib.sha256(description).hexdigest(), environment, left_out)
    except tarfile.ReadError:
        raise ImageError("it, or a layer of it, is no tar archive") from None
    except (ImageError, OSError) as error:
        raise ImageError(str(error)) from error
    except Exception as error:
        # a file can be something else in many ways, and nothing says which
        raise ImageError(f"this is not what `docker image save` writes: {error}") from error


def _described(tar: tarfile.TarFile) -> tuple[bytes, list[str]]:
    """Return the image's configuration verbatim, and the names of its layers in the archive, lowest first."""
    if "manifest.json" in tar.getnames():
        images = json.loads(_read(tar, "manifest.json"))
        if len(images) != 1:
            raise ImageError(f"it holds {len(images)} images; save one alone")
        return _read(tar, images[0]["Config"]), images[0]["Layers"]
    manifest = json.loads(_read(tar, "index.json"))
    while "manifests" in manifest:  # an index names manifests, or indexes of one image for several platforms
        fitting = [one for one in manifest["manifests"] if _fits(one.get("platform"))]
        if len(fitting) != 1:
            raise ImageError(f"it holds {len(fitting)} images for {'/'.join(PLATFORM)}; save one alone")
        manifest = json.loads(_read_blob(tar, fitting[0]))
    return _read_blob(tar, manifest["config"]), [_blob(layer) for layer in manifest["layers"]]


def _fits(platform: dict[str, str] | None) -> bool:
    return platform is None or (platform["os"], platform["architecture"]) == PLATFORM


def _blob(descriptor: dict[str, str]) -> str:
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


def _read_blob(tar: tarfile.TarFile, descriptor: dict[str, str]) -> bytes:
    content = _read(tar, _blob(descriptor))
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != descriptor["digest"]:
        raise ImageError(f"{_blob(descriptor)} is damaged")
    return content


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    content = _open(tar, name).read(_LONGEST_DESCRIPTION_BYTES + 1)
    if len(content) > _LONGEST_DESCRIPTION_BYTES:
        raise ImageError(f"{name} is too long")
    return content


def _open(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    stream = tar.extractfile(name)
    if stream is None:
        raise ImageError(f"{name} is no file")
    return stream


@contextmanager
def _opened(archive: Path, scratch: Path, budget: Budget) -> Iterator[tarfile.TarFile]:
    """Open the archive itself, which may be compressed, too."""
    with archive.open("rb") as stream:
        plain = _plain(stream)
        if plain is stream:
            with tars.opened(stream) as tar:
                yield tar
            return
        with tempfile.TemporaryFile(dir=scratch) as copy:
            budget.copy(plain, copy)
            copy.seek(0)
            with tars.opened(copy) as tar:
                yield tar


@contextmanager
def _layer(tar: tarfile.TarFile, name: str, digest: str, scratch: Path, budget: Budget) -> Iterator[tarfile.TarFile]:
    """Open a layer if it is the one that the configuration names; `digest` is that of its uncompressed form."""
    with tempfile.TemporaryFile(dir=scratch) as plain:
        budget.copy(_plain(_open(tar, name)), plain)
        plain.seek(0)
        if f"sha256:{hashlib.file_digest(plain, 'sha256').hexdigest()}" != digest:
            raise ImageError(f"the layer {name} is damaged")
        plain.seek(0)
        with tars.opened(plain) as layer:
            yield layer


def _plain(stream: IO[bytes]) -> Any:
    """Return the stream, decompressed if necessary."""
    start = stream.read(len(_ZSTD))
    stream.seek(0)
    if start.startswith(_GZIP):
        return gzip.open(stream)
    if start == _ZSTD:
        try:
            return importlib.import_module("compression.zstd").open(stream)
        except ImportError:
            raise ImageError("a layer is compressed with zstd, which needs Python 3.14") from None
    return stream


def _apply(layer: tarfile.TarFile, root: Path, times: dict[str, float], budget: Budget) -> list[str]:
    """Apply one layer to `root` and add its folders' times to `times`. Return the names of what was left out."""
    members = [member for member in budget.members(layer) if PurePosixPath(member.name).parts]
    # a whiteout hides files of lower layers, wherever it stands in its own layer
    for member in members:
        if _is_whiteout(member):
            _hide(_place(root, member.name))
    return [member.name for member in members if not (_is_whiteout(member) or _put(layer, member, root, times))]


def _is_whiteout(member: tarfile.TarInfo) -> bool:
    return PurePosixPath(member.name).name.startswith(_WHITEOUT)


def _hide(whiteout: Path) -> None:
    """Remove what a whiteout stands for: everything in its folder, or the file beside it that it names."""
    if whiteout.name == _OPAQUE:
        for path in whiteout.parent.iterdir() if whiteout.parent.is_dir() else ():
            remove(path)
        return
    hidden = whiteout.name.removeprefix(_WHITEOUT)
    if hidden in ("", ".", ".."):
        raise ImageError(f"{whiteout.name!r} is no whiteout")
    remove(whiteout.with_name(hidden))


def _place(root: Path, name: str) -> Path:
    """Return where a member of a layer goes, after following links.

    Raises ImageError if that is outside `root`, by its name or by a link that an earlier member made.
    """
    parts = PurePosixPath(name).parts
    folder = Path(os.path.realpath(root.joinpath(*parts[:-1])))
    if PurePosixPath(name).is_absolute() or ".." in parts or not folder.is_relative_to(root):
        raise ImageError(f"{name!r} leads out of the image")
    return folder / parts[-1]


def _put(layer: tarfile.TarFile, member: tarfile.TarInfo, root: Path, times: dict[str, float]) -> bool:
    """Extract one member; return False for a device or a pipe, which is left out."""
    place = _place(root, member.name)
    if member.isdir():
        if place.is_symlink() or not place.is_dir():
            remove(place)
            place.mkdir(parents=True)
        place.chmod(0o700 | member.mode & 0o777)
        times[str(place)] = member.mtime
        return True
    remove(place)  # never written through: it may be a link, or share its content with another name
    place.parent.mkdir(parents=True, exist_ok=True)
    if member.isreg():
        with layer.extractfile(member) as source, place.open("xb") as target:  # type: ignore[union-attr]  # it has content
            shutil.copyfileobj(source, target)
        place.chmod(0o400 | member.mode & 0o777)
    elif member.issym():
        place.symlink_to(member.linkname)
    elif member.islnk():
        os.link(_place(root, member.linkname), place, follow_symlinks=False)
    else:
        return False
    os.utime(place, (member.mtime, member.mtime), follow_symlinks=False)
    return True


def _set_times(root: Path, times: dict[str, float]) -> None:
    """Restore the times of folders after files were put into them; a folder that no layer has gets 1970."""
    for folder, _, _ in os.walk(root):
        time = times.get(folder, 0)
        os.utime(folder, (time, time))
