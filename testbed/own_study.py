"""Writes a study that a command makes of its arguments, and has a pipeline carry out its runs."""

import ctypes
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from engine.errors import EngineError
from scenarios.resolve import expand

ROOT: Final = Path(__file__).parents[1]
PIPELINE: Final = Path(__file__).with_name("pipeline.smk")
# in a folder's name: braces are wildcards to Snakemake, surrogates stand for bytes that are not UTF-8
_REFUSED: Final = re.compile("[{}\ud800-\udfff]")
_LONGEST_NAME_BYTES: Final = 255
_PR_SET_PDEATHSIG: Final = 1  # of linux/prctl.h


def folder_of(into: Path, name: str) -> Path:
    """Return the results folder of what a command was asked for.

    Raises:
        EngineError: no folder can have this name, or Snakemake cannot work in it.
    """
    if _REFUSED.search(str(into.absolute())):
        raise EngineError(f"--into: found {str(into.absolute())!r}; allowed: UTF-8 text without {{ and }}")
    if len(name) > _LONGEST_NAME_BYTES:
        raise EngineError(
            f"found names of {len(name)} characters together, of which the results folder's name is made; "
            f"allowed: {_LONGEST_NAME_BYTES}"
        )
    return into / name


def write(folder: Path, study: str, texts: Mapping[str, str]) -> None:
    """Write the scenarios of a study, by their files' names. An unchanged file keeps its time, so its runs are kept.

    Raises:
        ScenarioError: a scenario cannot be carried out with what was asked for.
    """
    place = folder / "studies" / study
    place.mkdir(parents=True, exist_ok=True)
    for file in place.glob("*.yaml"):
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        file = place / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        expand(file, "full")


def carry_out(folder: Path) -> int:
    """Return the exit status of the pipeline. If interrupted, end it with its jobs and their guests."""
    command = _pipeline(folder)
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True, preexec_fn=_end_with_parent) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            with suppress(ProcessLookupError):  # it has just ended
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise


def _end_with_parent() -> None:
    """Let this process be killed when its parent is, which can tell nobody."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _pipeline(folder: Path) -> list[str]:
    """Return the call of Snakemake, for the project's folder."""
    folder = folder.absolute()
    place = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    # Snakemake reads the value as YAML, which has JSON's quoted texts; it strips quotes unless blanks are around them
    order = f"folder= {json.dumps(str(place), ensure_ascii=False)} "
    return [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(PIPELINE), "--cores", "all", "--config", order]
