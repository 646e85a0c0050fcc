"""Sums of files that are read again, so that no number comes from a damaged one.

What writes the files of a folder writes their SHA-256 into SHA256SUMS there; what reads one of them compares first.
`sha256sum --check --strict SHA256SUMS` compares all of them by hand. Processors with instructions for SHA-256 compute
it faster than anything else that coreutils can check (1.7 GB/s; BLAKE2b 0.9 GB/s).

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
            f"{file}: missing, so nothing can be checked there; make the files again, or write sums with sha256sum"
        ) from None
    head, _, rest = text.partition(b"\n")
    if head.startswith(b"#") and head != f"{_HEAD}{hashlib.sha256(rest).hexdigest()}".encode():
        raise DamagedError(f"{file}: damaged: the sum in its first line is not that of the lines below")
    lines = (rest if head.startswith(b"#") else text).decode(errors="surrogateescape").removesuffix("\n").split("\n")
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


def damaged(folder: Path) -> dict[str, str]:
    """Return what is wrong in a folder: `missing` or `damaged` by the path of a file there."""
    with _locked(folder, fcntl.LOCK_SH):
        try:
            sums = read(folder)
        except DamagedError:
            return {FILE: "damaged" if (folder / FILE).exists() else "missing"}
        wrong = {name: _wrong(folder / name, its_sum) for name, its_sum in sums.items()}
    return {name: what.partition(":")[0] for name, what in wrong.items() if what}


@contextmanager
def replacing(folder: Path, instead_of: Collection[str] = ()) -> Iterator[Path]:
    """Yield an empty folder for new files; when the block succeeds, they replace those of their names in `folder`.

    Their sums come with them, and nothing vouches any longer for the files named by `instead_of`.
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
