"""What a script under `testbed exec` did not find: told at the end, since scripts go on without it and end well."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.guest import not_found

# what Python programs say; bash and children's Python are asked in the guest, since their words often go nowhere
_SAID = (
    (re.compile(r"^FileNotFoundError: .* No such file or directory: '(?P<name>[\w.+-]+)'$", re.MULTILINE), "command"),
    (re.compile(r"^Unable to contact the remote controller at (?P<name>\S+)$", re.MULTILINE), "controller"),
)
_LARGEST_BYTES = 16 << 20
_LARGEST_LOG_BYTES = 1 << 20
_MOST_FILES = 1000
_QUAGGA = (
    "Quagga is not in Debian 13: `testbed exec --deb frr` adds FRR, its successor; docs/howto/exec.md says what to "
    "change in a script for Quagga"
)
# Mininet asks at 6653 first
_SECOND_PORT = re.compile(
    r"^Unable to contact the remote controller at (?P<address>\S+):6653\n"
    r"Connecting to remote controller at (?P=address):6633$",
    re.MULTILINE,
)
_OF_PYTHON_2 = re.compile(
    r"^SyntaxError: (Missing parentheses in call to '|multiple exception types must be parenthesized|leading zeros in"
    r"|(Lambda expression|Function) parameters cannot be parenthesized)"
    r"|^TabError: |^NameError: name '(raw_input|xrange|unicode|basestring|unichr|long|reduce|execfile)' is not defined"
    r"|^AttributeError: 'dict' object has no attribute '(has_key|iter\w+)'",
    re.MULTILINE,
)
# Python 3 confuses the two by mistake, too
_OF_BYTES = re.compile(
    r"^TypeError: (a bytes-like object is required, not 'str'|can(?:'t|not) concat (?:str|bytes) to (?:bytes|str)"
    r"|can only concatenate str \(not \"bytes\"\) to str|cannot use a string pattern on a bytes-like object)",
    re.MULTILINE,
)
_RUN_BY_NAME = re.compile(r"^\S*python[\d.]*: No module named (?P<name>\w+)$", re.MULTILINE)  # `python -m NAME`
_MODULES_OF_PYTHON_2 = frozenset(
    (
        *("BaseHTTPServer", "ConfigParser", "Queue", "SimpleHTTPServer", "SimpleXMLRPCServer", "SocketServer"),
        *("StringIO", "Tkinter", "cPickle", "commands", "httplib", "thread", "urllib2", "urlparse", "xmlrpclib"),
    )
)
_ELSEWHERE = {
    "ryu": "parts of Ryu that os-ken, its successor in the guest, does not have: {names}",
    "pox": "POX is in no registry (`pox` on PyPI is something else): its folder belongs beside the script, "
    "where run.sh or `--controller` starts `python3 pox/pox.py ...`",
}
_PYTHON_2 = (
    "the script or one of its modules is written for Python 2; the guest has Python 3.13: `testbed exec --python2` "
    "converts a copy of the folder first"
)
_BYTES = "python2 bytes"
_PERHAPS_PYTHON_2 = (
    "a program mixes text and bytes, which are the same in Python 2: if the script was written for it, `testbed exec "
    "--python2` converts a copy of the folder first"
)
_HERE = "controller 127.0.0.1:"
_NOT_MISSED = {"command netplan"}  # Mininet's NAT restarts whatever else might set its addresses; nothing does
_SENTENCES = {
    "command": "commands not found: {names} (`testbed exec --deb PACKAGE` adds Debian packages)",
    "module": "Python modules not found: {names} (`testbed exec --pip PACKAGE` adds Python packages)",
    "own module": "Python modules of yours not found: {names} (they lie elsewhere in the folder; a script finds "
    "modules beside itself, or on a PYTHONPATH that it sets; `testbed exec -m FOLDER.SCRIPT` finds these)",
    "outer module": "Python modules not found: {names} (they lie above the working folder, which the guest does not "
    "see: call `testbed exec` in that folder, with a run.sh that changes into this one)",
    "submodule": "empty folders, since their submodules are missing: {names} (`git submodule update --init` brings "
    "them)",
    "controller": "controllers that did not answer: {names} (`testbed exec --controller COMMAND` starts one beside the "
    "script)",
}


def missing(folder: Path, noted: list[str], work: Path, controller: bool = False) -> list[str]:
    """All that was missing, as `<kind> <name>`: what the guest `noted`, and what stands in the script's output.

    `work` is the script's working folder, where modules of its own may lie. With a `controller` that listened beside
    the script, Mininet's words about the first port at which it asked mean nothing.
    """
    notes = {_judged(note, work) for note in {*noted, *_in_output(folder)} - _NOT_MISSED}
    if notes:
        empty = [*_empty_submodules(work)]
        notes -= {f"module {Path(path).name}" for path in empty}
        notes |= {f"submodule {path}" for path in empty}
    return sorted(note for note in notes if not (controller and note.startswith(_HERE)))


def _judged(note: str, work: Path) -> str:
    """Tell a module that lies in the script's folder, and what only Python 2 has, from what could be installed."""
    kind, _, name = note.partition(" ")
    if kind == "module":
        first = name.partition(".")[0]
        if first in _MODULES_OF_PYTHON_2:
            return "python2 module"
        if first in _ELSEWHERE:
            return f"{first} {name}"
        if any(_lies_below(work, f"{first}.py")) or any(_lies_below(work, f"{first}/__init__.py")):
            return f"own module {name}"
        if (work.parent / f"{first}.py").is_file() or (work.parent / first / "__init__.py").is_file():
            return f"outer module {name}"
    return "python2 command" if kind == "command" and name.startswith("python2") else note


def _lies_below(work: Path, name: str) -> Iterator[Path]:
    yield from itertools.chain(work.glob(name), work.glob(f"*/{name}"), work.glob(f"*/*/{name}"))


def _empty_submodules(work: Path) -> Iterator[str]:
    """Folders of the script's repository in which git would put another one."""
    for top in (work, *work.parents):
        listed = top / ".gitmodules"
        if listed.is_file():
            paths = re.findall(r"^\s*path\s*=\s*(\S+)\s*$", listed.read_text(errors="replace"), re.MULTILINE)
            yield from (path for path in paths if (top / path).is_dir() and not any((top / path).iterdir()))
        if (top / ".git").exists():
            return


def sentences(notes: list[str]) -> Iterator[str]:
    """One for each kind of what was missing, and one about Quagga and Python 2."""
    for kind, sentence in (_SENTENCES | _ELSEWHERE).items():
        names = [note.removeprefix(f"{kind} ") for note in notes if note.startswith(f"{kind} ")]
        if names:
            yield sentence.format(names=", ".join(names))
    if any("quagga" in note for note in notes):
        yield _QUAGGA
    if any(note.startswith("python2 ") and note != _BYTES for note in notes):
        yield _PYTHON_2
    elif _BYTES in notes:
        yield _PERHAPS_PYTHON_2


def elsewhere(summary: dict[str, Any]) -> Iterator[str]:
    """A sentence about files that the script left outside its working folder."""
    files = summary["elsewhere"]
    if files:
        more = f" and {len(files) - 5} more" if len(files) > 5 else ""
        yield f"not kept, since outside the working folder: {', '.join(files[:5])}{more} (`--keep-all` keeps them)"


def _in_output(folder: Path) -> Iterator[str]:
    for name in ("stdout.txt", "stderr.txt"):
        file = folder / name
        if file.is_file():
            with file.open(errors="replace") as stream:
                text = stream.read(_LARGEST_BYTES)
            yield from not_found.commands(text)
            text = _SECOND_PORT.sub("", text)
            for pattern, kind in _SAID:
                yield from (f"{kind} {match['name']}" for match in pattern.finditer(text))
            yield from _of_python(text)
    written = (path for path in (folder / "files").rglob("*") if path.is_file() and not path.is_symlink())
    for file in itertools.islice(written, _MOST_FILES):
        if file.stat().st_size <= _LARGEST_LOG_BYTES:
            yield from _of_python(file.read_text(errors="replace"))


def _of_python(text: str) -> Iterator[str]:
    """What Python says of scripts for Python 2; the programs that a script starts often say it in a file of theirs."""
    yield from (f"module {match['name']}" for match in _RUN_BY_NAME.finditer(text))
    if _OF_PYTHON_2.search(text):
        yield "python2 words"
    if _OF_BYTES.search(text):
        yield _BYTES
