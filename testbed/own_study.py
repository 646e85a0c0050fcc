"""Writes a study that a command makes of its arguments, and hands it to a pipeline of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from engine.errors import EngineError
from scenarios.resolve import expand

ROOT = Path(__file__).parents[1]
# in a folder's name: braces are wildcards to Snakemake, surrogates stand for bytes that are not UTF-8
_REFUSED = re.compile("[{}\ud800-\udfff]")
_LONGEST_NAME_BYTES = 255


def folder_of(into: Path, name: str) -> Path:
    """Return the results folder of one order, relative to the project if it lies in it.

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
    folder = into.absolute() / name
    return folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder


def write(study: Path, texts: dict[Path, str]) -> None:
    """Write the study. An unchanged file keeps its time, so its runs are kept.

    Raises:
        ScenarioError: a scenario cannot be carried out with what was asked for.
    """
    study.mkdir(parents=True, exist_ok=True)
    for file in study.glob("*.yaml"):
        if file not in texts:
            file.unlink()
    for file, text in texts.items():
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        expand(file, "full")


def _pipeline(snakefile: Path, name: str, folder: Path) -> list[str]:
    """Return the call of Snakemake, for the project's folder; its configuration `name` is the folder."""
    # Snakemake reads the value as YAML, which has JSON's quoted texts; it strips quotes unless blanks are around them
    order = f"{name}= {json.dumps(str(folder), ensure_ascii=False)} "
    return [sys.executable, "-P", "-m", "snakemake", "--snakefile", str(snakefile), "--cores", "all", "--config", order]


def carry_out(snakefile: Path, name: str, folder: Path) -> int:
    """Return the exit status of the pipeline. If interrupted, end it with its jobs and their guests."""
    with subprocess.Popen(_pipeline(snakefile, name, folder), cwd=ROOT, start_new_session=True) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            raise


def become_pipeline(snakefile: Path, name: str, folder: Path) -> NoReturn:
    """Go on as Snakemake."""
    command = _pipeline(snakefile, name, folder)
    os.chdir(ROOT)
    os.execv(command[0], command)  # noqa: S606 (signals and the exit status are the pipeline's)
