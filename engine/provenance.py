"""What made a run, as far as it is not in the scenario."""

import platform
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from typing import Any

from engine import sources
from engine.images import PROJECT, Images, Program


@cache
def commit() -> str:
    """The checkout's commit, with ``-dirty`` if files differ from it; ``unknown`` outside a checkout or without git."""
    if shutil.which("git") is None:
        return "unknown"
    words = ["git", "-C", str(PROJECT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    described = subprocess.run(words, capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"


@cache
def code(backend: str) -> str:
    """Digest of the sources that carry out a run on a backend; unlike the commit it leaves out all others."""
    return sources.runs(backend)


def of(images: Images, programs: Mapping[str, Program], arguments: list[str]) -> dict[str, Any]:
    """Provenance for run.json; holds no path of this host."""
    return {
        "commit": commit(),
        "code": code("virtual"),
        **images.provenance,
        **{f"program:{name}": program.provenance for name, program in programs.items()},
        "boot_arguments": " ".join(arguments),
        "host": {"machine": platform.machine(), "python": platform.python_version()},
    }
