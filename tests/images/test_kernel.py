# SPDX-License-Identifier: MIT
"""Which source becomes the guest kernel, and whether it took the configuration asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from images import index
from images.cache import default_root
from images.debian import Package
from images.kernel import progress
from images.kernel.build import CONFIG, DEBUG_CONFIG, LAB_CONFIG, not_set, settings
from images.kernel.sources import newest, version

NEW = Package("linux-source-7.3", "7.3.4-1~bpo13+1", "a" * 64, 1)
OLD = Package("linux-source-6.12", "6.12.107-1", "b" * 64, 1)
TOO_NEW = Package("linux-source-8.0", "8.0.1-1", "d" * 64, 1)
TOO_OLD = Package("linux-source-6.1", "6.1.192-2", "e" * 64, 1)


def test_the_newest_source_in_the_tested_range_is_locked() -> None:
    assert newest([OLD, TOO_NEW, NEW, TOO_OLD]) == NEW
    assert newest([TOO_NEW, TOO_OLD]) is None


def test_versions_compare_as_numbers() -> None:
    assert version("6.12.107-1") > version("6.12.94-1") > version("6.9.1-1")
    assert version("7.3.4-1~bpo13+1") == (7, 3, 4)
    assert version("8.0~rc1-1") == (8, 0)
    assert version("none") == ()


def test_a_setting_the_kernel_dropped_is_named() -> None:
    wanted = 'CONFIG_NET=y\n# CONFIG_OLD=y\nCONFIG_VETH=y\nCONFIG_HZ=100\nCONFIG_HZ=1000\nCONFIG_NAME="a"\n'
    actual = 'CONFIG_NET=y\n# CONFIG_VETH is not set\nCONFIG_HZ=1000\nCONFIG_NAME="b"\nCONFIG_EXTRA=y\n'
    assert not_set(wanted, actual) == ["CONFIG_VETH=y", 'CONFIG_NAME="a"']


def test_options_of_some_versions_only_may_be_missing() -> None:
    assert not_set("CONFIG_PROC_SYSCTL=y\n", "CONFIG_NET=y\n") == []


@pytest.mark.parametrize("more", [DEBUG_CONFIG, LAB_CONFIG])
def test_other_kernels_add_to_the_plain_one(more: Path) -> None:
    added = {name for name, value in settings(more.read_text()).items() if value != "n"}
    assert not settings(CONFIG.read_text()).keys() & added


def test_how_far_a_kernel_is_is_told_in_files_and_right_from_the_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    said: list[str] = []
    tell = progress.telling(index.BOOT, "unpacked\n" + progress.COMPILED * 83, said.append)
    tell("  HOSTCC x" + progress.COMPILED * 100, "cc1", 40)  # 0.4 s each: a slow machine
    count = progress.FILES[index.BOOT]
    tell(progress.COMPILED * (count - 83), "ld", 200)
    assert said == [
        f"compiling, 83 of {count} files done, about 3 min left",
        f"compiling, 183 of {count} files done, about 4 min left",
        "linking",
    ]


@pytest.mark.parametrize("kind", progress.FILES)
def test_as_many_files_are_compiled_as_is_told(kind: str) -> None:
    """In the log of the build that this checkout boots."""
    listed = index.path(default_root(), kind)
    if not listed.exists():
        pytest.skip(f"no {kind} kernel has been built here from these sources")
    kernel = default_root() / index.read(listed)["kernel"]["path"]
    compiled = (kernel.parent / "build.log").read_text(errors="replace").count(progress.COMPILED)
    assert compiled == pytest.approx(progress.FILES[kind], rel=0.02)
