"""What the packages bring to a host: sources that say whose they are, examples, a manual, and tests of their own."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine import images
from images import index, module
from tests.tcp_ledbat.on_a_host import CONTROLS, NAMESPACES

LEDBAT = module.HERE / "tcp_ledbat"
PACKAGES = (LEDBAT, module.HERE / "tcp_rledbat")
SOURCES = ("*.[ch7]", "Kbuild", "Makefile", "dkms.conf", "examples/*.py")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_each_source_says_whose_it_is(package: Path) -> None:
    for file in (file for pattern in SOURCES for file in package.glob(pattern)):
        head = file.read_text()
        assert "SPDX-License-Identifier: GPL-2.0-only" in head, file
        assert "Copyright (C) 2026 The LEDBAT testbed developers" in head, file


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_a_module_is_built_with_its_kernels_compiler(package: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "include" / "config" / "auto.conf"
    configuration.parent.mkdir(parents=True)
    (tmp_path / "Makefile").write_text("modules:\n")
    for by, wanted in (("GCC", False), ("CLANG", True)):
        configuration.write_text(f"CONFIG_CC_IS_{by}=y\n")
        command = ["make", "--dry-run", "-C", str(package), f"KERNEL={tmp_path}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert (" LLVM=1 " in done.stdout) == wanted, done.stdout


@pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed (man-db)")
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_manual_is_well_formed(package: Path) -> None:
    command = ["man", "--warnings", "--local-file", str(package / f"{package.name}.7")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "BUGS" in done.stdout


@pytest.mark.skipif(
    not Path("/usr/share/dpkg/pkg-info.mk").exists(), reason="the package dpkg-dev is missing (dpkg-dev)"
)
def test_the_readme_of_the_package_has_no_dead_links(tmp_path: Path) -> None:
    shutil.copytree(LEDBAT, tmp_path, dirs_exist_ok=True)
    subprocess.run(["make", "-f", "debian/rules", "override_dh_auto_build"], cwd=tmp_path, check=True)
    text = (tmp_path / "debian" / "build" / "README.md").read_text()
    assert "## Parameters" in text
    assert not re.findall(r"\]\((?!https?:)[^)]*\)", text)
    for name in re.findall(r"`(examples/[^`]*)`", text):
        assert (LEDBAT / name).is_file(), name


def test_a_host_uses_the_package(in_guest: Callable[..., Path]) -> None:
    tests = [file for package in PACKAGES for file in package.glob("debian/tests/*.py")]
    beside = (LEDBAT / "examples" / "delays.py", *tests)
    results = in_guest(images.load(index.BOOT), Path(__file__).with_name("on_a_host.py"), *beside)
    outcome = json.loads((results / "logs" / "on_a_host.json").read_text())
    assert outcome["sent"] == [f"{control}: {1 << 20} of {1 << 20} bytes" for control in (*CONTROLS, "rledbat")]
    # a line for each flow with one of the controls, none for CUBIC's
    found = [re.fullmatch(r"\S+:\d+ \S+:\d+ (\w+) ([\d.]+) of ([\d.]+) ms, .*", line) for line in outcome["delays"]]
    assert sorted(match[1] for match in found if match) == sorted(2 * CONTROLS)
    assert [line for line, match in zip(outcome["delays"], found, strict=True) if match is None] == []
    assert sum(line.startswith("[::1]:") for line in outcome["delays"]) == 2
    queues_ms = [float(match[2]) for match in found if match]
    assert 0 < max(queues_ms) < 500
    assert {match[1]: match[3] for match in found if match} == {"ledbat": "100.0", "ledbatpp": "60.0"}
    assert outcome["without_rights"] == [*CONTROLS, "refused"]
    # tables of sysctls that nothing frees are some hundred bytes each
    assert sum(outcome["lost_kb"]) < NAMESPACES / 2
