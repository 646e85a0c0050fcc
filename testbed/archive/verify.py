"""Verifies an archive: its files are what their sums say, and its runs, metrics and verdicts come out again.

A line says "identical" only of what was computed here, from bytes that were made or compared here. The last lines
name what was compared with nothing: each file of an archive is one or the other.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.experiment_files import METRICS, VERDICTS
from analysis.tables.over_runs import FOLDER
from common import sums
from common.counts import plural
from engine import images
from engine.errors import EngineError
from engine.provenance import told
from engine.repetition import differences
from scenarios.run_files import OF_RUN
from testbed.archive import kinds, remade
from testbed.archive.contents import ArchivedRun, Contents
from testbed.archive.crate import EXPERIMENTS, KUNIT, RUNS, Crate, listed, opened
from testbed.archive.recompute import Recomputation, recompute, write_tables
from testbed.archive.repeat import fail_again, repeat
from testbed.crates import SIGNATURE
from testbed.signatures import signer


@dataclass(frozen=True)
class VerifyLine:
    """A line of what verifying found out."""

    text: str
    differs: bool = False


def verify(
    name: Path, chosen: Sequence[str] = (), everything: bool = False, signers: Path | None = None
) -> Iterator[VerifyLine]:
    """Check the sums and the signature, repeat runs, and compute metrics and verdicts anew.

    Runs are those that begin with a `chosen` name, all, or the first of each experiment. `signers` are those whose
    signature counts.

    Raises:
        EngineError: the archive is damaged or incomplete, is not signed by one of them, lacks a chosen run, or has a
            scenario that means something else today.
    """
    with opened(name) as crate, tempfile.TemporaryDirectory(prefix="testbed-verify-") as place:
        yield VerifyLine(f"{name}: {plural(len(crate.sums), 'file')}, each with its SHA-256; {_signed(crate, signers)}")
        kinds.check(crate)
        archived = Contents(crate)
        archived.check_formats()
        archived.check_complete()
        _check_images(name)
        yield from map(VerifyLine, _made_with(archived))
        runs = Path(place, RUNS)
        repeated, read = set[str](), set[str]()
        compared = _here(crate)
        tested = False
        if everything and KUNIT.name in crate.sums:
            finding = _tested(crate)
            tested = not finding.differs
            compared |= {KUNIT.name} if tested else set()
            yield finding
        for run_name in _chosen(archived, chosen, everything):
            if run_name in archived.failed:
                repetition = fail_again(archived, run_name, runs)
                repeated |= set() if repetition.different else {run_name}
            else:
                repetition = repeat(archived.run(run_name), runs)
                write_tables(runs / run_name, archived)
                compared |= {f"{RUNS / run_name / name}" for name in OF_RUN}
                repeated.add(run_name)
            yield VerifyLine(str(repetition), bool(repetition.different))
        for run_name in archived.failed.keys() - repeated:
            yield VerifyLine(f"{run_name}: failed, says the archive ({archived.failed[run_name]}): not repeated")
        for run_name in archived.run_names:
            wrong = _captured(archived.run(run_name), crate)
            if wrong is not None:
                compared |= _captures(run_name, crate).keys()
            if wrong:
                yield VerifyLine(f"{run_name}: DIFFERS in {listed(wrong)}, which it did not record", differs=True)
            elif wrong is not None and run_name not in repeated:
                shutil.copytree(crate.folder / RUNS / run_name, runs / run_name)
                sums.write(runs / run_name, sums.below(runs / run_name))  # each is the archive's
                write_tables(runs / run_name, archived)
                read.add(run_name)
        whole = True
        for experiment in archived.experiments:
            check = _recomputed(archived, experiment, runs, repeated, read, tested)
            whole &= check is not None and check.is_whole
            if check is None:
                yield VerifyLine(f"{experiment}: none of its runs was repeated: not checked", differs=everything)
                continue
            yield VerifyLine(str(check), bool(check.different) or (everything and not check.is_whole))
            if check.is_whole:
                yield _shown(f"{experiment}: its figures", remade.figures(archived, experiment, runs))
                compared |= {f"{EXPERIMENTS / experiment / file}" for file in (METRICS, VERDICTS, *kinds.FIGURE)}
        tables = {name for name in crate.sums if name.startswith(f"{FOLDER}/")}
        if whole and tables:
            yield _shown("tables over runs", remade.tables(archived, runs.parent))
            compared |= tables
        if others := kinds.other_than_here(crate):
            yield VerifyLine(f"{name}: other than in this checkout: {listed(others)}")
        if pages := sum(file.startswith("report/") for file in crate.sums):
            text = f"{plural(pages, 'page')} of its report: NOT VOUCHED FOR, and compared with nothing"
            yield VerifyLine(f"{name}: {text}; believe the lines above")
        rest = kinds.told(crate, compared)
        yield VerifyLine(f"{name}: compared with nothing: {rest or 'no other file'}", differs=everything and bool(rest))


def _here(crate: Crate) -> set[str]:
    """Return the files of the project, which are compared with this checkout's."""
    return {name for name in crate.sums if (kind := kinds.kind_of(name)) and kind.here}


def _tested(crate: Crate) -> VerifyLine:
    """Run the KUnit cases again."""
    what = "outcomes of KUnit cases"
    try:
        different = remade.tests(crate)
    except EngineError as error:
        return VerifyLine(f"{what}: not checked: {error}", differs=True)
    return _shown(what, different)


def _shown(what: str, different: list[str]) -> VerifyLine:
    if different:
        return VerifyLine(f"{what}: DIFFER in {listed(different)}", differs=True)
    return VerifyLine(f"{what}: made again and identical")


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
    names = [*archived.run_names, *archived.failed]
    for prefix in chosen:
        if not any(_begins(name, prefix) for name in names):
            few = ", ".join(names[:3])
            raise EngineError(f"{archived.crate.name}: no run {prefix}; it has {len(names)}, such as {few}")
    if everything or chosen:
        return [name for name in names if everything or any(_begins(name, prefix) for prefix in chosen)]
    first = {name.split("/")[1]: name for name in reversed(archived.run_names)}
    return sorted(first.values())


def _begins(name: str, chosen: str) -> bool:
    parts = chosen.rstrip("/").split("/")
    return name.split("/")[: len(parts)] == parts


def _captured(run: ArchivedRun, crate: Crate) -> list[str] | None:
    """Name the archived captures and traces of a run that are not those that it recorded; None if there are none."""
    place = f"{RUNS / run.name}/"
    captures = {name.removeprefix(place): digest for name, digest in _captures(run.name, crate).items()}
    return differences(captures, run.digests) if captures else None


def _captures(run: str, crate: Crate) -> dict[str, str]:
    """Return the sums of the archived captures and traces of a run, by their paths in the archive."""
    place = f"{RUNS / run}/"
    return {
        name: digest
        for name, digest in crate.sums.items()
        if name.startswith(place) and name.removeprefix(place) not in OF_RUN
    }


def _recomputed(
    archived: Contents, experiment: str, runs: Path, repeated: set[str], read: set[str], tested: bool
) -> Recomputation | None:
    """Measure an experiment again; return None where none of its own runs is there that succeeded."""
    own = archived.planned[experiment]["runs_of"]
    there = (repeated | read) - archived.failed.keys()
    if not any(name.split("/")[1] == own for name in there):
        return None
    return recompute(archived, experiment, runs, repeated, read, tested)
