"""The modules and the kernel's patches follow the kernel's coding style, as its own checker sees it."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine import images
from engine.errors import EngineError
from images import index, module
from images.kernel import build

pytestmark = pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed (perl)")

STRICT = ("--strict", "--max-line-length=80")
PACKAGES = ("tcp_ledbat", "tcp_rledbat")
NOT_IN_OTHERS = ("CONST_STRUCT",)  # their tables of sysctls lie in what a namespace has, and are written there
NOT_IN_PATCHES = (
    "MISSING_SIGN_OFF",  # whoever sends a patch signs it
    "FILE_PATH_CHANGES",  # UML's new files lie in folders that MAINTAINERS has
    "AVOID_EXTERNS",  # of symbols in assembly, and of what files for the host and for the guest share
    "PREFER_DEFINED_ATTRIBUTE_MACRO",  # files for the host do not have it
    "PRINTK_WITHOUT_KERN_LEVEL",  # UM_KERN_ERR is one
    "AVOID_BUG",  # as the same function has it elsewhere
    "EMBEDDED_FILENAME",  # the help of a boot option names the file that describes it
)


def complaints(files: Sequence[Path], ignored: Sequence[str], *options: str) -> str:
    """Return what checkpatch says about the files; empty if nothing."""
    try:
        kernel = images.load(index.BOOT).kernel
    except EngineError as error:
        pytest.skip(str(error))
    checker = kernel.parent / "tree" / "scripts" / "checkpatch.pl"
    words = [str(checker), "--no-tree", "--terse", "--show-types", *options]
    words += [f"--ignore={','.join(ignored)}"] if ignored else []
    words += map(str, files)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


def test_checkpatch_has_nothing_to_say_about_modules() -> None:
    files = sorted(module.HERE.glob("*_*/*.[ch]"))
    packaged = [file for file in files if file.parent.name in PACKAGES]
    assert packaged
    assert not complaints(packaged, (), *STRICT, "--file")
    assert not complaints(files, NOT_IN_OTHERS, *STRICT, "--file")


def test_checkpatch_has_nothing_to_say_about_patches() -> None:
    assert not complaints(sorted(build.PATCHES.iterdir()), NOT_IN_PATCHES)
