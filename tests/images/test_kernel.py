# SPDX-License-Identifier: MIT
"""Which source becomes the guest kernel, and whether it took the configuration asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from images.debian import Package
from images.errors import ImageError
from images.kernel.build import CONFIG, DEBUG_CONFIG, not_set, settings
from images.kernel.sources import Pins, choose, version

NEW = Package("linux-source-7.3", "7.3.4-1~bpo13+1", "aa", 1)
OLD = Package("linux-source-6.12", "6.12.107-1", "bb", 1)
UNPINNED = Package("linux-source-7.4", "7.4.1-1~bpo13+1", "cc", 1)
TOO_NEW = Package("linux-source-8.0", "8.0.1-1", "dd", 1)
TOO_OLD = Package("linux-source-6.1", "6.1.192-2", "ee", 1)
PINS = Pins((NEW, OLD), ("trixie-backports", "trixie"), "6.12", "8")


def offline() -> Sequence[Package]:
    raise AssertionError("the network was asked")


def test_what_is_cached_needs_no_network() -> None:
    assert choose(PINS, [NEW, OLD], offline) == (NEW, None)
    assert choose(PINS, [OLD], offline) == (OLD, None)


def test_a_cached_unpinned_source_is_used_with_a_warning() -> None:
    package, warning = choose(PINS, [UNPINNED], offline)
    assert package == UNPINNED
    assert warning
    assert "not a pinned version" in warning


def test_the_best_pinned_source_that_is_offered_is_taken() -> None:
    assert choose(PINS, [], lambda: [UNPINNED, OLD, NEW]) == (NEW, None)
    assert choose(PINS, [], lambda: [UNPINNED, OLD]) == (OLD, None)


def test_another_file_under_a_pinned_version_is_not_the_pinned_one() -> None:
    other = replace(NEW, sha256="ff")
    package, warning = choose(PINS, [], lambda: [other])
    assert package == other
    assert warning


def test_without_pinned_ones_the_newest_in_the_tested_range_is_taken_with_a_warning() -> None:
    package, warning = choose(PINS, [], lambda: [replace(OLD, sha256="x"), TOO_NEW, UNPINNED, TOO_OLD])
    assert package == UNPINNED
    assert warning
    assert "7.4.1" in warning


def test_without_any_in_the_tested_range_the_sentence_says_what_was_looked_for() -> None:
    with pytest.raises(ImageError, match=r"no linux-source-\* from 6.12 up to .* 8: set DEBIAN_MIRROR"):
        choose(PINS, [], lambda: [TOO_NEW, TOO_OLD])


def test_versions_compare_as_numbers() -> None:
    assert version("6.12.107-1") > version("6.12.94-1") > version("6.9.1-1")
    assert version("7.3.4-1~bpo13+1") == (7, 3, 4)
    assert version("8.0~rc1-1") == (8, 0)
    assert version("none") == ()


def test_the_list_of_sources_is_well_formed() -> None:
    pins = Pins.read()
    assert pins.newest(pins.candidates) == pins.candidates[0]
    assert len({candidate.sha256 for candidate in pins.candidates}) == len(pins.candidates)
    for candidate in pins.candidates:
        assert len(candidate.sha256) == 64
        assert version(pins.lowest) <= version(candidate.version) < version(pins.below)


def test_a_setting_the_kernel_dropped_is_named() -> None:
    wanted = 'CONFIG_NET=y\n# CONFIG_OLD=y\nCONFIG_VETH=y\nCONFIG_HZ=100\nCONFIG_HZ=1000\nCONFIG_NAME="a"\n'
    actual = 'CONFIG_NET=y\n# CONFIG_VETH is not set\nCONFIG_HZ=1000\nCONFIG_NAME="b"\nCONFIG_EXTRA=y\n'
    assert not_set(wanted, actual) == ["CONFIG_VETH=y", 'CONFIG_NAME="a"']


def test_options_of_some_versions_only_may_be_missing() -> None:
    assert not_set("CONFIG_PROC_SYSCTL=y\n", "CONFIG_NET=y\n") == []


def test_the_debug_kernel_adds_to_the_plain_one() -> None:
    plain, debug = settings(CONFIG.read_text()), settings(DEBUG_CONFIG.read_text())
    assert debug["CONFIG_KASAN"] == "y"
    assert not plain.keys() & debug.keys()
