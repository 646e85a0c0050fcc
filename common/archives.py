"""Writes zip files, and reads zip files, folders and JSON that may come from anywhere, within bounds.

Everything that a zip file lists is checked before anything is unpacked, so that a small file can neither fill the disk
nor write outside its folder.
"""

import json
import os
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from common.json_numbers import finite

MOST_BYTES: Final = 4 << 30
MOST_MEMBERS: Final = 65_535
LONGEST_NAME: Final = 1000
LONGEST_PART: Final = 255
DEEPEST_FOLDER: Final = 32
MOST_RATIO: Final = 100
"""Of unpacked bytes to packed ones, once there are more than `UNSUSPECTED_BYTES`."""
UNSUSPECTED_BYTES: Final = 64 << 20
MOST_JSON_BYTES: Final = 16 << 20
DEEPEST_JSON: Final = 64

_MOST_DIRECTORY_BYTES: Final = 16 << 20
_END: Final = struct.Struct("<4s4xHHLLH")  # of central directory: no comment, no zip64
_END_SIGNATURE, _ZIP64_SIGNATURE = b"PK\5\6", b"PK\6\7"
_ZIP64_BYTES: Final = 20
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED: Final = 1
_PIECE_BYTES: Final = 1 << 20
# what zipfile raises for damaged files
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, struct.error, RuntimeError, ValueError, EOFError, OverflowError)


class ArchiveError(ValueError):
    """A file is damaged or exceeds a bound: the sentence names it, what was found and what is allowed."""


def is_zip(file: Path) -> bool:
    """Tell a file that ends as a zip file does from others."""
    try:
        return file.is_file() and bool(_end_of_directory(file))
    except (ArchiveError, OSError):
        return False


def members(file: Path) -> list[zipfile.ZipInfo]:
    """List the files in a zip file, all of them checked; folders are left out.

    Raises ArchiveError.
    """
    try:
        _end_of_directory(file)
        with zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
    except _DAMAGE as error:
        raise _damaged(file, error) from None
    except OSError as error:
        raise ArchiveError(f"{file}: cannot be read ({error.strerror})") from None
    for problem in _problems(listed, file.stat().st_size):
        raise ArchiveError(f"{file}: {problem}")
    return [member for member in listed if not member.is_dir()]


def unpack(file: Path, folder: Path) -> None:
    """Unpack a zip file into a folder. Files are the caller's only, and executable where the zip file says so.

    Raises ArchiveError for what `members` refuses, a member that is not what the list says, and too little space.
    """
    files = members(file)
    _check_space(file, sum(member.file_size for member in files), folder)
    with zipfile.ZipFile(file) as archive:
        for member in files:
            target = folder / member.filename
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as source, target.open("xb") as copy:
                    shutil.copyfileobj(source, copy, _PIECE_BYTES)
            except _DAMAGE as error:
                raise _damaged(file, error, member.filename) from None
            except OSError as error:
                raise ArchiveError(f"{file}: {member.filename}: cannot be unpacked ({error.strerror})") from None
            target.chmod(0o600 | member.external_attr >> 16 & 0o100)


def pack(file: Path, members: Mapping[str, Path | str]) -> None:
    """Write a zip file of files and texts by their names; it appears when it is whole and on the disk.

    Raises ArchiveError, and leaves nothing, where it cannot be written or `unpack` would refuse it.
    """
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for name, content in members.items():
                if isinstance(content, str):
                    archive.writestr(name, content)
                else:
                    archive.write(content, name)
        for problem in _problems(archive.infolist(), partial.stat().st_size):
            raise ArchiveError(f"{file}: {problem}")
        sync(partial)
        partial.rename(file)
        sync(file.absolute().parent)
    except OSError as error:
        raise ArchiveError(f"{file}: cannot be written ({error.strerror}); choose another place") from None
    finally:
        if os.path.lexists(partial):
            partial.unlink()


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_member(file: Path, name: str, most_bytes: int = MOST_JSON_BYTES) -> bytes:
    """Read one member of a zip file.

    Raises ArchiveError for what `members` refuses, and for a member that is missing, damaged or too large.
    """
    matches = [member for member in members(file) if member.filename == name]
    if not matches:
        raise ArchiveError(f"{file}: {name} is missing")
    if matches[0].file_size > most_bytes:
        raise ArchiveError(f"{file}: {name}: found {matches[0].file_size} bytes; allowed: at most {most_bytes}")
    try:
        with zipfile.ZipFile(file) as archive:
            return archive.read(name)
    except (*_DAMAGE, OSError) as error:  # OSError: the list names a place before the file's beginning
        raise _damaged(file, error, name) from None


def copy_folder(source: Path, folder: Path) -> None:
    """Copy the files of a folder that may come from anywhere, within the bounds of `unpack`.

    Raises ArchiveError for links and whatever else is no plain file or folder, for too many, deep or large ones, and
    for a folder that changes meanwhile.
    """
    left_bytes = MOST_BYTES
    try:
        for number, path in enumerate(_plain_files(source), 1):
            name = path.relative_to(source).as_posix()
            left_bytes -= path.lstat().st_size
            _check_member(source, number, name, left_bytes)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            # what has become a link or a pipe is neither followed nor waited for
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as original, (folder / name).open("xb") as copy:  # noqa: PTH123
                shutil.copyfileobj(original, copy, _PIECE_BYTES)
    except OSError as error:
        raise ArchiveError(f"{source}: {error.filename}: cannot be copied ({error.strerror})") from None


def _check_member(source: Path, number: int, name: str, left_bytes: int) -> None:
    problem = _name_problem(name)
    if number > MOST_MEMBERS:
        problem = f"found more than {MOST_MEMBERS} files; allowed: at most as many"
    elif left_bytes < 0:
        problem = f"found more than {MOST_BYTES >> 30} GiB; allowed: at most as much"
    if problem:
        raise ArchiveError(f"{source}: {problem}")


def read_json(path: Path, name: str, most_bytes: int = MOST_JSON_BYTES) -> Any:
    """Read a JSON file; errors call it `name`.

    Raises ArchiveError for a file that is missing, too large or no JSON, nests too deeply, repeats a name in an object,
    or has a number that is not finite.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise ArchiveError(f"{name}: found {path.stat().st_size} bytes; allowed: at most {most_bytes}")
        return parse_json(path.read_bytes(), name)
    except OSError as error:
        raise ArchiveError(f"{name}: cannot be read ({error.strerror})") from None


def parse_json(text: bytes, name: str) -> Any:
    """Parse JSON; raises as `read_json`."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_float=finite, parse_constant=finite)
        json.dumps(value, ensure_ascii=False).encode()  # refuses half of a surrogate pair, which no file name can hold
        if not _is_deeper(value, DEEPEST_JSON):
            return value
    except RecursionError:
        pass  # the parser's own bound is further off
    except ValueError as error:
        raise ArchiveError(
            f"{name}: found no JSON ({error}); allowed: JSON with unique names and finite numbers"
        ) from None
    raise ArchiveError(f"{name}: found more than {DEEPEST_JSON} levels of lists and objects; allowed: fewer")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} twice in an object")
    return made


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [item for many in level if isinstance(many, dict | list) for item in _inside(many)]
    return any(isinstance(item, dict | list) for item in level)


def _inside(many: dict[str, Any] | list[Any]) -> Iterator[Any]:
    yield from many.values() if isinstance(many, dict) else many


def _end_of_directory(file: Path) -> bool:
    """Check what a zip file ends with, since zipfile reads as much of a directory as the file claims to have."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _END.size - _ZIP64_BYTES))
        tail = stream.read()
    if len(tail) < _END.size or tail[-_END.size :][:4] != _END_SIGNATURE:
        raise ArchiveError(f"{file}: found no end of a zip file; allowed: a whole zip file, without a comment")
    _, here, entries, directory_bytes, _, comment_bytes = _END.unpack(tail[-_END.size :])
    if tail.startswith(_ZIP64_SIGNATURE) or here != entries or comment_bytes:
        raise ArchiveError(f"{file}: found zip64, parts or a comment; allowed: one plain zip file")
    if directory_bytes > _MOST_DIRECTORY_BYTES:
        raise ArchiveError(f"{file}: found {directory_bytes} bytes of names; allowed: at most {_MOST_DIRECTORY_BYTES}")
    return True


def _problems(listed: list[zipfile.ZipInfo], packed_bytes: int) -> Iterator[str]:
    """Yield what is wrong with the list of a zip file."""
    if len(listed) > MOST_MEMBERS:
        yield f"found {len(listed)} members; allowed: at most {MOST_MEMBERS}"
    total_bytes = sum(member.file_size for member in listed)
    if total_bytes > MOST_BYTES:
        yield f"it unpacks to {total_bytes} bytes; allowed: at most {MOST_BYTES >> 30} GiB"
    if total_bytes > max(UNSUSPECTED_BYTES, MOST_RATIO * packed_bytes):
        yield f"it unpacks from {packed_bytes} to {total_bytes} bytes; allowed: {MOST_RATIO} times as many"
    for member in listed:
        problem = _name_problem(member.orig_filename) or _member_problem(member)
        if problem:
            yield problem
    yield from _repeated([member.filename for member in listed])


def _name_problem(name: str) -> str | None:
    parts = name.removesuffix("/").split("/")
    shown = repr(name if len(name) <= LONGEST_PART else f"{name[:LONGEST_PART]}...")
    if (
        len(name) > LONGEST_NAME
        or len(parts) > DEEPEST_FOLDER
        or any(len(part.encode()) > LONGEST_PART for part in parts)
    ):
        allowed = f"{LONGEST_NAME} characters, {DEEPEST_FOLDER} folders, {LONGEST_PART} bytes each"
        return f"found the name {shown}; allowed: at most {allowed}"
    if not name.isprintable() or "\\" in name or any(part in ("", ".", "..") for part in parts):
        return f"{shown} lies outside of the archive or is no plain name; allowed: names of files below its folder"
    return None


def _member_problem(member: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return f"{member.filename!r} is a link or a device; allowed: files and folders"
    if member.flag_bits & _ENCRYPTED or member.compress_type not in _METHODS:
        return f"{member.filename!r} is encrypted, or compressed by another method; allowed: stored, deflated"
    return None


def _repeated(names: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    files = {name for name in names if not name.endswith("/")}
    for name in names:
        if name in seen:
            yield f"{name!r} is there twice; allowed: each name once"
        seen.add(name)
        for folder in PurePosixPath(name).parents:
            if str(folder) in files:
                yield f"{str(folder)!r} is a file and a folder; allowed: one of them"


def _plain_files(source: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise ArchiveError(f"{error.filename}: cannot be read ({error.strerror})")

    for top, folders, names in os.walk(source, onerror=fail):
        for path in (Path(top, name) for name in sorted([*folders, *names])):
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield path
            elif not stat.S_ISDIR(mode):
                raise ArchiveError(f"{path}: found a link or a device; allowed: files and folders")


def _check_space(file: Path, needed_bytes: int, folder: Path) -> None:
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise ArchiveError(f"{file}: it unpacks to {needed_bytes >> 20} MiB; {folder} has {free_bytes >> 20} MiB free")


def _damaged(file: Path, error: Exception, name: str = "") -> ArchiveError:
    if isinstance(error, ArchiveError):
        return error
    where = f"{name}: " if name else ""
    return ArchiveError(f"{file}: {where}is damaged ({error})")
