"""Writes a study that a command makes of its arguments, and carries out its runs."""

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from common.locks import held
from engine.errors import EngineError
from scenarios.resolve import expand
from testbed.need import need, planned

# in a folder's name: braces are wildcards to Snakemake, surrogates stand for bytes that are not UTF-8
_REFUSED: Final = re.compile("[{}\ud800-\udfff]")
_LONGEST_NAME_BYTES: Final = 255


def folder_of(into: Path, name: str) -> Path:
    """Return the results folder of what a command was asked for.

    Raises:
        EngineError: no folder can have this name, or Snakemake cannot work in it.
    """
    if _REFUSED.search(str(into.absolute())):
        raise EngineError(f"--into: found {str(into.absolute())!r}; allowed: UTF-8 text without {{ and }}")
    if len(name) > _LONGEST_NAME_BYTES:
        raise EngineError(
            f"the results folder's name: found {len(name)} characters of names; allowed: {_LONGEST_NAME_BYTES}"
        )
    return into / name


def write(folder: Path, study: str, texts: Mapping[str, str], kept: Collection[str] = ()) -> None:
    """Write the scenarios of a study, by their files' names. An unchanged file keeps its time, so its runs are kept.

    Files of other names are removed, but for those `kept`.

    Raises:
        ScenarioError: a scenario cannot be carried out with what was asked for.
    """
    place = folder / "studies" / study
    place.mkdir(parents=True, exist_ok=True)
    for file in place.glob("*.yaml"):
        if file.name not in {*texts, *kept}:
            file.unlink()
    for name, text in texts.items():
        file = place / name
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
        expand(file, "complete")


def carry_out(folder: Path, kept: Collection[str] = ()) -> int:
    """Carry out all runs of a folder's study that are due; see `testbed.need`. Those of the files `kept` stay."""
    wanted = planned(sorted(folder.absolute().glob("studies/*/*.yaml")))
    due = [one for one in wanted if one.cell.scenario.name not in kept]
    return need(folder, due, [one for one in wanted if one.cell.scenario.name in kept])


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder from before its study is written until its runs are judged; wait for another command that does."""
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder / ".lock", f"is at work in {folder}", partial(print, file=sys.stderr, flush=True)):
        yield
