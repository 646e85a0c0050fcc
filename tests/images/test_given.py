"""Implementations given as a commit or as an archive: what is taken, and what is refused."""

import hashlib
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.cache import Store
from images.errors import ImageError
from images.given import check_started, folder_of
from scenarios import homes
from testbed.cli import main


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("TESTBED_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(homes.VARIABLE, "")
    return Store(tmp_path / "cache")


def git(repository: Path, *words: str, text: str = "") -> str:
    about = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(repository), *words]
    environment = {**os.environ, **about, **who}
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """A repository with an implementation in testing/mine, as committed, and changed since."""
    mine = tmp_path / "client" / "testing" / "mine"
    mine.mkdir(parents=True)
    (mine / "implementation.yaml").write_text("extends: libutp\n")
    (mine / "endpoint").write_text("#!/bin/sh\n")
    (mine / "endpoint").chmod(0o755)
    git(tmp_path, "init", "-q", str(tmp_path / "client"))
    git(tmp_path / "client", "add", ".")
    git(tmp_path / "client", "commit", "-qm", "one")
    (mine / "endpoint").write_text("changed\n")
    yield tmp_path / "client"


def test_a_commit_is_taken_as_it_was(repository: Path, store: Store) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    folder = folder_of(Path(f"{repository}@{commit}:testing/mine"), store)
    assert (folder / "endpoint").read_text() == "#!/bin/sh\n"
    assert os.access(folder / "endpoint", os.X_OK)
    assert not os.access(folder / "implementation.yaml", os.X_OK)
    assert homes.add(folder) == "mine"
    assert folder_of(Path(f"{repository}@{commit}:testing/mine"), store) == folder


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{repository}@HEAD", "found '.*@HEAD'; allowed: a folder with a file implementation.yaml"),
        ("{repository}@--output=/tmp/a", "allowed: a folder"),
        ("{repository}@" + "0" * 40, "git finds no such commit or folder"),
        ("{repository}@{commit}:testing/none", "git finds no such commit or folder"),
        ("{repository}@{commit}:../mine", r"the folder: found '\.\./mine'; allowed: "),
        ("{repository}@{commit}:--help", "the folder: found '--help'; allowed: "),
    ],
)
def test_what_is_no_commit_is_refused(
    repository: Path, store: Store, capsys: pytest.CaptureFixture[str], given: str, message: str
) -> None:
    text = given.format(repository=repository, commit=git(repository, "rev-parse", "HEAD"))
    assert main(["check", "--implementation", text]) == 2
    said = capsys.readouterr().err
    assert re.search(message, said), said
    assert not list(store.root.glob("given/*"))


def test_a_repository_starts_nothing_of_its_own(repository: Path, store: Store, tmp_path: Path) -> None:
    """Filters of attributes, a monitor, a hook, and a remote that would be asked for an object that is missing."""
    script = tmp_path / "ran.sh"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    (repository / "testing/mine/.gitattributes").write_text("* filter=own\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "two")
    for name in ("filter.own.smudge", "filter.own.process", "core.fsmonitor", "core.pager", "remote.origin.uploadpack"):
        git(repository, "config", name, str(script))
    git(repository, "config", "remote.origin.url", str(repository))
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "core.repositoryFormatVersion", "1")
    commit = git(repository, "rev-parse", "HEAD")
    lost = git(repository, "rev-parse", "HEAD:testing/mine/endpoint")
    assert folder_of(Path(f"{repository}@{commit}:testing/mine"), store).is_dir()
    (repository / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    store = Store(tmp_path / "another")
    with pytest.raises(ImageError, match="lacks an object of"):
        folder_of(Path(f"{repository}@{commit}:testing/mine"), store)
    assert not (tmp_path / "ran").exists()


def test_a_tree_leads_nowhere_else(repository: Path, store: Store, tmp_path: Path) -> None:
    item = git(repository, "rev-parse", "HEAD:testing/mine/endpoint")
    for mode, name in (("100644 blob", "a/../b"), ("120000 blob", "link")):
        inner = git(repository, "mktree", "--missing", text=f"{mode} {item}\t{name.rpartition('/')[2]}\n")
        for part in reversed(name.split("/")[:-1]):
            inner = git(repository, "mktree", "--missing", text=f"040000 tree {inner}\t{part}\n")
        with pytest.raises(ImageError, match="allowed: files below the folder"):
            folder_of(Path(f"{repository}@{inner}"), store)
    assert not list(store.root.glob("given/*"))


@pytest.mark.parametrize("name", ["both", "a" * 300])
def test_a_tree_that_no_folder_can_hold_is_refused(repository: Path, store: Store, name: str) -> None:
    """A file and a folder of one name, and a name that is too long."""
    item = git(repository, "rev-parse", "HEAD:testing/mine/endpoint")
    inner = git(repository, "rev-parse", "HEAD:testing/mine")
    entries = [(b"100644", name, item), *([(b"40000", name, inner)] if name == "both" else [])]
    raw = b"".join(mode + b" " + named.encode() + b"\0" + bytes.fromhex(of) for mode, named, of in entries)
    command = ["git", "-C", str(repository), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
    tree = subprocess.run(command, input=raw, capture_output=True, check=True).stdout.decode().strip()
    with pytest.raises(ImageError, match=rf"'{name[:90]}\S*' cannot be written \("):
        folder_of(Path(f"{repository}@{tree}"), store)


def archive(folder: Path, *names: str) -> tuple[Path, str]:
    file = folder / "mine.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for name in names:
            home = folder / name
            home.mkdir()
            (home / "implementation.yaml").write_text("extends: libutp\n")
            tar.add(home, name)
    return file, hashlib.sha256(file.read_bytes()).hexdigest()


def test_an_archive_is_taken_by_its_sum(store: Store, tmp_path: Path) -> None:
    file, digest = archive(tmp_path, "mine")
    folder = folder_of(Path(f"{file}@sha256:{digest}"), store)
    assert (folder.name, homes.add(folder)) == ("mine", "mine")


def test_other_archives_are_refused(store: Store, tmp_path: Path) -> None:
    file, digest = archive(tmp_path, "one", "two")
    plain = tmp_path / "plain.tar.gz"
    plain.write_text("no archive")
    of_plain = hashlib.sha256(plain.read_bytes()).hexdigest()
    for given, message in (
        (f"{file}@sha256:{digest}", "found the implementations one, two; allowed: one, as NAME/implementation.yaml"),
        (f"{file}@sha256:{'0' * 64}", f"found the sum {digest}; allowed: {'0' * 64}"),
        (f"{file}@sha256:{digest[:8]}", "the sum: found '.*'; allowed: a SHA-256 in hexadecimal"),
        (f"{file}.none@sha256:{digest}", "no file; allowed: a folder with"),
        (f"{plain}@sha256:{of_plain}", "cannot be unpacked .*; allowed: a tar archive, by gzip"),
    ):
        with pytest.raises(ImageError, match=message):
            folder_of(Path(given), store)
    assert not list(store.root.glob("given/*"))


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        ("#!/bin/sh\r\nexit\r\n", 0o755, "has lines that end in CR LF, as on Windows; allowed: LF alone"),
        ("#!/bin/sh\n", 0o644, "is not executable (chmod +x)"),
    ],
)
def test_a_program_that_does_not_start_is_named_with_the_command_that_mends_it(
    repository: Path,
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    mode: int,
    says: str,
) -> None:
    mine = repository / "testing" / "mine"
    (mine / "endpoint").write_bytes(text.encode())
    (mine / "endpoint").chmod(mode)
    git(repository, "commit", "-qam", "wrong")
    assert main(["check", "--implementation", str(mine)]) == 2
    about, _, command = capsys.readouterr().err.strip().partition("; mend it by: ")
    assert about.endswith(f"--implementation: {mine}: the file `endpoint` {says}")
    subprocess.run(["sh", "-c", command], check=True)
    check_started("mine", mine, store)
    monkeypatch.setenv(homes.VARIABLE, "")
    given = f"{repository}@{git(repository, 'rev-parse', 'HEAD')}:testing/mine"
    assert main(["check", "--implementation", given]) == 2
    assert capsys.readouterr().err.strip().endswith(says)
