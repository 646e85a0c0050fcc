"""Draws faults that nobody chose, for planted.py: `python -m tests.hunt.mutants FOLDER > tests/hunt/blind.yaml`.

Of each source a seeded generator changes a line: a comparison or another operator, a constant by a factor of four, a
condition that always or never holds, a statement that is left out. What does not compile is left out, and what changes
no number in four scenarios of the arena, which are not those that hunts begin with.
"""

import argparse
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import yaml

from images.cache import Store, default_root
from scenarios import implementations
from testbed.hunt import arena, measure, read_properties, search
from testbed.hunt.hunt import SEED, expressions
from tests.hunt.planted import COPIED, LIBUTP, MODULES, QUIC, ROOT, Fault, environment
from tests.tcp_ledbat.mutations import TOKENS

EACH: Final = 7
"""Faults of each source, of at most `MOST` that are drawn."""
MOST: Final = 24
DRAWN: Final = 20260
POINTS: Final = 7
"""The seed of the scenarios in which a fault has to change something."""
_GO: Final = "github.com/quic-go/quic-go"
_GO_FILES: Final = (
    "internal/congestion/cubic_sender.go",
    "internal/congestion/hybrid_slow_start.go",
    "internal/ackhandler/sent_packet_handler.go",
    "internal/utils/rtt_stats.go",
)
_CODE: Final = re.compile(r"\t+[^/*#\s].*[^,(&|]")
_CONSTANT: Final = re.compile(r"(?<![\w.\"])\d+(?![\w.\"])")
_CONDITION: Final = re.compile(r"(?<=\bif \()[^;]+(?=\)(?: \{)?$)|(?<=\bif )[^(;][^;]*(?= \{$)")
_GO_LINE: Final = re.compile(r"if (?P<condition>[^;]+) \{|return (?P<value>.+)|[^:]+")
_STATEMENT: Final = re.compile(r"[\w.>-]+(?:(?: [-+*/]?= |\+\+|--).*|\(.*\));?")


def _changes(line: str) -> Iterator[str]:
    """Yield a line of code with each mistake that can be made in it."""
    for pattern, new in TOKENS:
        for match in re.finditer(pattern, line):
            yield line[: match.start()] + new + line[match.end() :]
    for match in _CONSTANT.finditer(line):
        if int(match[0]) > 1:
            for number in (4 * int(match[0]), int(match[0]) // 4):
                yield f"{line[: match.start()]}{number}{line[match.end() :]}"
    for match in _CONDITION.finditer(line):
        for value in ("true", "false"):
            yield line[: match.start()] + value + line[match.end() :]
    if _STATEMENT.fullmatch(line):
        yield ";" if line.endswith(";") else ""


def drawn(of: str, sources: dict[str, str], draw: random.Random) -> Iterator[Fault]:
    """Yield the faults of some files' texts, in an order that is drawn; of each line at most one."""
    lines = [
        (file, line.strip())
        for file, text in sources.items()
        for line in text.splitlines()
        if _CODE.fullmatch(line) and text.count(line.strip()) == 1
    ]
    draw.shuffle(lines)
    for number, (file, old) in enumerate(lines):
        if made := sorted(set(_changes(old)) - {old}):
            new, name = draw.choice(made), f"blind-{of}-{number}"
            asking = _asking(name, old, new) if of == QUIC else new
            if asking is not None:
                yield Fault(name, of, file, f"`{old}` is `{new}`", old, asking)


def _asking(name: str, old: str, new: str) -> str | None:
    """Return a line of Go that is another if a parameter says so; None if it declares something, or the like."""
    asked = f'protocol.Planted("{name}")'
    before, after = _GO_LINE.fullmatch(old), _GO_LINE.fullmatch(new)
    if old.endswith("{") and before and after and before["condition"] and after["condition"]:
        return f"if {asked} && ({after['condition']}) || !{asked} && ({before['condition']}) {{"
    if before and before["value"] and not old.endswith("{"):
        return f"if {asked} {{ {new} }}; {old}"
    if before and _STATEMENT.fullmatch(old):
        return f"if {asked} {{ {new} }} else {{ {old} }}"
    return None


def sources() -> dict[str, dict[str, str]]:
    """Return the texts of the files in which faults are drawn, by implementation."""
    fetched = Store(default_root()).root / "fetched"
    [utp] = fetched.glob(f"*/unpacked/package/deps/libutp/{LIBUTP}")
    quic = next(fetched.glob(f"*/unpacked/{_GO}"))
    return {
        MODULES[0]: {"tcp_ledbat.c": (ROOT / "images/tcp_ledbat/tcp_ledbat.c").read_text()},
        "libutp": {LIBUTP: utp.read_text()},
        QUIC: {file: (quic / file).read_text() for file in _GO_FILES},
    }


def _built(fault: Fault, candidates: Sequence[Fault], folder: Path) -> bool:
    """Build a fault in a copy of the project that has no other; whether it compiles.

    One program has all candidates of quic-go.
    """
    project = folder / "project"
    for kind in ("images", "images/implementations"):
        for old in (project / kind).glob("*planted*"):
            shutil.rmtree(old)
    fault.plant(project, candidates)
    built = ["--boot"] if fault.of in MODULES else [fault.of, fault.client]
    words = [sys.executable, "-m", "images", *built]
    own = environment(project)
    return not subprocess.run(words, cwd=project, env=own, capture_output=True, check=False).returncode


def _differs(fault: Fault, folder: Path) -> bool:
    words = [sys.executable, "-m", "tests.hunt.mutants", str(folder), "--differs", fault.client, fault.of]
    project = folder / "project"
    return not subprocess.run(words, cwd=project, env=environment(project), check=False).returncode


def differs(client: str, sound: str, folder: Path) -> bool:
    """Whether an implementation behaves otherwise than the sound one, in any of four scenarios."""
    asked = read_properties.load_all(implementations.known()[client], against_version=True)
    place = arena.read(arena.DEFAULT, client)
    runs = measure.MeasuredRuns(folder, expressions(asked), measure.made_of({client, sound, *place.implementations}))
    for point in search.batch(place, 0, POINTS, "tour"):
        both = [place.scenario(point, who) for who in (client, sound)]
        runs.request([(scenario, SEED) for scenario in both])
        faulty, good = (runs.of(scenario, SEED) for scenario in both)
        if not good.failed and (faulty.failed or faulty.numbers != good.numbers):
            return True
    return False


def main() -> int:
    """Print the faults as YAML; say on the way what became of each that was drawn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--differs", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.differs:
        client, sound = options.differs
        return int(not differs(client, sound, folder))
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / "project" / name, ignore=ignored, dirs_exist_ok=True)
    kept: list[Fault] = []
    for of, files in sources().items():
        own = 0
        candidates = list(islice(drawn(of, files, random.Random(DRAWN)), MOST))  # noqa: S311 (repeats)
        for fault in candidates:
            outcome = "does not compile"
            if _built(fault, candidates, folder):
                outcome = "kept" if _differs(fault, folder) else "changes nothing"
            print(f"{fault.name}: {fault.file}: {fault.says}: {outcome}", file=sys.stderr, flush=True)
            if outcome == "kept":
                kept.append(fault)
                own += 1
            if own == EACH:
                break
    written = [{name: getattr(fault, name) for name in ("name", "of", "file", "says", "old", "new")} for fault in kept]
    print(yaml.safe_dump(written, sort_keys=False, width=120), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
