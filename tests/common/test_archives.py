"""Zip files, folders and JSON of strangers: whole and small, or refused in a sentence before anything is written."""

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from common import archives
from common.archives import ArchiveError

END_BYTES = 22


def packed(*members: tuple[str, bytes], mode: int = stat.S_IFREG | 0o644, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            member.compress_type = method
            archive.writestr(member, content)
    return stream.getvalue()


def claimed(data: bytes, size: int) -> bytes:
    """The same with another size of its first member in the list."""
    at = data.index(b"PK\1\2")
    return data[: at + 24] + struct.pack("<L", size) + data[at + 28 :]


PLAIN = packed(("a/b.txt", b"content"))
REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "found no end of a zip file"),
    "text": (b"x" * 100, "found no end of a zip file"),
    "cut": (PLAIN[:-1], "found no end of a zip file"),
    "a comment": (PLAIN[:-2] + b"\2\0ok", "found no end of a zip file"),
    "too long a list": (PLAIN[:-10] + struct.pack("<L", 1 << 30) + PLAIN[-6:], "found 1073741824 bytes of names"),
    "no list": (PLAIN[-END_BYTES:], "is damaged"),
    "other bytes": (PLAIN.replace(b"b.txt", b"c.txt", 1), "is damaged"),
    "a bomb": (packed(("zeros", bytes(100 << 20))), " to 104857600 bytes; allowed: 100 times as many"),
    "a claim of 5 GiB": (
        claimed(packed(*[(str(n), b"xxx") for n in range(2)]), (1 << 32) - 2),
        "allowed: at most 4 GiB",
    ),
    "more than it claims": (claimed(packed(("a", b"x" * 99)), 9), "is damaged"),
    "an absolute name": (packed(("/etc/x", b"")), "'/etc/x' lies outside"),
    "a name above": (packed(("a/../../x", b"")), "lies outside"),
    "a name of Windows": (packed(("a\\..\\x", b"")), "lies outside"),
    "an empty part": (packed(("a//x", b"")), "lies outside"),
    "a line feed": (packed(("a\nb", b"")), r"'a\\nb' lies outside of the archive or is no plain name"),
    "a long name": (packed(("x" * 300, b"")), "allowed: at most 1000 characters"),
    "a deep folder": (packed(("a/" * 40 + "x", b"")), "32 folders"),
    "a link": (packed(("x", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777), "is a link or a device"),
    "a pipe": (packed(("x", b""), mode=stat.S_IFIFO | 0o777), "is a link or a device"),
    "twice": (packed(("x", b"1"), ("y", b"2")).replace(b"y", b"x"), "'x' is there twice"),
    "a file that is a folder": (packed(("x", b"1"), ("x/y", b"2")), "'x' is a file and a folder"),
    "another method": (packed(("x", b"1"), method=zipfile.ZIP_BZIP2), "compressed by another method"),
    "encrypted": (PLAIN.replace(b"PK\1\2\x14\x03\x14\0\0\0", b"PK\1\2\x14\x03\x14\0\1\0"), "is encrypted"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_crafted_zip_file_writes_nothing(tmp_path: Path, what: str) -> None:
    data, words = REFUSED[what]
    file, folder = tmp_path / "crafted.zip", tmp_path / "folder"
    file.write_bytes(data)
    folder.mkdir()
    with pytest.raises(ArchiveError, match=words):
        archives.unpack(file, folder)
    left = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert left <= len(data)


def test_a_plain_one_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "plain.zip"
    file.write_bytes(packed(("a/", b""), ("a/run", b"content"), mode=0o100755))
    archives.unpack(file, tmp_path)
    assert (tmp_path / "a/run").read_bytes() == b"content"
    assert (tmp_path / "a/run").stat().st_mode & 0o777 == 0o700
    assert archives.read_member(file, "a/run") == b"content"
    with pytest.raises(ArchiveError, match=r"plain.zip: a/run: found 7 bytes; allowed: at most 6"):
        archives.read_member(file, "a/run", most_bytes=6)


def test_what_is_packed_can_be_unpacked_or_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "zeros").touch()
    os.truncate(tmp_path / "zeros", 100 << 20)
    archives.pack(tmp_path / "small.zip", {"a/text": "content", "a/file": Path(__file__)})
    assert archives.read_member(tmp_path / "small.zip", "a/text") == b"content"
    with pytest.raises(ArchiveError, match=r"bomb.zip: it unpacks from \d+ to 104857600 bytes"):
        archives.pack(tmp_path / "bomb.zip", {"zeros": tmp_path / "zeros"})
    with pytest.raises(ArchiveError, match=r"x.zip: cannot be written \(Not a directory\); choose another place"):
        archives.pack(tmp_path / "zeros" / "x.zip", {})
    assert {path.name for path in tmp_path.iterdir()} == {"zeros", "small.zip"}


def test_a_list_that_names_a_place_before_the_file_is_refused(tmp_path: Path) -> None:
    at = len(PLAIN) - 6
    offset = struct.unpack_from("<L", PLAIN, at)[0]
    (tmp_path / "crafted.zip").write_bytes(PLAIN[:at] + struct.pack("<L", offset + 9) + PLAIN[at + 4 :])
    with pytest.raises(ArchiveError, match=r"crafted.zip: a/b.txt: is damaged \(.*Invalid argument"):
        archives.read_member(tmp_path / "crafted.zip", "a/b.txt")


def test_many_names_are_refused_before_they_are_read(tmp_path: Path) -> None:
    file = tmp_path / "many.zip"
    file.write_bytes(packed(*((f"{number:05}", b"") for number in range(archives.MOST_MEMBERS + 1))))
    with pytest.raises(ArchiveError, match="found zip64, parts or a comment"):
        archives.members(file)


FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link": (lambda folder: (folder / "x").symlink_to("/etc/passwd"), "x: found a link or a device"),
    "a link to a folder": (lambda folder: (folder / "x").symlink_to("/etc"), "x: found a link or a device"),
    "a pipe": (lambda folder: os.mkfifo(folder / "x"), "x: found a link or a device"),
    "a large file": (lambda folder: os.truncate(folder / "file", 5 << 30), "found more than 4 GiB"),
    "an odd name": (lambda folder: (folder / "a\nb").touch(), "lies outside of the archive or is no plain name"),
}


@pytest.mark.parametrize("what", FOLDERS)
def test_a_crafted_folder_is_refused(tmp_path: Path, what: str) -> None:
    craft, words = FOLDERS[what]
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "file").touch()
    craft(tmp_path / "source")
    with pytest.raises(ArchiveError, match=words):
        archives.copy_folder(tmp_path / "source", tmp_path / "copy")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "x.json: found no JSON"),
        (b"\xff", "x.json: found no JSON"),
        (b"[" * 100_000, "found more than 64 levels"),
        (b"[" * 65 + b"]" * 65, "found more than 64 levels"),
        (b'{"a": 1, "a": 2}', "'a' twice in an object"),
        (b"[NaN]", "NaN is not a finite number"),
        (b"9" * 5000, "x.json: found no JSON"),
        (b'"\\ud800"', "x.json: found no JSON"),
    ],
)
def test_crafted_json_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(ArchiveError, match=words):
        archives.parse_json(text, "x.json")


def test_json_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b"[" * 64 + b"]" * 64)
    archives.read_json(tmp_path / "x.json", "x.json")
    with pytest.raises(ArchiveError, match=r"x.json: found 128 bytes; allowed: at most 127"):
        archives.read_json(tmp_path / "x.json", "x.json", most_bytes=127)
    with pytest.raises(ArchiveError, match=r"y.json: cannot be read"):
        archives.read_json(tmp_path / "y.json", "y.json")
