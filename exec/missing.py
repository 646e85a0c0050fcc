"""What a script under `testbed exec` did not find: told at the end, since scripts go on without it and end well."""

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
_QUAGGA = (
    "Quagga is not in Debian 13: `testbed exec --deb frr` adds FRR, its successor; docs/howto/exec.md says what to "
    "change in a script for Quagga"
)
_NOT_MISSED = {"command netplan"}  # Mininet's NAT restarts whatever else might set its addresses; nothing does
_SENTENCES = {
    "command": "commands not found: {names} (`testbed exec --deb PACKAGE` adds Debian packages)",
    "module": "Python modules not found: {names} (`testbed exec --pip PACKAGE` adds Python packages)",
    "controller": "controllers that did not answer: {names} (start them in the script, on a host or as c0)",
}


def missing(folder: Path, noted: list[str]) -> list[str]:
    """All that was missing, as `<kind> <name>`: what the guest `noted`, and what stands in the script's output."""
    return sorted({*noted, *_in_output(folder)} - _NOT_MISSED)


def sentences(notes: list[str]) -> Iterator[str]:
    """One for each kind of what was missing, and one about Quagga."""
    for kind, sentence in _SENTENCES.items():
        names = [name for known, _, name in (note.partition(" ") for note in notes) if known == kind]
        if names:
            yield sentence.format(names=", ".join(names))
    if any("quagga" in note for note in notes):
        yield _QUAGGA


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
            for pattern, kind in _SAID:
                yield from (f"{kind} {match['name']}" for match in pattern.finditer(text))
