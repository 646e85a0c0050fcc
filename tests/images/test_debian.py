# SPDX-License-Identifier: MIT
"""Where Debian packages come from: the host's own apt configuration in both its styles."""

from __future__ import annotations

from pathlib import Path

import pytest

from images import debian
from images.debian import mirrors
from images.errors import ImageError


@pytest.fixture(autouse=True)
def no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBIAN_MIRROR", raising=False)


def etc(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / "apt" / "sources.list.d"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return tmp_path


def test_one_line_style(tmp_path: Path) -> None:
    root = etc(tmp_path)
    (root / "apt/sources.list").write_text(
        "# deb http://commented.example/debian trixie main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://a.example/debian/ bookworm main contrib # a comment\n"
        "deb-src http://source.example/debian bookworm main\n"
        "deb http://security.example/debian-security bookworm-security main\n"
        "deb http://other.example/tool stable tool\n"
        "deb cdrom:[Debian]/ bookworm main\n"
        "  deb https://b.example/debian trixie-backports main\n"
    )
    assert mirrors(root) == ["http://a.example/debian", "https://b.example/debian"]


def test_deb822_style(tmp_path: Path) -> None:
    root = etc(
        tmp_path,
        debian_sources="""\
Types: deb deb-src
# a comment inside
URIs: http://a.example/debian
 http://b.example/debian/
Suites: trixie trixie-updates
Components: main
Signed-By: /k.gpg

Types: deb
URIs: http://security.example/debian-security
Suites: trixie-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: trixie
Components: main

Types: deb-src
URIs: http://source.example/debian
Suites: trixie
Components: main
""",
    )
    assert mirrors(root) == ["http://a.example/debian", "http://b.example/debian"]


def test_a_list_of_mirrors_in_a_file_is_followed(tmp_path: Path) -> None:
    """As Debian's cloud images have it."""
    listed = tmp_path / "debian.list"
    listed.write_text("# comment\nhttps://near.example/debian/\tpriority:1\nhttp://far.example/debian\n")
    lines = "".join(f"deb mirror+file:{place} trixie main\n" for place in (listed, f"//{listed}", "/no/such/file"))
    root = etc(tmp_path, debian_list=lines)
    assert mirrors(root) == ["https://near.example/debian", "http://far.example/debian"]


def test_files_apt_does_not_read_are_not_read(tmp_path: Path) -> None:
    root = etc(tmp_path, old_list_disabled="deb http://a.example/debian trixie main\n")
    with pytest.raises(ImageError, match="set DEBIAN_MIRROR"):
        mirrors(root)


def test_an_ubuntu_host_is_told_what_to_set(tmp_path: Path) -> None:
    root = etc(tmp_path, ubuntu_sources="Types: deb\nURIs: http://u.example/ubuntu\nSuites: noble\nComponents: main\n")
    with pytest.raises(ImageError, match="set DEBIAN_MIRROR"):
        mirrors(root)


def test_the_chosen_mirror_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = etc(tmp_path, a_list="deb http://a.example/debian trixie main\n")
    monkeypatch.setenv("DEBIAN_MIRROR", "http://chosen.example/debian/")
    assert mirrors(root) == ["http://chosen.example/debian"]


def test_sources_are_bound_to_debians_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBIAN_MIRROR", "http://m.example/debian")
    keyring = tmp_path / "keyring.gpg"
    monkeypatch.setattr(debian, "KEYRING", keyring)
    with pytest.raises(ImageError, match="install the package debian-archive-keyring"):
        debian.source_lines("trixie")
    keyring.touch()
    assert debian.source_lines("trixie") == f"deb [signed-by={keyring}] http://m.example/debian trixie main\n"
