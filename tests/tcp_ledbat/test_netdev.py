"""The series for netdev: applied to the locked kernel, compiled as a part of it, and its selftest in a guest."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import images
from images import index, module
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.kernel import build
from images.kernel.build import REPRODUCIBLE
from tests.tcp_ledbat.netdev import series
from tests.tcp_ledbat.test_style import NOT_IN_PATCHES, STRICT, complaints

HERE = Path(__file__).parent
SELFTEST = series.HERE / "tcp_ledbat.py"
TESTS = 12


@dataclass(frozen=True)
class Applied:
    """The locked kernel's source with the series, and the patches."""

    source: Path
    patches: list[Path]


@pytest.fixture(scope="module")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Applied:
    """What `git am` makes of the kernel's files, in its whole source."""
    folder = tmp_path_factory.mktemp("netdev")
    source, changed, again = (folder / name for name in ("source", "changed", "again"))
    source.mkdir()
    unread = [pattern for pattern in build.UNREAD if not pattern.startswith(("Documentation/", "tools/testing/"))]
    series.unpacked(Store(default_root()), source, "", without=unread)
    for tree in (changed, again):
        for path in series.CHANGED:
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / path, tree / path)
    patches = series.write(changed, folder / "series")
    series.repository(again)
    series.git(again, "am", "--quiet", *map(str, patches))
    shutil.rmtree(again / ".git")
    shutil.copytree(again, source, dirs_exist_ok=True)
    return Applied(source, patches)


def test_checkpatch_has_nothing_to_say(applied: Applied) -> None:
    assert len(applied.patches) == len(series.PATCHES)
    assert not complaints(applied.patches, NOT_IN_PATCHES, *STRICT)


def test_nothing_of_the_package_is_left(applied: Applied) -> None:
    text = (applied.source / series.SOURCE).read_text()
    assert not re.findall(r"LEDBAT_OUT_OF_TREE|LEDBAT_NO_|MODULE_VERSION|before Linux|settings\.h", text)
    entry = (applied.source / series.MAINTAINERS).read_text().partition("LEDBAT TCP CONGESTION CONTROL\n")[2]
    files = re.findall(r"^F:\t(.*)$", entry.partition("\n\n")[0], re.MULTILINE)
    assert set(files) == {series.PAGE, series.SOURCE, series.TEST}
    assert (applied.source / series.TEST).stat().st_mode & 0o111
    tests = str((applied.source / series.TESTS).parent)
    told = ["make", "--silent", "-C", tests, "--eval", "told: ; @echo $(TEST_PROGS)", "told"]
    assert "tcp_ledbat.py" in subprocess.check_output(told, text=True).split()


def test_it_compiles_as_a_part_of_the_kernel(applied: Applied) -> None:
    root = BuildRoot(Store(default_root()), print)
    (applied.source / "wanted").write_text(build.CONFIG.read_text() + "CONFIG_TCP_CONG_LEDBAT=y\n")
    make = f"make ARCH=um -j{len(os.sched_getaffinity(0))} {' '.join(build.ABSENT)}"
    steps = f"{make} allnoconfig && {make} KCFLAGS=-Werror net/ipv4/tcp_ledbat.o"
    environment = {**REPRODUCIBLE, "KCONFIG_ALLCONFIG": "wanted"}
    log = applied.source.parent / "log"
    root.run(["sh", "-euc", steps], log, "Compiling the series", work=applied.source, environment=environment)
    assert "CONFIG_TCP_CONG_LEDBAT=y" in (applied.source / ".config").read_text().splitlines()


def test_its_selftest_passes_in_a_guest(applied: Applied, in_guest: Callable[..., Path], tmp_path: Path) -> None:
    store = Store(default_root())
    root = BuildRoot(store, print)
    tree, work = tmp_path / "tree", tmp_path / "work"
    shutil.copytree(build.build(store, print, root).tree, tree, symlinks=True)
    shutil.copy(applied.source / series.INET_DIAG, tree / series.INET_DIAG)
    work.mkdir()
    shutil.copy(applied.source / series.SOURCE, work)
    (work / "Makefile").write_text("obj-m := tcp_ledbat.o\n")
    command = module.compiling("/seen/tree", "/build", "ARCH=um")
    root.run(command, tmp_path / "log", "Compiling", work=work, see={"/seen/tree": tree}, environment=REPRODUCIBLE)
    beside = (work / "tcp_ledbat.ko", SELFTEST)
    results = in_guest(images.load(index.BOOT), HERE / "selftest.py", *beside)
    said = (results / "logs" / "selftest.txt").read_text()
    assert said.splitlines()[0] == "TAP version 13"
    assert len(re.findall(r"^ok \d+ ", said, re.MULTILINE)) == TESTS, said
    assert f"\n1..{TESTS}\n" in said
    assert (results / "logs" / "status.txt").read_text() == "0"
