"""A script's folder and its results as one zip file that somebody else verifies: `testbed exec --hand-in`.

The zip holds `order.json` (how the script was called and what it ran on, with the digests of all other files), the
folder below `input/`, what it read from standard input, and below `results/` what it printed and wrote.
"""

import json
import os
import shutil
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from engine import exec_script
from engine.errors import EngineError
from engine.exec_script import Order
from engine.guest.timeline import BOOT_NS
from engine.sizes import MEMORY_MIB, MOST_MEMORY_MIB
from engine.verify import Outcome, differences
from images.cache import tree_digest
from scenarios.errors import field_name
from scenarios.names import KINDS

ORDER = "order.json"
_INPUT, _RESULTS, _STDIN = "input", "results", "stdin"
_MOST_INPUT_BYTES = 100 << 20
_MOST_BYTES = 4 << 30
_LEFT_OUT = {"__pycache__", "results"}
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_TRUE_OR_FALSE = {"type": "boolean"}


def _named(kind: str) -> dict[str, str]:
    return {"type": "string", "pattern": KINDS[kind].pattern, "description": KINDS[kind].meaning}


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "words": {**_TEXTS, "minItems": 1},
        "beside": _TEXT,
        "seed": {"type": "integer"},
        "deb": {"type": "array", "items": _named("debian package")},
        "pip": {"type": "array", "items": _named("python release")},
        "keep_all": _TRUE_OR_FALSE,
        "limit_s": {"type": ["integer", "null"], "minimum": 1},
        "memory_mib": {"type": "integer", "minimum": MEMORY_MIB, "maximum": MOST_MEMORY_MIB},
        "together": _TRUE_OR_FALSE,
        "exit_status": {"type": "integer"},
        "provenance": {"type": "object"},
        "digests": {"type": "object", "additionalProperties": _TEXT},
    },
}
_LATER: dict[str, Any] = {"limit_s": None, "memory_mib": MEMORY_MIB}
"""Fields that the first hand-ins lack, and what these mean by that."""
_SCHEMA["required"] = [name for name in _SCHEMA["properties"] if name not in _LATER]


def run(order: Order, into: Path, file: Path) -> dict[str, Any]:
    """Run the script on a copy of its folder, then write the zip; returns what exec.json says.

    Names that begin with a dot, links, empty folders, and folders named `results` or `__pycache__` are left out of the
    copy, so a script that needs them fails here and not where it is verified.

    Raises:
        EngineError: `file` exists or is not to be a zip, the script lies outside the working folder, or the folder is
            too large; and as `exec_script.run`.
    """
    if file.suffix != ".zip" or file.exists():
        raise EngineError(f"{file}: exists or does not end with .zip; allowed: a new file NAME.zip")
    if not order.beside.is_relative_to(order.folder):
        raise EngineError(f"{order.beside} lies outside of {order.folder}; call --hand-in in the script's folder")
    with tempfile.TemporaryDirectory(prefix="testbed-hand-in-") as place:
        copy = Path(place, _INPUT)
        _copy(order.folder, copy)
        _settle(copy)
        moved = replace(order, folder=copy, beside=copy / order.beside.relative_to(order.folder))
        summary = exec_script.run(moved, into)
        _pack(moved, copy, into, summary, file)
    return summary


def verify(file: Path) -> Outcome:
    """Run a handed-in script again and compare every byte of its results, and its exit status.

    Raises:
        EngineError: the zip is damaged, or the script cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="testbed-verify-") as place:
        folder = Path(place, "handed-in")
        _unpack(file, folder)
        said = _read(file, folder)
        order = Order(
            words=tuple(said["words"]),
            folder=folder / _INPUT,
            beside=folder / _INPUT / said["beside"],
            seed=said["seed"],
            deb=tuple(said["deb"]),
            pip=tuple(said["pip"]),
            keep_all=said["keep_all"],
            limit_s=said["limit_s"],
            memory_mib=said["memory_mib"],
            stdin=(folder / _STDIN).read_bytes(),
            together=said["together"],
        )
        again = exec_script.run(order, Path(place, "again"), echo=False)
        before = _below(_RESULTS, said["digests"])
        after = {**again["digests"], "exit status": str(again["exit_status"])}
        before["exit status"] = str(said["exit_status"])
        return Outcome(
            run=file.name,
            files=len(again["digests"]),
            different=sorted(name for name in {*before, *after} if before.get(name) != after.get(name)),
            made_with_another=differences(said["provenance"], again["provenance"]),
            kind="files",
        )


def is_hand_in(file: Path) -> bool:
    """Tell it from an archive of runs."""
    try:
        with zipfile.ZipFile(file) as archive:
            return ORDER in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def _copy(folder: Path, into: Path) -> None:
    into.mkdir()
    copied_bytes = 0
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not (name.startswith(".") or name in _LEFT_OUT)]
        for path in (Path(top, name) for name in names if not name.startswith(".")):
            if path.is_symlink() or not path.is_file():
                continue
            copied_bytes += path.stat().st_size
            if copied_bytes > _MOST_INPUT_BYTES:
                allowed = f"at most {_MOST_INPUT_BYTES >> 20} MiB"
                raise EngineError(f"{folder} is too large to hand in; allowed: {allowed}; call it in a smaller folder")
            copy = into / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)


def _settle(folder: Path) -> None:
    """Give all files the modes and dates that they have wherever they are unpacked."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, ns=(BOOT_NS, BOOT_NS))


def _pack(order: Order, copy: Path, into: Path, summary: dict[str, Any], file: Path) -> None:
    (copy.parent / _STDIN).write_bytes(order.stdin)
    installed = summary["provenance"].get("pip", {})
    said = {
        "words": order.words,
        "beside": str(order.beside.relative_to(copy)),
        "seed": order.seed,
        "deb": order.deb,
        "pip": [f"{name}=={one['version']}" for name, one in installed.items()],
        "keep_all": order.keep_all,
        "limit_s": order.limit_s,
        "memory_mib": order.memory_mib,
        "together": order.together,
        "exit_status": summary["exit_status"],
        "provenance": summary["provenance"],
    }
    members = {f"{_INPUT}/{name}": copy / name for name in tree_digest(copy)}
    members |= {f"{_RESULTS}/{name}": into / name for name in summary["digests"]}
    members[_STDIN] = copy.parent / _STDIN
    digests = {f"{_INPUT}/{name}": digest for name, digest in tree_digest(copy).items()}
    digests |= {f"{_RESULTS}/{name}": digest for name, digest in summary["digests"].items()}
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ORDER, json.dumps({**said, "digests": digests}, indent=1) + "\n")
        for name, path in members.items():
            archive.write(path, name)


def _unpack(file: Path, folder: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
            raise EngineError(f"{file}: unpacked it takes more than {_MOST_BYTES >> 30} GiB")
        try:
            for member in (one for one in archive.infolist() if not one.is_dir()):
                Path(archive.extract(member, folder)).chmod(0o600 | member.external_attr >> 16 & 0o100)
        # RuntimeError: it is encrypted, or compressed in a way that Python does not know
        except (zipfile.BadZipFile, OSError, RuntimeError) as error:
            raise EngineError(f"{file}: is damaged ({error})") from None
    (folder / _INPUT).mkdir(exist_ok=True)
    _settle(folder / _INPUT)


def _read(file: Path, folder: Path) -> dict[str, Any]:
    try:
        said: dict[str, Any] = json.loads((folder / ORDER).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise EngineError(f"{file}: {ORDER} is damaged ({error})") from None
    wrong = best_match(Draft202012Validator(_SCHEMA).iter_errors(said))
    if wrong:
        raise EngineError(f"{file}: {ORDER}: {field_name(wrong.absolute_path)}: {_said_of(wrong)}")
    if not (folder / _INPUT / said["beside"]).resolve().is_relative_to((folder / _INPUT).resolve()):
        raise EngineError(f"{file}: {ORDER}: beside: found {said['beside']!r}; allowed: a folder below {_INPUT}")
    there = {name: digest for name, digest in tree_digest(folder).items() if name not in (ORDER, _STDIN)}
    changed = sorted(name for name in {*there, *said["digests"]} if there.get(name) != said["digests"].get(name))
    if changed:
        raise EngineError(f"{file}: changed since it was made: {', '.join(changed)}")
    return {**_LATER, **said}


def _said_of(wrong: ValidationError) -> str:
    if wrong.validator == "pattern" and isinstance(wrong.schema, dict):
        return f"found {wrong.instance!r}; allowed: {wrong.schema['description']}"
    return wrong.message


def _below(folder: str, digests: dict[str, str]) -> dict[str, str]:
    top = f"{folder}/"
    return {name.removeprefix(top): digest for name, digest in digests.items() if name.startswith(top)}
