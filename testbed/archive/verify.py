"""Verifies an archive: its files are what their sums say, and its runs, metrics and verdicts come out again.

A line says "identical" only of what was computed here, from bytes that were made or compared here.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common import sums
from common.counts import plural
from engine import images
from engine.errors import EngineError
from engine.provenance import told
from engine.repetition import differences
from scenarios.run_files import OF_RUN
from testbed.archive.contents import ArchivedRun, Contents
from testbed.archive.crate import RUNS, Crate, listed, opened
from testbed.archive.recompute import recompute, write_tables
from testbed.archive.repeat import repeat
from testbed.crates import SIGNATURE
from testbed.signatures import signer


@dataclass(frozen=True)
class Finding:
    """A line of what verifying found out."""

    text: str
    differs: bool = False


def verify(
    name: Path, chosen: Sequence[str] = (), everything: bool = False, signers: Path | None = None
) -> Iterator[Finding]:
    """Check the sums and the signature, repeat runs, and compute metrics and verdicts anew.

    Runs are those that begin with a `chosen` name, all, or the first of each experiment. `signers` are those whose
    signature counts.

    Raises:
        EngineError: the archive is damaged or incomplete, is not signed by one of them, lacks a chosen run, or has a
            scenario that means something else today.
    """
    with opened(name) as crate, tempfile.TemporaryDirectory(prefix="testbed-verify-") as place:
        yield Finding(f"{name}: {plural(len(crate.sums), 'file')}, each with its SHA-256; {_signed(crate, signers)}")
        archived = Contents(crate)
        archived.check_complete()
        _check_images(name)
        yield from map(Finding, _made_with(archived))
        runs = Path(place, RUNS)
        repeated, read = set[str](), set[str]()
        for run_name in _chosen(archived, chosen, everything):
            repetition = repeat(archived.run(run_name), runs)
            write_tables(runs / run_name, archived)
            repeated.add(run_name)
            yield Finding(str(repetition), bool(repetition.different))
        for run_name in archived.run_names:
            wrong = _captured(archived.run(run_name), crate)
            if wrong:
                yield Finding(f"{run_name}: DIFFERS in {listed(wrong)}, which it did not record", differs=True)
            elif wrong is not None and run_name not in repeated:
                shutil.copytree(crate.folder / RUNS / run_name, runs / run_name)
                sums.write(runs / run_name, sums.below(runs / run_name))  # each is the archive's
                write_tables(runs / run_name, archived)
                read.add(run_name)
        yield from _experiments(archived, runs, repeated, read)
        yield Finding(f"{name}: not computed again: figures and the report")


def _signed(crate: Crate, signers: Path | None) -> str:
    if signers is not None:
        return f"signed by {signer(crate.folder, signers)}"
    return "its signature was not checked (--signer)" if (crate.folder / SIGNATURE).exists() else "not signed"


def _check_images(name: Path) -> None:
    try:
        images.load()
    except EngineError as error:
        packed = f"those that {name} was made with, if they were packed: `python -m images unpack FILE`"
        raise EngineError(f"{error}; or take {packed}") from None


def _made_with(archived: Contents) -> Iterator[str]:
    """Say what the archive says of what its runs were made with, each different part once."""
    made: dict[str, set[str]] = {}
    for name in archived.run_names:
        for part, value in archived.run(name).description["provenance"].items():
            made.setdefault(part, set()).add(told(value))
    for part, values in made.items():
        yield f"made with {part}: {listed(values)}"


def _chosen(archived: Contents, chosen: Sequence[str], everything: bool) -> list[str]:
    names = archived.run_names
    for prefix in chosen:
        if not any(_begins(name, prefix) for name in names):
            few = ", ".join(names[:3])
            raise EngineError(f"{archived.crate.name}: no run {prefix}; it has {len(names)}, such as {few}")
    if everything or chosen:
        return [name for name in names if everything or any(_begins(name, prefix) for prefix in chosen)]
    first = {name.split("/")[1]: name for name in reversed(names)}
    return sorted(first.values())


def _begins(name: str, chosen: str) -> bool:
    parts = chosen.rstrip("/").split("/")
    return name.split("/")[: len(parts)] == parts


def _captured(run: ArchivedRun, crate: Crate) -> list[str] | None:
    """Name the archived captures and traces of a run that are not those that it recorded; None if there are none."""
    place = f"{RUNS / run.name}/"
    files = {name.removeprefix(place): digest for name, digest in crate.sums.items() if name.startswith(place)}
    captures = {name: digest for name, digest in files.items() if name not in OF_RUN}
    return differences(captures, run.digests) if captures else None


def _experiments(archived: Contents, runs: Path, repeated: set[str], read: set[str]) -> Iterator[Finding]:
    for experiment in archived.experiments:
        own = archived.planned[experiment]["runs_of"]
        if any(name.split("/")[1] == own for name in repeated | read):
            check = recompute(archived, experiment, runs, repeated, read)
            yield Finding(str(check), bool(check.different))
        else:
            yield Finding(f"{experiment}: none of its runs was repeated: not checked")
