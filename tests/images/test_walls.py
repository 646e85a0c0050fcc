# SPDX-License-Identifier: MIT
"""A program's `build` can use what was fetched for it, but nothing of the host or the network."""

from __future__ import annotations

import json
import os
import socket
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from images import programs, walls
from images.cache import Store
from images.errors import ImageError
from scenarios import implementations
from tests.images.building import build_root, store_with_build_root

ABOUT = """\
title: trial
kind: program
roles: [sender]
transport: udp
licence: MIT
source: here
version_command: [x]
"""
Describe = Callable[..., Path]


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Describe:
    """Makes the only implementation there is, `trial`, with this `build`; returns the files it has in the end."""
    home = tmp_path / "implementations" / "trial"
    home.mkdir(parents=True)
    monkeypatch.setattr(implementations, "IMPLEMENTATIONS", home.parent)
    (home / "endpoint").touch(mode=0o755)
    store = store_with_build_root(tmp_path / "store")

    def describe(build: str, more: str = "", name: str = "trial") -> Path:
        (home / "implementation.yaml").write_text(ABOUT + more)
        (home / "build").write_text(f"#!/bin/sh\nset -eu\n{build}\n")
        (home / "build").chmod(0o755)
        return Path(store.root / json.loads(programs.build(store, print, name).read_text())["files"])

    return describe


def test_a_build_makes_files_with_the_compiler_of_the_build_root(described: Describe) -> None:
    files = described('gcc --version >"$OUT/version"; . /etc/os-release; echo "$VERSION_CODENAME" >"$OUT/release"')
    assert "14." in (files / "version").read_text()
    assert (files / "release").read_text() == "trixie\n"
    assert sorted(path.name for path in files.iterdir()) == ["build", "endpoint", "release", "version"]


def test_a_build_gets_the_version_that_it_makes(described: Describe) -> None:
    """Each version of a list has files of its own."""
    build, listed = 'echo "${VERSION-none}" >"$OUT/version"', "versions: {one: {}, two: {}}\n"
    made = [described(build, listed, name) for name in ("trial@one", "trial@two", "trial")]
    assert [(files / "version").read_text() for files in made] == ["one\n", "two\n", "none\n"]


def test_a_build_sees_no_file_of_the_host_and_changes_none(described: Describe, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    seen = f"""
for path in {secret} "$HOME/../{secret}" /work /root/.cargo /proc/1/root{secret}; do
	if [ -e "$path" ]; then echo "$path" >>"$OUT/seen"; fi
done
for path in /usr/bin/gcc /usr/bin /etc; do
	if (echo evil >>"$path/x" || echo evil >>"$path") 2>/dev/null; then echo "$path" >>"$OUT/seen"; fi
done
env >"$OUT/environment"
ps=$(ls -d /proc/[0-9]* | wc -l)
[ "$ps" -lt 10 ]
"""
    files = described(seen)
    assert not (files / "seen").exists()
    assert not {"TESTBED_CACHE", "SSH_AUTH_SOCK"} & {
        line.partition("=")[0] for line in (files / "environment").read_text().splitlines()
    }


def test_a_build_reaches_no_network(described: Describe) -> None:
    """Not even the host's own: something listens there, which the same words reach from outside."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"if bash -c 'echo >/dev/tcp/127.0.0.1/{port}'; then echo reached >>\"$OUT/reached\"; fi"
        assert os.system(f"bash -c 'echo >/dev/tcp/127.0.0.1/{port}'") == 0  # noqa: S605
        files = described(f'{connect}\ngrep -c : /proc/net/dev >"$OUT/interfaces"')
    assert not (files / "reached").exists()
    assert (files / "interfaces").read_text() == "1\n", "lo alone"


def test_a_folder_has_no_file_of_the_users(described: Describe, tmp_path: Path) -> None:
    """A link to one would be copied into what the guest sees, and from there into results."""
    (tmp_path / "secret").write_text("secret")
    link = tmp_path / "implementations" / "trial" / "link"
    for target in (tmp_path / "secret", "/dev/../etc/passwd"):
        link.symlink_to(target)
        with pytest.raises(ImageError, match=r"trial/link is a link to .*; allowed: a file of an implementation"):
            described("true")
        link.unlink()
    (link.parent / "other").touch(mode=0o6755)
    (link.parent / "other").chmod(0o6755)
    link.symlink_to("other")
    assert [stat.S_IMODE((described("true") / name).stat().st_mode) for name in ("link", "other")] == [0o755, 0o755]


def test_what_a_build_needs_beyond_compilers_is_locked(described: Describe) -> None:
    with pytest.raises(ImageError, match=r"trial/build.lock does not exist: `python -m images lock trial` writes it"):
        described("true", "build_packages: [cargo]\n")


@pytest.mark.parametrize("lock", ["Cargo.lock", "go.sum"])
def test_a_lock_file_that_is_not_there_is_named(described: Describe, lock: str) -> None:
    with pytest.raises(
        ImageError, match=f"trial/{lock} does not exist, and .*implementation.yaml fetches what it names"
    ):
        described("true", f"fetch:\n  - lock: {lock}\n")


def test_without_walls_no_program_is_built(described: Describe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(walls.UNCONFINED, "1")
    with pytest.raises(ImageError, match="trial: `build` of a program never runs without walls"):
        described("true")


def test_after_a_mistake_a_build_takes_up_what_was_compiled_until_it_succeeds(
    described: Describe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    compiles = 'mkdir -p target "$HOME/.cache" other; ls -A target .cache other >"$OUT/found"; touch'
    with pytest.raises(ImageError, match="Building trial failed"):
        described(f"{compiles} target/crate .cache/package other/thing; exit 1")
    assert (
        described(f"{compiles} target/more") / "found"
    ).read_text() == ".cache:\npackage\n\nother:\n\ntarget:\ncrate\n"
    assert (described(f"{compiles} target/again") / "found").read_text() == ".cache:\n\nother:\n\ntarget:\n"


FIND = 'ls target 2>/dev/null >"$OUT/found" || true; mkdir -p target; touch target/crate'


def test_in_a_ci_service_nothing_compiled_is_taken_up(described: Describe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(ImageError, match="Building trial failed"):
        described(f"{FIND}; exit 1")
    monkeypatch.setenv("CI", "true")
    assert (described(FIND) / "found").read_text() == ""


def test_a_strangers_commit_takes_up_nothing(
    described: Describe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(ImageError, match="Building trial failed"):
        described(f"{FIND}; exit 1")
    given = tmp_path / "store" / "given"
    (tmp_path / "implementations").rename(given)  # as a commit or an archive is unpacked
    monkeypatch.setattr(implementations, "IMPLEMENTATIONS", given)
    (given / "trial/build").write_text(f"#!/bin/sh\n{FIND}\n")
    store = Store(tmp_path / "store", print)
    built = json.loads(programs.build(store, print, "trial").read_text())
    assert (store.root / built["files"] / "found").read_text() == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_where_namespaces_are_forbidden_root_builds_the_same_with_chroot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source.c"
    source.write_text("#include <assert.h>\nint main(int count, char **words) { assert(words); return count; }\n")
    walled = _compiled(source, tmp_path / "one")
    monkeypatch.setenv(walls.UNCONFINED, "1")
    assert _compiled(source, tmp_path / "two") == walled
    assert [path.name for path in (tmp_path / "two").iterdir()] == ["program"]
    assert {path.name for path in tmp_path.iterdir()} == {"log", "one", "source.c", "two"}


def _compiled(source: Path, work: Path) -> bytes:
    work.mkdir()
    command = ["gcc", "-static", "-o", "program", "/seen/source.c"]
    build_root().run(command, work.parent / "log", "Compiling", work=work, see={"/seen/source.c": source})
    return (work / "program").read_bytes()


# it stops by itself at about 1,000: as root, the kernel bounds no processes
FORK_BOMB = "b() { if [ $1 -gt 0 ]; then b $(($1 - 1)) & b $(($1 - 1)) & fi; sleep 30; }; b 8"


@pytest.mark.parametrize(
    ("build", "bound", "sentence"),
    [
        (
            FORK_BOMB,
            {"processes": 200},
            r"it had more than 200 processes, most of them `(build|sleep)`; allowed are 200",
        ),
        ("while :; do :; done", {"time_s": 2}, r"after [23] s `build` still ran; allowed are 2 s"),
        ("sleep 60", {"time_s": 2}, r"after [23] s `\w+` still ran; allowed are 2 s"),
        (
            "for n in $(seq 99); do head -c 9M /dev/zero >$OUT/big$n; sleep 0.1; done",
            {"disk_bytes": 64 << 20},
            r"it took \d+ MiB of disk, most of it `.out/big\d+`; allowed are 64 MiB",
        ),
        ("head -c 99M /dev/zero >$OUT/big", {"disk_bytes": 64 << 20}, "File size limit exceeded|File too large"),
        (
            "head -c 300M /dev/zero | tail -c 300M | sleep 60",
            {"memory_bytes": 200 << 20},
            r"it took \d+ MiB of memory, most of it `tail`; allowed are 200 MiB",
        ),
    ],
    ids=["fork bomb", "endless loop", "waiting without end", "disk filler", "large file", "memory"],
)
def test_a_build_without_bounds_is_ended(
    described: Describe, monkeypatch: pytest.MonkeyPatch, build: str, bound: dict[str, int], sentence: str
) -> None:
    monkeypatch.setattr(walls, "BOUNDS", replace(walls.BOUNDS, **bound))
    with pytest.raises(ImageError, match=rf"(?s)^Building trial failed.*({sentence})$"):
        described(build)
