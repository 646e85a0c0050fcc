# SPDX-License-Identifier: MIT
"""Locks: the build takes what they name, or stops and says what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from images import build_root, debian, lock, locked, programs
from images.cache import Store, file_digest
from images.debian import Package
from images.errors import ImageError
from images.kernel import sources
from images.locked import GoneError
from images.rootfs import build as rootfs
from tests.images.mirror import SUITE, Mirror
from tests.tools import cargo_lock, npm_lock

NAME = "trial"


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """The only mirror that there is, trusted without a signature."""
    made = Mirror(tmp_path / "mirror")
    monkeypatch.setattr(locked, "mirrors", lambda: ["copy:/mirror"])
    monkeypatch.setattr(debian, "mirrors", lambda: ["copy:/mirror"])
    monkeypatch.setattr(debian, "source_lines", lambda suite: f"deb [trusted=yes] copy:{made.root} {suite} main\n")
    forget(monkeypatch)
    return made


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a new process would: the lists are fetched again."""
    monkeypatch.setattr(debian.Archive, "_updated", set())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", lambda _: None)


def test_a_lock_is_written_and_read_and_its_packages_are_fetched_once(
    tmp_path: Path, store: Store, mirror: Mirror
) -> None:
    mirror.offer({"one": "1:2.0-1", "two": "3"})
    made = locked.resolve(store, SUITE, ["one"], complete=False, name=NAME)
    assert [(package.name, package.version) for package in made.packages] == [("one", "1:2.0-1")]
    (tmp_path / "link").symlink_to(tmp_path / "lock")
    made.write(tmp_path / "link")
    assert locked.read(tmp_path / "lock", SUITE, ["one"], NAME) == made
    (file,) = locked.fetch(store, print, made, "trial").values()
    assert file_digest(file) == made.packages[0].sha256
    mirror.offer({"one": "4"})
    (again,) = locked.fetch(store, print, made, "trial").values()
    assert again == file
    file.write_text("damaged")
    mirror.offer({"one": "1:2.0-1"})
    (mended,) = locked.fetch(store, print, made, "trial").values()
    assert file_digest(mended) == made.packages[0].sha256


def test_what_has_left_the_mirror_is_named_with_what_to_do(
    store: Store, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.offer({"one": "1", "two": "1", "three": "1"})
    made = locked.resolve(store, SUITE, ["one", "two", "three"], complete=False, name=NAME)
    mirror.offer({"one": "2", "two": "1"})
    forget(monkeypatch)
    with pytest.raises(ImageError) as caught:
        locked.fetch(store, print, made, "trial")
    assert str(caught.value) == (
        f"trial: the lock of {made.written} names packages that copy:/mirror no longer has in trixie: "
        "one 1 (there is 2), three 1 (there is no other version). "
        "Either `python -m images unpack FILE` takes images that were packed elsewhere, "
        "or DEBIAN_MIRROR=URL names an archive that still has that day, "
        f"or `python -m images lock {NAME}` writes a lock of today, with which runs may give other bytes"
    )
    assert list((store.root / "downloads" / "packages").iterdir()) == []


def test_what_came_before_a_download_failed_need_not_come_again(store: Store, mirror: Mirror) -> None:
    mirror.offer({"one": "1", "two": "2"})
    made = locked.resolve(store, SUITE, ["one", "two"], complete=False, name=NAME)
    (mirror.root / "pool/two_2_all.deb").unlink()
    with pytest.raises(ImageError, match="Fetching one=1, two=2 failed"):
        locked.fetch(store, print, made, "trial")
    (one, _) = made.packages
    assert [file.stem for file in (store.root / "downloads/packages").glob("*.deb")] == [one.sha256]


@pytest.fixture
def one_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build root of one package, with a lock of its own."""
    monkeypatch.setattr(build_root, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(build_root, "PACKAGES", tmp_path / "packages.txt")
    build_root.PACKAGES.write_text("one\n")


@pytest.mark.usefixtures("one_package")
def test_a_build_renews_a_lock_whose_packages_are_gone_and_says_so(
    store: Store, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's point releases used to end every first build."""
    mirror.offer({"one": "1"})
    lock.renew(store, print, ["build-root"])
    mirror.offer({"one": "2"})
    forget(monkeypatch)
    said: list[str] = []
    fetched = lock.renewing(store, said.append, lambda: locked.fetch(store, print, build_root.base_lock(), "trial"))
    assert [package.version for package in fetched] == ["2"]
    assert "one 1 (there is 2). The lock is renewed, so images, and perhaps the bytes of runs, differ" in said[0]


@pytest.mark.usefixtures("one_package")
def test_what_is_gone_from_a_new_lock_too_ends_the_build(store: Store, mirror: Mirror) -> None:
    mirror.offer({"one": "1"})

    def build() -> None:
        raise GoneError("never there", locked.Lock(SUITE, ["one"], "2026-11-22", [], "build-root"))

    with pytest.raises(GoneError, match=r"never there\. Either `python -m images unpack FILE`"):
        lock.renewing(store, print, build)


@pytest.mark.parametrize(
    ("name", "offered", "taken"),
    [
        ("player-4.1.3", {"player": "1:4.1.3+dfsg-3", "libc6": "1.0-1"}, True),
        ("player-4.1.3", {"player": "1:4.1.4+dfsg-1", "libc6": "0.9-1"}, False),
        ("player-4", {"player": "1:4.1.4+dfsg-1", "libc6": "0.9-1"}, True),
        ("player-0.9", {"player": "1:4.1.4+dfsg-1", "libc6": "1.0-1"}, True),
    ],
)
def test_what_is_called_by_a_version_gets_no_other(
    name: str,
    offered: dict[str, str],
    taken: bool,
    tmp_path: Path,
    store: Store,
    mirror: Mirror,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "root.lock"
    monkeypatch.setattr(programs, "locked_names", lambda: [name])
    monkeypatch.setattr(programs, "locks", lambda _: [(path, SUITE, ["player"], False)])
    mirror.offer({"player": "1:4.1.3+dfsg-2", "libc6": "0.9-1"})
    lock.renew(store, print, [name])
    mirror.offer(offered)
    forget(monkeypatch)

    def build() -> list[str]:
        return [each.version for each in locked.fetch(store, print, locked.read_any(path, name), "trial")]

    if taken:
        assert lock.renewing(store, print, build) == [offered["player"]]
    else:
        with pytest.raises(GoneError, match=f"`python -m images lock {name}` writes a lock of today"):
            lock.renewing(store, print, build)


def test_another_file_of_a_locked_version_is_not_taken(
    store: Store, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.offer({"one": "1"})
    made = locked.resolve(store, SUITE, ["one"], complete=False, name=NAME)
    mirror.offer({"one": "1"}, content="evil")
    forget(monkeypatch)
    with pytest.raises(ImageError, match=r"one 1 \(there is another file of that version\)"):
        locked.fetch(store, print, made, "trial")


def test_a_suite_that_does_not_come_is_told(tmp_path: Path, store: Store, mirror: Mirror) -> None:
    with pytest.raises(ImageError, match=r"No mirror has Debian trixie: copy:|Fetching the package lists"):
        locked.resolve(store, SUITE, ["one"], complete=False)


def test_the_kernel_is_the_locked_one_or_none(
    tmp_path: Path, store: Store, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suite without the locked version used to give another kernel, which was then always preferred."""
    path = tmp_path / "source.lock"
    monkeypatch.setattr(sources, "SUITE", SUITE)
    mirror.offer({"linux-source-7.3": "7.3.4-1", "linux-source-8.0": "8.0-1", "linux-source-6.1": "6.1.9-1"})
    sources.resolve(store).write(path)
    assert sources.locked_source(path).version == "7.3.4-1"
    mirror.offer({"linux-source-6.12": "6.12.107-1"})
    forget(monkeypatch)
    with pytest.raises(
        ImageError, match=r"linux-source-7.3 7.3.4-1 \(there is no other .*`python -m images lock kernel`"
    ):
        sources.fetch(store, print, path)
    sources.resolve(store).write(path)
    assert sources.locked_source(path).version == "6.12.107-1"
    assert sources.fetch(store, print, path).name == f"{sources.locked_source(path).sha256}.deb"


def test_two_first_builds_at_once_do_not_disturb_each_other(tmp_path: Path, store: Store, mirror: Mirror) -> None:
    """Both fetch the lists into one state of apt, which refuses the second while the first is at it."""
    mirror.offer({f"package-{index}": "1" for index in range(5)})
    made = locked.resolve(store, SUITE, [f"package-{index}" for index in range(5)], complete=False, name=NAME)
    made.write(tmp_path / "lock")
    code = f"""
import sys
from pathlib import Path
from images import debian, locked
from images.cache import Store
debian.source_lines = lambda suite: f"deb [trusted=yes] copy:{mirror.root} {{suite}} main\\n"
lock = locked.read_any(Path({str(tmp_path / "lock")!r}), "")
locked.fetch(Store(Path({str(tmp_path / "new")!r})), print, lock, "trial")
"""
    both = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in both] == [("", 0), ("", 0)]
    assert len(list((tmp_path / "new" / "downloads" / "packages").glob("*.deb"))) == 5


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '{"suite": "trixie"}', '{"packages": [{"name": 1}]}'])
def test_what_is_not_a_lock_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "lock").write_text(text)
    with pytest.raises(ImageError, match=r"lock is not a lock \(.*: `python -m images lock trial` writes it"):
        locked.read(tmp_path / "lock", SUITE, [], NAME)


def test_a_lock_without_an_end_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("/dev/zero")
    with pytest.raises(ImageError, match=r"lock is not a lock \(it is no file of at most 16 MiB\)"):
        locked.read(tmp_path / "lock", SUITE, [], NAME)


def test_a_lock_of_other_packages_is_refused(tmp_path: Path) -> None:
    package = Package("aa", "1", "0" * 64, 1)
    locked.Lock(SUITE, ["aa", "bb"], "2026-11-22", [package], NAME).write(tmp_path / "lock")
    with pytest.raises(
        ImageError, match=r"lock is the lock of other packages \(bb, cc\): `python -m images lock trial`"
    ):
        locked.read(tmp_path / "lock", SUITE, ["cc", "aa"], NAME)
    with pytest.raises(ImageError, match=r"missing does not exist: `python -m images lock trial` writes it"):
        locked.read(tmp_path / "missing", SUITE, [], NAME)


def test_every_lock_fits_what_it_is_of(tmp_path: Path) -> None:
    assert "gcc" in {package.name for package in build_root.base_lock().packages}
    assert "mininet" in {package.name for package in rootfs.root_lock().packages}
    assert sources.version(sources.LOWEST) <= sources.version(sources.locked_source().version)
    for name in programs.locked_names():
        for path, suite, wanted, _ in programs.locks(name):
            assert locked.read(path, suite, wanted, NAME).packages, name


def test_only_what_has_a_lock_can_be_locked(store: Store) -> None:
    with pytest.raises(ImageError, match="libutp has no lock; those that have one are: kernel, build-root, rootfs"):
        lock.renew(store, print, ["libutp"])


def test_verbs_are_no_programs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "images", "lock", "nosuch"]
    done = subprocess.run(
        command, env={**os.environ, "TESTBED_CACHE": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr[:27]) == (1, "error: nosuch has no lock; ")


def test_package_data_is_kept_a_line_each(tmp_path: Path) -> None:
    packages = [Package(name, "1", "0" * 64, 1) for name in ("aa", "bb", "cc")]
    locked.Lock(SUITE, ["aa"], "2026-11-22", packages, NAME).write(tmp_path / "lock")
    text = (tmp_path / "lock").read_text()
    assert len(text.splitlines()) == 10
    assert [package["name"] for package in json.loads(text)["packages"]] == ["aa", "bb", "cc"]


def test_each_cargo_lock_has_a_line_for_each_package() -> None:
    assert cargo_lock.known()
    for file in cargo_lock.known():
        assert file.read_text() == cargo_lock.by_line(file.read_text()), f"python -m tests.tools.cargo_lock {file}"


OF_NPM = {"version": "1.0.0", "integrity": "sha512-AAAA"}


def test_a_lock_of_npm_gives_what_an_implementation_fetches() -> None:
    lock = {
        "packages": {
            "": {"name": "mine"},
            "node_modules/b": OF_NPM,
            "node_modules/@s/a": OF_NPM,
            "node_modules/@s/a/node_modules/b": OF_NPM,
            "node_modules/tests": OF_NPM | {"dev": True},
        }
    }
    listed = npm_lock.packages(lock)
    assert [package.name for package in listed] == ["@s/a", "b"]
    assert npm_lock.entry(listed[0], "0" * 64).startswith(
        '  - registry: npm\n    package: "@s/a"\n    version: 1.0.0\n'
    )


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"node_modules/a/node_modules/b": OF_NPM | {"version": "2.0.0"}}, "b: found the versions 1.0.0 and 2.0.0"),
        ({"node_modules/c": {"version": "1.0.0", "resolved": "git+ssh://elsewhere"}}, "c: found no SHA-512"),
    ],
)
def test_what_fetch_cannot_say_of_a_lock_of_npm_is_refused(places: dict[str, dict[str, str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        npm_lock.packages({"packages": {"node_modules/b": OF_NPM} | places})


def test_a_lock_of_an_old_npm_is_refused() -> None:
    with pytest.raises(ValueError, match="allowed: a lock file of npm 7"):
        npm_lock.packages({"dependencies": {}})
