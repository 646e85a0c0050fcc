# SPDX-License-Identifier: MIT
"""Container images as roots: layers over layers, and damaged or malicious archives."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from images import container, programs, tars
from images.cache import Store
from images.errors import ImageError
from scenarios import implementations
from scenarios.errors import ScenarioError
from tests.images.saved import LAYOUTS, MTIME, configuration, docker, entry, folder, symlink, tar

LOWER = tar(
    folder("bin", mode=0o555),
    entry("bin/tool", b"old", mode=0o4755),
    symlink("lib", "usr/lib"),
    folder("usr/lib"),
    entry("etc/gone", b"x"),
    entry("etc/kept", b"kept", mode=0),
    entry("all/gone", b"x"),
    entry("was-a-folder/x", b"x"),
    entry("was-a-file", b"x"),
    entry("dev/null", kind=tarfile.CHRTYPE),
)
UPPER = tar(
    entry("all/new", b"new"),
    entry("all/.wh..wh..opq"),
    entry("etc/.wh.gone"),
    entry("bin/tool", b"new", mode=0o755),
    entry("bin/same", kind=tarfile.LNKTYPE, link="bin/tool"),
    entry("lib/library", b"library"),
    symlink("run", "/somewhere/else"),
    entry("was-a-folder", b"file"),
    folder("was-a-file"),
)
TREE = {
    "all/new": b"new",
    "bin/same": b"new",
    "bin/tool": b"new",
    "etc/kept": b"kept",
    "usr/lib/library": b"library",
    "was-a-folder": b"file",
}


def _files(root: Path) -> dict[str, bytes]:
    paths = [Path(parent, name) for parent, _, files in os.walk(root) for name in files]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths if not path.is_symlink()}


def _times(root: Path) -> dict[str, float]:
    return {str(path.relative_to(root)): path.lstat().st_mtime for path in (root, *root.rglob("*"))}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_layers_lie_over_one_another(tmp_path: Path, layout: str, pack: Callable[[bytes], bytes]) -> None:
    config = configuration([LOWER, UPPER], ["PATH=/bin", "OPTIONS=a=b"])
    LAYOUTS[layout](tmp_path / "image.tar", config, [pack(LOWER), pack(UPPER)])
    root = tmp_path / "root"
    image = container.unpack(tmp_path / "image.tar", root)
    assert image.id == hashlib.sha256(config).hexdigest()
    assert image.environment == {"PATH": "/bin", "OPTIONS": "a=b"}
    assert image.left_out == ["dev/null"]
    assert _files(root) == TREE
    assert (root / "was-a-file").is_dir()
    assert (str((root / "lib").readlink()), str((root / "run").readlink())) == ("usr/lib", "/somewhere/else")
    # what an unprivileged user can read and remove again; nothing with the rights of another
    assert [(root / name).stat().st_mode & 0o7777 for name in ("bin", "bin/tool", "etc/kept")] == [0o755, 0o755, 0o400]
    assert (root / "bin/same").stat().st_ino == (root / "bin/tool").stat().st_ino
    times = _times(root)
    assert times["bin"] == times["bin/tool"] == times["run"] == MTIME
    container.unpack(tmp_path / "image.tar", tmp_path / "again")
    assert _times(tmp_path / "again") == times


@pytest.mark.parametrize(
    "entries",
    [
        [entry("/outside")],
        [entry("../outside")],
        [entry("a/../../outside")],
        [symlink("way", "/"), entry("way/outside")],
        [symlink("way", ".."), entry("way/outside")],
        [symlink("a", "b"), symlink("b", ".."), entry("a/outside")],
        [entry("stolen", kind=tarfile.LNKTYPE, link="../secret")],
        [symlink("way", ".."), entry("stolen", kind=tarfile.LNKTYPE, link="way/secret")],
        [symlink("way", ".."), entry("way/.wh.secret")],
        [symlink("way", ".."), entry("way/.wh..wh..opq")],
        [entry("../.wh.secret")],
        [entry(".wh...")],
        [entry("a/.wh..")],
    ],
)
def test_nothing_lands_or_is_removed_outside(tmp_path: Path, entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "secret").write_text("secret")
    # links in a layer below, too
    layers = [tar(*entries[:-1]), tar(*entries)]
    docker(tmp_path / "image.tar", configuration(layers), layers)
    with pytest.raises(ImageError, match=r"leads out of the image|is no whiteout"):
        container.unpack(tmp_path / "image.tar", place / "root")
    assert sorted(path.name for path in place.iterdir()) == ["root", "secret"]
    assert (place / "secret").read_text() == "secret"
    assert not Path("/outside").exists()


def test_a_file_in_place_of_a_link_leaves_the_links_target_alone(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    layers = [tar(symlink("file", str(secret)), symlink("folder", str(tmp_path)))]
    layers.append(tar(entry("file", b"mine"), folder("folder", mode=0o777)))
    docker(tmp_path / "image.tar", configuration(layers), layers)
    before = tmp_path.stat().st_mode
    container.unpack(tmp_path / "image.tar", tmp_path / "root")
    assert secret.read_text() == "secret"
    assert tmp_path.stat().st_mode == before
    assert _files(tmp_path / "root") == {"file": b"mine"}


def test_what_is_no_image_is_told_in_a_sentence(tmp_path: Path) -> None:
    layer = tar(entry("file", b"x"))

    def told(*, config: bytes = configuration([layer]), layers: tuple[bytes, ...] = (layer,)) -> str:
        docker(tmp_path / "image.tar", config, layers)
        return refused()

    def refused() -> str:
        shutil.rmtree(tmp_path / "root", ignore_errors=True)
        with pytest.raises(ImageError) as caught:
            container.unpack(tmp_path / "image.tar", tmp_path / "root")
        return str(caught.value)

    assert told(layers=(tar(entry("file", b"y")),)) == "the layer 0/layer.tar is damaged"
    assert told(config=configuration([layer], architecture="arm64")) == "it is for linux/arm64, guests are linux/amd64"
    assert "shorter" in told(config=configuration([]))
    assert told(config=b"{}") == "this is not what `docker image save` writes: 'os'"
    assert "Extra data" in told(config=b"1 2")
    if sys.version_info < (3, 14):
        assert told(layers=(b"\x28\xb5\x2f\xfd",)) == "a layer is compressed with zstd, which needs Python 3.14"
    assert "end-of-stream" in told(layers=(gzip.compress(layer)[:-20],))
    (tmp_path / "image.tar").write_bytes(tar(entry("manifest.json", b"[{}, {}]")))
    assert refused() == "it holds 2 images; save one alone"
    (tmp_path / "image.tar").write_bytes(tar(entry("index.json", b'{"manifests": []}')))
    assert refused() == "it holds 0 images for linux/amd64; save one alone"
    (tmp_path / "image.tar").write_bytes(tar(entry("etc/passwd", b"x")))
    assert "'index.json' not found" in refused()
    (tmp_path / "image.tar").write_bytes(b"no archive")
    assert refused() == "it, or a layer of it, is no tar archive"


def _long_name(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, b"x" * (2 << 20), kind=tarfile.XHDTYPE)


@pytest.mark.parametrize(
    ("entries", "most_bytes", "most_members", "sentence"),
    [
        ([entry("file", bytes(1 << 20))], 1 << 20, 10, "unpacked it takes more than is allowed: 0 GiB"),
        ([entry(f"file{number}") for number in range(10)], 1 << 20, 9, "in 9 files and folders"),
        ([_long_name("x")], 1 << 30, 9, "found a name or header of 2097152 bytes; allowed: 1048576"),
    ],
)
@pytest.mark.parametrize("outside", [bytes, gzip.compress])
def test_a_small_archive_takes_neither_disk_nor_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    entries: list[tuple[tarfile.TarInfo, bytes]],
    most_bytes: int,
    most_members: int,
    sentence: str,
    outside: Callable[[bytes], bytes],
) -> None:
    monkeypatch.setattr(tars, "MOST_BYTES", most_bytes)
    monkeypatch.setattr(tars, "MOST_MEMBERS", most_members)
    layer = tar(*entries)
    docker(tmp_path / "image.tar", configuration([layer]), [gzip.compress(layer)])
    (tmp_path / "image.tar").write_bytes(outside((tmp_path / "image.tar").read_bytes()))
    with pytest.raises(ImageError, match=sentence):
        container.unpack(tmp_path / "image.tar", tmp_path / "root")


@pytest.fixture
def described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Gives the only implementation there is, `boxed`, a root; returns its folder."""
    home = tmp_path / "implementations" / "boxed"
    home.mkdir(parents=True)
    monkeypatch.setattr(implementations, "IMPLEMENTATIONS", home.parent)
    (home / "endpoint").touch(mode=0o755)
    about = "kind: program\nroles: [sender]\ntransport: udp\nlicence: MIT\nsource: here\nversion_command: [x]\n"

    def describe(root: str) -> Path:
        (home / "implementation.yaml").write_text(f"title: boxed\n{about}root: {root}\n")
        return home

    return describe


def _build(tmp_path: Path) -> tuple[dict[str, str], str]:
    said: list[str] = []
    index = programs.build(Store(tmp_path / "store"), said.append, "boxed")
    return json.loads(index.read_text()), "\n".join(said)


def test_an_archive_is_recorded_or_pinned(tmp_path: Path, described: Callable[[str], Path]) -> None:
    home = described("{archive: image.tar}")
    docker(home / "image.tar", config := configuration([LOWER]), [LOWER])
    digest = hashlib.sha256((home / "image.tar").read_bytes()).hexdigest()
    index, said = _build(tmp_path)
    assert digest in said
    assert index["archive_sha256"] == digest
    assert index["root_digest"] == hashlib.sha256(config).hexdigest()
    assert "left out are 1 devices or pipes, such as dev/null" in said
    assert [path.name for path in (tmp_path / "store" / index["files"]).iterdir()] == ["endpoint"]

    described(f"{{archive: image.tar, sha256: {digest}}}")
    assert _build(tmp_path) == (index, "")

    described(f"{{archive: image.tar, sha256: {'a' * 64}}}")
    with pytest.raises(ImageError, match=f"its SHA-256 is {digest}, boxed asks for aaaa"):
        _build(tmp_path)
    described("{archive: imaeg.tar}")
    with pytest.raises(ImageError, match=r"boxed: there is no archive .*/boxed/imaeg.tar"):
        _build(tmp_path)
    (home / "install").touch()
    described("{archive: image.tar}")
    with pytest.raises(ImageError, match="boxed: `install` is for a root from Debian"):
        _build(tmp_path)


@pytest.mark.parametrize(
    ("root", "sentence"),
    [
        ("{}", "root: found none; allowed: one of suite, archive, tag"),
        ("{suite: trixie, tag: x}", "root: found suite and tag; allowed: one of suite, archive, tag"),
        ("trixie", "root: found 'trixie'; allowed: fields below it"),
        ("{archive: x, sha256: abc}", "root.sha256: found 'abc'; allowed: a SHA-256 in hexadecimal"),
    ],
)
def test_a_root_is_of_one_kind(described: Callable[[str], Path], root: str, sentence: str) -> None:
    described(root)
    with pytest.raises(ScenarioError) as caught:
        implementations.refuse_wrong()
    assert sentence in str(caught.value)
    assert len(caught.value.problems) == 1


def test_without_docker_a_tag_is_told_about(
    tmp_path: Path, described: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    described("{tag: 'example/client:1'}")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImageError, match="its root is the Docker image example/client:1, but docker is not installed"):
        _build(tmp_path)


def _docker_works() -> bool:
    return bool(shutil.which("docker")) and not subprocess.run(["docker", "info"], capture_output=True).returncode


def test_an_image_of_the_local_docker(tmp_path: Path, described: Callable[[str], Path]) -> None:
    if not _docker_works():
        pytest.skip("no Docker daemon answers")
    tag = f"ledbat-testbed-trial:{os.getpid()}"
    described(f"{{tag: '{tag}'}}")
    with pytest.raises(ImageError, match=f"its root is the Docker image {tag}, but docker says: .*[Nn]o such image"):
        _build(tmp_path)
    try:
        change = "--change=ENV PATH=/client"
        subprocess.run(["docker", "import", change, "-", tag], input=LOWER, check=True, capture_output=True)
        index, _ = _build(tmp_path)
    finally:
        subprocess.run(["docker", "image", "rm", tag], capture_output=True, check=False)
    root = tmp_path / "store" / index["root"]
    assert (root / "bin/tool").read_bytes() == b"old"
    assert not (root.parent / "image.tar").exists()
    assert index["environment"]["PATH"] == "/client"  # type: ignore[index]
