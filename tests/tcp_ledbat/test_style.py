"""The sources of the modules follow the kernel's coding style, as its own checker sees it."""

import shutil
import subprocess

import pytest

from engine import images
from engine.errors import EngineError
from images import index, module

STRICT = ("--no-tree", "--strict", "--max-line-length=80", "--terse", "--show-types")
# The table of a namespace's sysctls is written when the namespace is made.
NOT_HERE = "--ignore=CONST_STRUCT"


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed (perl)")
def test_checkpatch_has_nothing_to_say() -> None:
    try:
        kernel = images.load(index.BOOT).kernel
    except EngineError as error:
        pytest.skip(str(error))
    checker = kernel.parent / "tree" / "scripts" / "checkpatch.pl"
    sources = sorted(module.HERE.glob("*_*/*.[ch]"))
    done = subprocess.run([checker, *STRICT, NOT_HERE, "--file", *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
