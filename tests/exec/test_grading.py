"""`testbed verify *.zip --script lab.py`: a class's hand-ins in one table."""

import csv
import hashlib
import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from exec import grading
from exec.hand_in import seed_of
from scenarios.plan.sizes import MEMORY_MIB
from tests.exec.test_exec import execute, pack, verify

LAB = "import os\nprint(os.getrandom(8).hex())\n"


def grade(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict[str, dict[str, str]]]:
    files = sorted(path.name for path in folder.glob("*.zip"))
    done = verify(*files, "--csv", "grades.csv", *words, folder=folder)
    with (folder / "grades.csv").open() as table:
        return done, {row["file"]: row for row in csv.DictReader(table)}


def hand_in(folder: Path, name: str, student: str, script: str = LAB, beside: dict[str, str] | None = None) -> Path:
    work = folder / f"work-{name}"
    work.mkdir()
    for other, text in (beside or {}).items():
        (work / other).write_text(text)
    (work / "lab.py").write_text(script)
    done = execute("--student", student, "--hand-in", f"{name}.zip", "lab.py", folder=work)
    assert done.returncode == 0, done.stderr
    return (work / f"{name}.zip").rename(folder / f"{name}.zip")


@pytest.fixture(scope="module")
def class_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hand-ins of a class: as it should be, a copy, two with the same change, wished-for numbers, another's number."""
    folder = tmp_path_factory.mktemp("class")
    (folder / "lab.py").write_text(LAB)
    ada = hand_in(folder, "ada", "1")
    (folder / "copy.zip").write_bytes(ada.read_bytes())
    for name, student in (("bob", "2"), ("bert", "3")):
        hand_in(folder, name, student, f"{LAB}print('better')\n")
    with zipfile.ZipFile(ada) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    pack(folder / "changed.zip", {**members, "results/stdout.txt": b"42\n"})
    order = json.loads(members["order.json"])
    for name, changes in {
        "forged": {"exit_status": 7},
        "lent": {"student": "4"},
    }.items():
        pack(folder / f"{name}.zip", {**members, "order.json": json.dumps(order | changes).encode()})
    (folder / "torn.zip").write_bytes(ada.read_bytes()[:100])
    hand_in(folder, "shadowed", "5", beside={"re.py": ""})
    _disguised(folder, members, order)
    return folder


def _disguised(folder: Path, members: dict[str, bytes], order: dict[str, Any]) -> None:
    """Forge a result, and have the script write a file whose name reads like the verdict on another line."""
    claim = "files/z\ndisguised.zip: identical, 2 files"
    changed = {
        "input/lab.py": f"{LAB}open({claim.removeprefix('files/')!r}, 'w')\n".encode(),
        "results/files/a": b"42\n",
    }
    digests = order["digests"] | {name: hashlib.sha256(content).hexdigest() for name, content in changed.items()}
    told = json.dumps(order | {"digests": digests, "student": "=1|2", "seed": seed_of("=1|2")}).encode()
    pack(folder / "disguised.zip", {**members, **changed, "order.json": told})


def test_a_class_is_graded_by_one_command(class_folder: Path) -> None:
    done, rows = grade(class_folder, "--script", "lab.py")
    assert done.returncode == 1, done.stderr
    assert rows["ada.zip"]["result"].startswith("identical, 2 files")
    assert (rows["ada.zip"]["student"], rows["ada.zip"]["seed"]) == ("1", str(seed_of("1")))
    assert {name: row["script"] for name, row in rows.items() if row["script"]} == {
        **dict.fromkeys(("ada.zip", "copy.zip", "forged.zip", "lent.zip", "shadowed.zip"), "as handed out"),
        **dict.fromkeys(("bob.zip", "bert.zip", "disguised.zip"), "changed"),
    }
    assert {name: row["other_inputs"] for name, row in rows.items() if row["other_inputs"]} == {
        "shadowed.zip": "beside it re.py"
    }
    assert rows["disguised.zip"]["result"].startswith("DIFFERS in files/a, files/z\N{REPLACEMENT CHARACTER}")
    assert rows["disguised.zip"]["student"] == "'=1|2" and r"| =1\|2 |" in done.stdout
    assert rows["bob.zip"]["same_as"] == "bert.zip" and rows["bert.zip"]["same_as"] == "bob.zip"
    assert rows["ada.zip"]["same_as"] == "copy.zip, forged.zip, lent.zip"
    assert rows["forged.zip"]["result"].startswith("DIFFERS in exit status")
    assert rows["changed.zip"]["result"] == "changed since it was made: results/stdout.txt"
    assert rows["lent.zip"]["result"] == "the seed does not follow from the student's number"
    assert "zip" in rows["torn.zip"]["result"]
    assert done.stdout.startswith("| file | student | seed | result | script | other inputs | same as |\n| --- | --- |")
    assert len(done.stdout.splitlines()) == 2 + len(rows)


def crafted(file: Path, members: dict[str, bytes], **order: Any) -> Path:
    """A hand-in that was not made by a run: what it says of itself is looked at before anything runs."""
    plain: dict[str, Any] = {"words": ["python3", "lab.py"], "beside": ".", "student": None, "seed": 1, "deb": []}
    plain |= {"pip": [], "keep_all": False, "limit_s": 3600, "memory_mib": MEMORY_MIB, "link_rate_bps": 10**9}
    plain |= {"offload": True, "controller": None, "python2": False, "together": True, "exit_status": 0}
    all_members = {"stdin": b"", **members}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in all_members.items()}
    record = json.dumps({**plain, "provenance": {}, **order, "digests": digests})
    pack(file, {"order.json": record.encode(), **all_members})
    return file


SCRIPT = b"import os\nos.system('sh ./measure')\n"
MEASURE = b"iperf -c 10.0.0.2\n"
HANDED_OUT = {"input/lab.py": SCRIPT, "input/measure": MEASURE}


@pytest.mark.parametrize(
    ("members", "order", "told"),
    [
        (HANDED_OUT, {}, ""),
        (HANDED_OUT, {"words": ["python3", "./lab.py"]}, ""),
        ({**HANDED_OUT, "input/measure": b"echo 9.9 Mbit/s\n"}, {}, "beside it measure"),
        ({**HANDED_OUT, "input/lab.conf": b"rate=99"}, {}, "beside it lab.conf"),
        ({**HANDED_OUT, "input/measure.pl": b"", "input/Makefile": b""}, {}, "beside it Makefile, measure.pl"),
        ({**HANDED_OUT, "input/a.pyo": b"", "input/a.zip": b""}, {}, "beside it a.pyo, a.zip"),
        ({**HANDED_OUT, "input/x/lab.py": b""}, {"beside": "x"}, "from beside x; beside it x/lab.py"),
        (HANDED_OUT, {"words": ["bash", "lab.py"]}, "called by bash lab.py"),
        (HANDED_OUT, {"words": ["python3", "-m", "lab"]}, "called by python3 -m lab"),
        (HANDED_OUT, {"memory_mib": MEMORY_MIB + 1024, "keep_all": True}, f"--memory {MEMORY_MIB + 1024}; --keep-all"),
        ({"input/lab.py": SCRIPT}, {}, "without measure"),
        (
            {"input/other.py": SCRIPT, "input/measure": MEASURE},
            {"words": ["python3", "other.py", "x"]},
            "under the name other.py; x",
        ),
    ],
)
def test_all_that_differs_from_what_was_handed_out_is_told(
    tmp_path: Path, members: dict[str, bytes], order: dict[str, Any], told: str
) -> None:
    (tmp_path / "given").mkdir()
    for name, content in {"lab.py": SCRIPT, "measure": MEASURE, "solution.py": b"not handed out"}.items():
        (tmp_path / "given" / name).write_bytes(content)
        (tmp_path / "given" / name).chmod(0o755)  # as `pack` has them
    files = [crafted(tmp_path / "one.zip", members, **order), crafted(tmp_path / "two.zip", HANDED_OUT)]
    row, other = grading.table(files, tmp_path / "given/lab.py", 0, lambda _: None)
    assert (row.script, row.other_inputs) == ("as handed out", told)
    assert (other.script, other.other_inputs) == ("as handed out", "")


def test_a_file_that_may_be_executed_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "lab.py").write_bytes(SCRIPT)
    (tmp_path / "measure").write_bytes(MEASURE)
    (tmp_path / "measure").chmod(0o644)
    [row] = grading.table([crafted(tmp_path / "one.zip", HANDED_OUT)], tmp_path / "lab.py", 0, lambda _: None)
    assert (row.script, row.other_inputs) == ("as handed out", "other modes of measure")


def test_a_hand_in_with_a_field_of_its_own_is_refused(tmp_path: Path) -> None:
    [row] = grading.table([crafted(tmp_path / "one.zip", HANDED_OUT, verified=True)], None, 0, lambda _: None)
    assert row.result.startswith("order.json: ") and "'verified'" in row.result


@pytest.mark.parametrize("field", ["seed", "limit_s", "memory_mib", "link_rate_bps"])
def test_a_whole_number_of_a_hand_in_is_one(tmp_path: Path, field: str) -> None:
    file = crafted(tmp_path / "one.zip", HANDED_OUT, **{field: 1024.0})
    [row] = grading.table([file], None, 0, lambda _: None)
    assert row.result == f"order.json: {field}: 1024.0 is not of type 'integer'"


def test_of_a_class_only_a_sample_is_run_again(class_folder: Path) -> None:
    done, rows = grade(class_folder, "--script", "lab.py", "--sample", "1")
    results = [row["result"] for row in rows.values()]
    assert results.count("not run again") == 6  # of ada, copy, bob, bert, forged, disguised and shadowed one is run
    assert rows["changed.zip"]["result"] == "changed since it was made: results/stdout.txt"
    assert rows["lent.zip"]["result"] == "the seed does not follow from the student's number"
    assert rows["bob.zip"]["same_as"] == "bert.zip"
    assert done.returncode == 1
    none = verify("ada.zip", "--sample", "0", folder=class_folder)
    assert (none.returncode, "not run again" in none.stdout) == (0, True)
    assert "--sample: found -1; allowed: " in verify("ada.zip", "--sample", "-1", folder=class_folder).stderr


def test_what_is_no_hand_in_is_named(class_folder: Path) -> None:
    (class_folder / "notes.txt").write_text("")
    done = verify("ada.zip", "notes.txt", folder=class_folder)
    assert done.returncode == 2 and "found notes.txt; allowed with several files" in done.stderr
    missing = verify("ada.zip", "--script", "none.py", folder=class_folder)
    assert missing.returncode == 2 and "--script: none.py: No such file" in missing.stderr
