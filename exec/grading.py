"""All hand-ins of a class in one table: `testbed verify *.zip --script lab.py`.

Each is verified by a process of its own, so that one that takes too long or fails ends nothing else; as many run at
once as this host gives guests CPUs.
"""

import csv
import os
import random
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from engine.errors import EngineError, in_a_line
from exec import hand_in
from exec.hand_in import opened, script_of
from exec.script import LIMIT_S, ScriptRun, command_of
from images.cache import digest_of, file_digest, tree_digest

IDENTICAL = "identical"
CHANGED = "changed"
NOT_RUN = "not run again"
_LONGEST_RESULT = 100
_FEW = 5
_BAR = r"\|"


@dataclass
class HandIn:
    """A row of the table; texts as they are shown.

    `other_inputs` is what the result depends on beside the script. `same_as` names hand-ins that this one repeats.
    """

    file: str
    student: str = ""
    seed: str = ""
    result: str = ""
    script: str = ""
    other_inputs: str = ""
    same_as: str = ""


@dataclass(frozen=True)
class _Contents:
    """What tells two hand-ins of a class from each other; which of their files were handed out, and which there are."""

    script: str
    whole: str
    inputs: list[str]
    handed_out: frozenset[str]
    names: frozenset[str]


def table(files: Sequence[Path], script: Path | None, sample: int | None, tell: Callable[[str], None]) -> list[HandIn]:
    """Verify hand-ins, and compare each with the script that was handed out and with all others; tell each row.

    Of those that could be run again, only a `sample` is, which nobody foresees; None: all.

    Raises:
        EngineError: the script cannot be read.
    """
    handed_out = _digest(script) if script else None
    rows = [HandIn(in_a_line(file.name)) for file in files]
    contents = [_look(file, row, script, handed_out) for file, row in zip(files, rows, strict=True)]
    given = frozenset[str]().union(*(each.handed_out for each in contents if each))  # what somebody has, all were given
    for row, each in zip(rows, contents, strict=True):
        if each:
            lacks = sorted(given - each.names)
            told = [*each.inputs, *([f"without {_few(lacks)}"] if lacks else [])]
            row.other_inputs = _shortened(in_a_line("; ".join(told)))
    for row, mine in zip(rows, contents, strict=True):
        others = [(other, theirs) for other, theirs in zip(rows, contents, strict=True) if other is not row]
        row.same_as = _few(_repeated(mine, others, row.script == CHANGED))
    _leave_out(rows, sample)
    tell(line(field.name.replace("_", " ") for field in fields(HandIn)))
    tell(line("---" for _ in fields(HandIn)))
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for row, result in zip(rows, pool.map(_verified, files, rows), strict=True):
            row.result = result
            tell(line(astuple(row)))
    return rows


def _leave_out(rows: Sequence[HandIn], sample: int | None) -> None:
    sound = [row for row in rows if not row.result]
    if sample is not None and sample < len(sound):
        for row in random.SystemRandom().sample(sound, len(sound) - sample):
            row.result = NOT_RUN


def line(cells: Iterable[str]) -> str:
    """A line of a table in Markdown, whatever stands in its cells."""
    return f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |"


def write(rows: Sequence[HandIn], file: Path) -> None:
    """Write the table as comma-separated values."""
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(HandIn)])
        writer.writeheader()
        writer.writerows({name: _no_formula(cell) for name, cell in asdict(row).items()} for row in rows)


def _no_formula(cell: str) -> str:
    """Have a spreadsheet show what a stranger wrote and not calculate it."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@")) and not cell[1:].isdecimal() else cell


def _digest(script: Path) -> str:
    try:
        return file_digest(script)
    except OSError as error:
        raise EngineError(f"--script: {script}: {error.strerror}; allowed: the script that was handed out") from None


def _look(file: Path, row: HandIn, script: Path | None, handed_out: str | None) -> _Contents | None:
    """Fill in what a hand-in says of itself; None, and the reason as its result, if it is damaged or changed."""
    try:
        with opened(file) as (order, record):
            own = script_of(order.words, order.folder)
            digest = file_digest(order.folder / own)
            row.student, row.seed = in_a_line(order.student or ""), str(order.seed)
            row.script = "" if handed_out is None else "as handed out" if digest == handed_out else CHANGED
            files = {path.relative_to(order.folder) for path in order.folder.rglob("*") if path.is_file()} - {own}
            same = {name for name in files if _same(order.folder / name, own, script, name)}
            other_modes = sorted(str(name) for name in same if _is_other_mode(order.folder / name, own, script, name))
            row.result = _wrong_seed(order)
            return _Contents(
                digest,
                _whole(order, record),
                _other_inputs(order, own, sorted(map(str, files - same)), other_modes, script),
                frozenset(name.relative_to(own.parent).as_posix() for name in same),
                frozenset(name.relative_to(own.parent).as_posix() for name in files if _is_beside(name, own)),
            )
    except (EngineError, OSError) as error:
        row.result = _shortened(in_a_line(str(error).removeprefix(f"{file}: ")))
        return None


def _other_inputs(
    order: ScriptRun, own: Path, beside: Sequence[str], other_modes: Sequence[str], handed_out: Path | None
) -> list[str]:
    """What can change the result of a script that is as it was handed out: how it was called, and files beside it.

    Any file can: Python looks for a module beside the script first, a script can read or start each.
    """
    called, arguments = _call(order.words)
    plain = ScriptRun(order.words, order.folder, order.beside)
    as_usual = command_of(order.folder / own, order.folder)
    record = (
        (called not in (as_usual, (as_usual[0], f"./{as_usual[1]}")), f"called by {shlex.join(called)}"),
        (handed_out and own.name != handed_out.name, f"under the name {own}"),
        (order.beside != (order.folder / own).parent, f"from beside {order.beside.name}"),
        (arguments, shlex.join(arguments)),
        (order.stdin, f"standard input of {len(order.stdin)} bytes"),
        (order.controller, f"--controller {order.controller}"),
        (order.deb, f"--deb {','.join(order.deb)}"),
        (order.pip, f"--pip {','.join(order.pip)}"),
        (order.link_rate_bps != plain.link_rate_bps, f"--link-rate {order.link_rate_bps}bit"),
        (order.limit_s != LIMIT_S, f"--limit {order.limit_s}"),
        (order.memory_mib != plain.memory_mib, f"--memory {order.memory_mib}"),
        (order.keep_all, "--keep-all"),
        (not order.offload, "--no-offload"),
        (order.python2, "--python2"),
        (beside, f"beside it {_few(beside)}"),
        (other_modes, f"other modes of {_few(other_modes)}"),
    )
    return [text for differs, text in record if differs]


def _call(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a command into what it runs and the arguments of that."""
    split = 3 if words[1] == "-m" else 2
    return tuple(words[:split]), tuple(words[split:])


def _is_beside(name: Path, own: Path) -> bool:
    return name.is_relative_to(own.parent)


def _same(file: Path, own: Path, handed_out: Path | None, name: Path) -> bool:
    """Whether a file of a hand-in lies, with the same bytes, beside the script that was handed out."""
    if handed_out is None or not _is_beside(name, own):
        return False
    other = handed_out.parent / name.relative_to(own.parent)
    return other.is_file() and other.stat().st_size == file.stat().st_size and file_digest(other) == file_digest(file)


def _is_other_mode(file: Path, own: Path, handed_out: Path | None, name: Path) -> bool:
    """Whether a file may be executed, and the same one that was handed out may not, or the other way round."""
    other = handed_out.parent / name.relative_to(own.parent) if handed_out else file
    return os.access(other, os.X_OK) != os.access(file, os.X_OK)


def _wrong_seed(order: ScriptRun) -> str:
    if order.student is None or order.seed == hand_in.seed_of(order.student):
        return ""
    return "the seed does not follow from the student's number"


def _whole(order: ScriptRun, record: dict[str, Any]) -> str:
    return digest_of([tree_digest(order.folder), order.words, record["digests"]["stdin"], order.seed])


def _repeated(mine: _Contents | None, others: Iterable[tuple[HandIn, _Contents | None]], changed: bool) -> list[str]:
    return [
        other.file
        for other, theirs in others
        if mine and theirs and (mine.whole == theirs.whole or (changed and mine.script == theirs.script))
    ]


def _verified(file: Path, row: HandIn) -> str:
    if row.result:
        return row.result
    command = [
        sys.executable,
        "-P",
        "-c",
        "from testbed.cli import main; raise SystemExit(main())",
        "verify",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 128 + signal.SIGTERM:
        return f"took more than {hand_in.MOST_WALL_S / 3600:g} hours"
    words = done.stdout if done.returncode in (0, 1) else done.stderr
    last = (words.splitlines() or [f"failed with status {done.returncode}"])[-1]
    result = in_a_line(last.removeprefix(f"{file.name}: ").removeprefix(f"{file}: "))
    # what a hand-in has a part in must not say so
    sound = done.returncode == 0 or not result.startswith((IDENTICAL, NOT_RUN))
    return _shortened(result if sound else f"failed with status {done.returncode}: {result}")


def _few(names: Sequence[str]) -> str:
    more = [f"and {len(names) - _FEW} more"] if len(names) > _FEW else []
    return ", ".join((*names[:_FEW], *more))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_RESULT else f"{text[: _LONGEST_RESULT - 3]}..."
