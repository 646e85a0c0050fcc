"""What sums say of a folder: what is damaged, what is missing, and of what there is no sum."""

import hashlib
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.__main__ import main
from common import sums
from common.sums import FILE, DamagedError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.txt", "inner/b.txt"):
        file = tmp_path / "made" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    sums.write(tmp_path / "made", sums.below(tmp_path / "made"))
    return tmp_path / "made"


def without_head(text: str) -> str:
    return text.partition("\n")[2]


def without_lines(text: str) -> str:
    return text.split("\n")[0] + "\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without_head, "its first line is not the sum of the lines below"),
        (lambda text: "# SHA-256\n" + without_head(text), "its first line is not the sum"),
        (lambda _: "", "its first line is not the sum"),
        (without_lines, "the sum in its first line is not that of the lines below"),
        (lambda text: text + text.split("\n")[1] + "\n", "the sum in its first line is not that"),
    ],
)
def test_sums_without_their_first_line_are_refused(folder: Path, change: Callable[[str], str], says: str) -> None:
    file = folder / FILE
    file.write_text(change(file.read_text()))
    with pytest.raises(DamagedError, match=re.escape(f"{file}: damaged: {says}")):
        sums.checked(folder, "a.txt")
    assert sums.damaged(folder) == {FILE: "damaged"}
    assert sums.unvouched(folder) == ["a.txt", "inner/b.txt"]


def test_a_folder_of_which_no_file_has_a_sum(folder: Path) -> None:
    sums.write(folder, {})
    assert sums.read(folder) == {}
    assert sums.damaged(folder, ["a.txt"]) == {"a.txt": "without a sum"}


def test_files_without_a_sum_are_told(folder: Path) -> None:
    (folder / "inner/c.txt").touch()
    (folder / ".hidden").touch()
    (folder / "logs").mkdir()
    (folder / "logs/log").touch()
    (folder / "link").symlink_to("a.txt")
    assert sums.unvouched(folder, re.compile("logs")) == ["inner/c.txt", "link"]
    sums.write(folder / "inner", {})  # a folder's own sums count, not those above
    assert sums.unvouched(folder, re.compile("logs")) == ["inner/b.txt", "inner/c.txt", "link"]


def test_what_new_files_stand_for_is_removed(folder: Path) -> None:
    with sums.replacing(folder, instead_of=["inner/b.txt", "a.txt"]) as draft:
        (draft / "a.txt").write_text("new")
    assert (folder / "a.txt").read_text() == "new"
    assert not (folder / "inner/b.txt").exists()
    assert sums.unvouched(folder) == []
    assert sums.damaged(folder) == {}


def test_anybody_can_vouch_for_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sums", str(folder / "mistyped")]) == 2  # nothing said would mean that all is well
    assert "mistyped: found no such folder" in capsys.readouterr().err
    assert main(["sums", "--write", str(folder)]) == 2
    assert "exists; allowed: a folder without sums" in capsys.readouterr().err
    (folder / FILE).unlink()
    assert main(["sums", "--write", str(folder)]) == 0
    assert sums.read(folder)["a.txt"] == hashlib.sha256(b"a.txt").hexdigest()
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", FILE], cwd=folder, check=True)


def test_a_folder_in_place_of_sums_is_damage(tmp_path: Path) -> None:
    (tmp_path / sums.FILE).mkdir()
    with pytest.raises(sums.DamagedError, match=r"SHA256SUMS: cannot be read \(Is a directory\)"):
        sums.read(tmp_path)
    assert sums.damaged(tmp_path) == {sums.FILE: "damaged"}
