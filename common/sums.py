"""Sums of files that are read again, so that no number comes from a damaged one.

What writes the files of a folder writes their SHA-256 into SHA256SUMS there; what reads one of them compares first.
`sha256sum --check --strict SHA256SUMS` compares all of them by hand. Processors with instructions for SHA-256 compute
it faster than anything else that coreutils can check (1.7 GB/s; BLAKE2b 0.9 GB/s).

Their own sum stands in the first line: lines that somebody has removed or changed are noticed, too.

The sums tell of accidents: a disk, a copy, an editor. Whoever may write into a folder may write its sums, too.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from common import files

FILE = "SHA256SUMS"
WITHOUT = "without a sum"
_HEAD = "# SHA-256 of the lines below: "
_LINE = re.compile(r"(?P<escaped>\\?)(?P<sum>[0-9a-f]{64}) [ *](?P<name>.+)")


class DamagedError(ValueError):
    """A file that an earlier step made is missing or is not as that step left it; the message names it."""


def digest(file: Path) -> str:
    """Return the SHA-256 (hex) of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file or folder below `folder`, which may be a stranger's.

    Raises:
        DamagedError: the name leads out of it, or a link on the path does.
    """
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise DamagedError(f"{folder}: found the name {name!r}; allowed: names of what is below this folder")
    path = folder
    for part in parts:
        path /= part
        if path.is_symlink():
            raise DamagedError(f"{path}: found a link; allowed: files and folders")
    return path


def below(folder: Path, *names: str) -> dict[str, str]:
    """Return the sum of each file below these subfolders of a folder, or below all of it, by its path there."""
    tops = [folder / name for name in names] or [folder]
    inside = sorted(path for top in tops for path in top.rglob("*") if path.is_file() and path.name != FILE)
    return {path.relative_to(folder).as_posix(): digest(path) for path in inside}


def write(folder: Path, of: Mapping[str, str]) -> None:
    """Write the sums of a folder's files, by their paths there; those that it had are gone."""
    lines = "".join(f"{_line(name, of[name])}\n" for name in sorted(of)).encode(errors="surrogateescape")
    head = f"{_HEAD}{hashlib.sha256(lines).hexdigest()}\n".encode()
    partial = folder / f".{FILE}.{os.getpid()}"
    with partial.open("xb") as file:
        file.write(head + lines)
    files.give_name(partial, folder / FILE)


def read(folder: Path) -> dict[str, str]:
    """Return the sums of a folder's files, by their paths there.

    Raises:
        DamagedError: there are none, or they are damaged.
    """
    file = folder / FILE
    try:
        text = file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise DamagedError(
            f"{file}: missing, so nothing can be checked there; make the files again, or vouch for them yourself: "
            "python -m analysis sums --write FOLDER"
        ) from None
    except OSError as error:
        raise DamagedError(f"{file}: cannot be read ({error.strerror})") from None
    head, _, rest = text.partition(b"\n")
    if not head.startswith(_HEAD.encode()):
        raise DamagedError(f"{file}: damaged: its first line is not the sum of the lines below")
    if head != f"{_HEAD}{hashlib.sha256(rest).hexdigest()}".encode():
        raise DamagedError(f"{file}: damaged: the sum in its first line is not that of the lines below")
    lines = rest.decode(errors="surrogateescape").removesuffix("\n").split("\n") if rest else []
    matches = [_LINE.fullmatch(line) for line in lines]
    if None in matches:
        raise DamagedError(f"{file}: damaged: found {lines[matches.index(None)]!r}; allowed: lines of sha256sum")
    return dict(_entry(match) for match in matches if match)


def known(folder: Path) -> dict[str, str]:
    """Return the sums of a folder's files; none if they are damaged, so that what loses its sum is made again."""
    try:
        return read(folder)
    except DamagedError:
        return {}


def checked(folder: Path, name: str) -> Path:
    """Return the path of a folder's file once its bytes have been compared with its sum.

    Raises:
        DamagedError: it is missing or has other bytes, or nothing vouches for it.
    """
    with _locked(folder, fcntl.LOCK_SH):
        its_sum = read(folder).get(name)
        if its_sum is None:
            raise DamagedError(f"{folder / name}: found no sum of it in {FILE}; nothing else vouches for the file")
        path = inside(folder, name)
        wrong = _wrong(path, its_sum)
    if wrong:
        raise DamagedError(f"{path}: {wrong}; make the file again")
    return path


def damaged(folder: Path, needed: Collection[str] = ()) -> dict[str, str]:
    """Return what is wrong in a folder: `missing` or `damaged` by the path of a file there.

    Each of `needed` has to have a sum, and is else `without a sum`.
    """
    with _locked(folder, fcntl.LOCK_SH):
        try:
            sums = read(folder)
        except DamagedError:
            return {FILE: "damaged" if (folder / FILE).exists() else "missing"}
        wrong = {name: _wrong(folder / name, its_sum) for name, its_sum in sums.items()}
    told = {name: what.partition(":")[0] for name, what in wrong.items() if what}
    return told | {name: WITHOUT for name in needed if name not in sums}


def unvouched(folder: Path, unread: re.Pattern[str] | None = None) -> list[str]:
    """List the files below a folder, by their paths there, of which no sum is known where they lie.

    Sums lie in their folder or in one above it, up to `folder`. Hidden files and folders are being written; names that
    `unread` matches are of files and folders that nothing reads.
    """
    return sorted(file.relative_to(folder).as_posix() for file in _unvouched(folder, folder, {}, unread))


def _unvouched(folder: Path, vouches: Path, sums: Mapping[str, str], unread: re.Pattern[str] | None) -> Iterator[Path]:
    if (folder / FILE).exists():
        vouches, sums = folder, known(folder)
    for entry in sorted(folder.iterdir()) if folder.is_dir() else []:
        if entry.name.startswith(".") or entry.name == FILE or (unread and unread.fullmatch(entry.name)):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _unvouched(entry, vouches, sums, unread)
        elif entry.relative_to(vouches).as_posix() not in sums:
            yield entry


@contextmanager
def replacing(folder: Path, instead_of: Collection[str] = ()) -> Iterator[Path]:
    """Yield an empty folder for new files; when the block succeeds, they replace those of their names in `folder`.

    Their sums come with them. Files named by `instead_of` of which there are no new ones are removed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft.", dir=folder))
    try:
        yield draft
        made = below(draft)
        files.flush(draft)
        with _locked(folder, fcntl.LOCK_EX):
            for name in made:
                place = inside(folder, str(PurePosixPath(name).parent)) if "/" in name else folder
                place.mkdir(parents=True, exist_ok=True)
                (draft / name).replace(folder / name)
            kept = {name: its_sum for name, its_sum in known(folder).items() if name not in instead_of}
            write(folder, kept | made)
            for name in set(instead_of) - made.keys():
                inside(folder, name).unlink(missing_ok=True)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """Hold a folder's lock: files and their sums change together. A folder that is missing has none."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        yield
        return
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _wrong(file: Path, its_sum: str) -> str | None:
    try:
        return None if digest(file) == its_sum else f"damaged: its SHA-256 is not the one in {FILE}"
    except FileNotFoundError:
        return f"missing: {FILE} has a sum of it"
    except OSError as error:
        return f"damaged: {error.strerror}"


def _line(name: str, its_sum: str) -> str:
    """Return a line as sha256sum writes it; line breaks and backslashes in names are escaped."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{'' if escaped == name else chr(92)}{its_sum}  {escaped}"


def _entry(match: re.Match[str]) -> tuple[str, str]:
    name = match["name"]
    if match["escaped"]:
        name = re.sub(r"\\(.)", lambda escape: {"n": "\n", "r": "\r"}.get(escape[1], escape[1]), name)
    return name, match["sum"]
