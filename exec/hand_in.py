"""A script's folder and its results as one zip file that somebody else verifies: `testbed exec --hand-in`.

The zip holds `order.json` (how the script was called and what it ran on, with the digests of all other files), the
folder below `input/`, what it read from standard input, and below `results/` what it printed and wrote.

Whoever verifies it has to know what ran: the command is an interpreter and a file of the folder, and is shown.
"""

import hashlib
import json
import os
import shlex
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from jsonschema.exceptions import ValidationError, best_match

from common import archives
from common.archives import ArchiveError
from engine import provenance
from engine.errors import EngineError
from engine.repetition import Repetition, differences
from exec.copies import copy_of
from exec.script import MOST_LINK_RATE_BPS, ScriptRun
from exec.script import run as run_script
from images.cache import digest_of, file_digest, tree_digest
from scenarios.errors import field_name, shortened
from scenarios.names import KINDS
from scenarios.plan.sizes import MEMORY_MIB, MOST_MEMORY_MIB
from scenarios.validator import Validator
from topologies.timeline import BOOT_NS

ORDER = "order.json"
_INPUT, _RESULTS, _STDIN = "input", "results", "stdin"
MOST_WALL_S = 7200.0
"""For verifying."""
_INTERPRETERS = ("python3", "bash")
_MODULES = {".py", ".pyc", ".so"}
_TEXT = {"type": "string", "maxLength": 10_000}
_TEXTS = {"type": "array", "items": _TEXT}
_TRUE_OR_FALSE = {"type": "boolean"}


def _named(kind: str) -> dict[str, str]:
    return {"type": "string", "pattern": KINDS[kind].pattern, "description": KINDS[kind].meaning}


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "words": {**_TEXTS, "minItems": 2, "maxItems": 1000},
        "beside": _TEXT,
        "student": {"type": ["string", "null"], "maxLength": 100},
        "seed": {"type": "integer", "minimum": -(1 << 63), "maximum": (1 << 63) - 1},
        "deb": {"type": "array", "items": _named("debian package")},
        "pip": {"type": "array", "items": _named("python release")},
        "keep_all": _TRUE_OR_FALSE,
        "limit_s": {"type": "integer", "minimum": 1, "maximum": 1 << 31},
        "memory_mib": {"type": "integer", "minimum": MEMORY_MIB, "maximum": MOST_MEMORY_MIB},
        "link_rate_bps": {"type": "integer", "minimum": 0, "maximum": MOST_LINK_RATE_BPS},
        "offload": _TRUE_OR_FALSE,
        "controller": {"type": ["string", "null"], "maxLength": 10_000},
        "python2": _TRUE_OR_FALSE,
        "together": _TRUE_OR_FALSE,
        "exit_status": {"type": "integer"},
        "provenance": {"type": "object", "maxProperties": provenance.MOST_PARTS},
        "digests": {"type": "object", "additionalProperties": _TEXT},
    },
}
_SCHEMA["required"] = list(_SCHEMA["properties"])


def seed_of(student: str) -> int:
    """The seed of a student's number, so that each of a class has other numbers, and always the same."""
    return int.from_bytes(hashlib.sha256(student.strip().encode()).digest()[:4])


def run(order: ScriptRun, into: Path, file: Path) -> dict[str, Any]:
    """Run the script on a copy of its folder, then write the zip; returns what exec.json says.

    A script that needs what `copy_of` leaves out fails here and not where it is verified.

    Raises:
        EngineError: `file` exists or is not to be a zip, the script lies outside the working folder, the command runs
            no file of it, or the folder is too large; and as `exec.script.run`.
    """
    if file.suffix != ".zip" or os.path.lexists(file):
        raise EngineError(f"{file}: exists or does not end with .zip; allowed: a new file NAME.zip")
    if not order.beside.is_relative_to(order.folder):
        raise EngineError(f"{order.beside} lies outside of {order.folder}; call --hand-in in the script's folder")
    with tempfile.TemporaryDirectory(prefix="testbed-hand-in-") as place:
        copy = Path(place, _INPUT)
        copy_of(order.folder, copy)
        _settle(copy)
        script_of(order.words, copy)
        beside = copy / order.beside.relative_to(order.folder)
        moved = replace(order, folder=copy, beside=beside)
        summary = run_script(moved, into)
        _pack(moved, copy, into, summary, file)
    return summary


def verify(file: Path) -> Iterator[str | Repetition]:
    """Say what was handed in, then run it again and compare every byte of its results, and its exit status.

    Raises:
        EngineError: as `opened`, or the script cannot be run.
    """
    with opened(file) as (order, record):
        yield from _description(file, order, record)
        with tempfile.TemporaryDirectory(prefix="testbed-verify-") as place, _ended_after(MOST_WALL_S):
            again = run_script(order, Path(place, "again"), echo=False)
        before = _below(_RESULTS, record["digests"]) | {"exit status": str(record["exit_status"])}
        after = again["digests"] | {"exit status": str(again["exit_status"])}
        yield Repetition(
            name=file.name,
            files=len(again["digests"]),
            different=differences(before, after),
            made_with_another=differences(record["provenance"], again["provenance"]),
            kind="files",
        )


@contextmanager
def opened(file: Path) -> Iterator[tuple[ScriptRun, dict[str, Any]]]:
    """Unpack a hand-in; yield what to run, and what order.json says, both checked.

    Raises:
        EngineError: the zip is damaged or exceeds a bound, or its command runs no file of its folder.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-hand-in-") as place:
        folder = Path(place)
        _unpack(file, folder)
        record = _read(file, folder)
        order = ScriptRun(
            words=tuple(record["words"]),
            folder=folder / _INPUT,
            beside=folder / _INPUT / record["beside"],
            student=record["student"],
            seed=record["seed"],
            deb=tuple(record["deb"]),
            pip=tuple(record["pip"]),
            keep_all=record["keep_all"],
            limit_s=record["limit_s"],
            memory_mib=record["memory_mib"],
            link_rate_bps=record["link_rate_bps"],
            offload=record["offload"],
            controller=record["controller"],
            python2=record["python2"],
            stdin=(folder / _STDIN).read_bytes(),
            together=record["together"],
        )
        yield order, record


def is_hand_in(file: Path) -> bool:
    """Tell it from an archive of runs.

    Raises:
        EngineError: it is a zip file that exceeds a bound.
    """
    if not archives.is_zip(file):
        return False
    try:
        return any(member.filename == ORDER for member in archives.members(file))
    except ArchiveError as error:
        raise EngineError(str(error)) from None


def script_of(words: Sequence[str], folder: Path) -> Path:
    """Return the file below the folder that a command runs.

    Raises:
        EngineError: it is neither `python3 FILE`, `bash FILE` nor `python3 -m MODULE` with a file or module of the
            folder.
    """
    match words:
        case ["python3", "-m", str(name), *_] if name.isidentifier():
            # as Python looks for it; of several it would take one that is not shown
            known = [
                path for path in folder.glob(f"{name}*") if path.name.partition(".")[0] == name and _is_module(path)
            ]
            scripts = [path / "__main__.py" if path.is_dir() else path for path in known] if len(known) == 1 else []
        case [str(program), str(name), *_] if program in _INTERPRETERS and not name.startswith(("-", "/")):
            scripts = [folder / name] if ".." not in Path(name).parts else []
        case _:
            scripts = []
    if not (scripts and os.path.isfile(scripts[0])):  # noqa: PTH113 (a name may be none that a file can have)
        allowed = "python3 or bash with a file of the folder, or python3 -m with a module of the folder"
        raise EngineError(f"the command is {shortened(shlex.join(words))!r}; allowed in a hand-in: {allowed}")
    return scripts[0].relative_to(folder)


def _is_module(path: Path) -> bool:
    return path.is_dir() or path.suffix in _MODULES


def _description(file: Path, order: ScriptRun, record: dict[str, Any]) -> Iterator[str]:
    """Say what runs, and what the hand-in says of what it ran with."""
    script = script_of(order.words, order.folder)
    limits = f"{order.limit_s} s of virtual time at most, {order.memory_mib} MiB"
    student = "" if order.student is None else f"student {order.student}, "
    yield f"{file.name}: {shlex.join(order.words)}; {student}seed {order.seed}, {limits}"
    folder = tree_digest(order.folder)
    yield f"{script}: {file_digest(order.folder / script)}; its folder, {len(folder)} files: {digest_of(folder)}"
    if order.controller:
        yield f"beside it: {order.controller}"
    if order.stdin:
        yield f"standard input: {len(order.stdin)} bytes"
    if order.deb or order.pip:
        yield f"with {', '.join((*order.deb, *order.pip))}"
    yield from (f"made with {part}: {provenance.told(value)}" for part, value in record["provenance"].items())


@contextmanager
def _ended_after(limit_s: float) -> Iterator[None]:
    """Let what happens inside be terminated like any command if it takes longer."""
    timer = threading.Timer(limit_s, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _settle(folder: Path) -> None:
    """Give all files the modes and dates that they have wherever they are unpacked."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, ns=(BOOT_NS, BOOT_NS))


def _pack(order: ScriptRun, copy: Path, into: Path, summary: dict[str, Any], file: Path) -> None:
    (copy.parent / _STDIN).write_bytes(order.stdin)
    installed = summary["provenance"].get("pip", {})
    record = {
        "words": order.words,
        "beside": str(order.beside.relative_to(copy)),
        "student": order.student,
        "seed": order.seed,
        "deb": order.deb,
        "pip": [f"{name}=={package['version']}" for name, package in installed.items()],
        "keep_all": order.keep_all,
        "limit_s": order.limit_s,
        "memory_mib": order.memory_mib,
        "link_rate_bps": order.link_rate_bps,
        "offload": order.offload,
        "controller": order.controller,
        "python2": order.python2,
        "together": order.together,
        "exit_status": summary["exit_status"],
        "provenance": summary["provenance"],
    }
    members = {f"{_INPUT}/{name}": copy / name for name in tree_digest(copy)}
    members |= {f"{_RESULTS}/{name}": into / name for name in summary["digests"]}
    members[_STDIN] = copy.parent / _STDIN
    digests = {f"{_INPUT}/{name}": digest for name, digest in tree_digest(copy).items()}
    digests |= {f"{_RESULTS}/{name}": digest for name, digest in summary["digests"].items()}
    digests[_STDIN] = file_digest(members[_STDIN])
    order_json = json.dumps({**record, "digests": digests}, indent=1) + "\n"
    try:
        archives.pack(file, {ORDER: order_json, **members})
    except ArchiveError as error:
        raise EngineError(str(error)) from None


def _unpack(file: Path, folder: Path) -> None:
    try:
        archives.unpack(file, folder)
    except ArchiveError as error:
        raise EngineError(str(error)) from None
    (folder / _INPUT).mkdir(exist_ok=True)
    _settle(folder / _INPUT)


def _read(file: Path, folder: Path) -> dict[str, Any]:
    try:
        record: dict[str, Any] = archives.read_json(folder / ORDER, f"{file}: {ORDER}")
    except ArchiveError as error:
        raise EngineError(str(error)) from None
    wrong = best_match(Validator(_SCHEMA).iter_errors(record))
    if wrong:
        raise EngineError(f"{file}: {ORDER}: {field_name(wrong.absolute_path)}: {shortened(_message_of(wrong))}")
    beside = Path(record["beside"])
    if beside.is_absolute() or ".." in beside.parts or not os.path.isdir(folder / _INPUT / beside):  # noqa: PTH112
        raise EngineError(f"{file}: {ORDER}: beside: found {record['beside']!r}; allowed: a folder below {_INPUT}")
    if not (folder / _STDIN).is_file():
        raise EngineError(f"{file}: {_STDIN} is missing")
    there = {name: digest for name, digest in tree_digest(folder).items() if name != ORDER}
    changed = sorted(name for name in {*there, *record["digests"]} if there.get(name) != record["digests"].get(name))
    if changed:
        raise EngineError(f"{file}: changed since it was made: {shortened(', '.join(changed))}")
    try:
        script_of(record["words"], folder / _INPUT)
    except EngineError as error:
        raise EngineError(f"{file}: {ORDER}: {error}") from None
    return record


def _message_of(wrong: ValidationError) -> str:
    if wrong.validator == "pattern" and isinstance(wrong.schema, dict):
        return f"found {wrong.instance!r}; allowed: {wrong.schema['description']}"
    return wrong.message


def _below(folder: str, digests: dict[str, str]) -> dict[str, str]:
    top = f"{folder}/"
    return {name.removeprefix(top): digest for name, digest in digests.items() if name.startswith(top)}
