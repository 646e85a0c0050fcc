"""Damages sound inputs of each kind and has them read: `python -m tests.trust.fuzz --seconds S [KIND ...]`.

An input is a function of its kind and number alone. One that is neither read nor refused with a sentence is kept, with
what was said, below build/fuzz; inputs with the same fault are kept once. Each kind gets the same processor time.
"""

import os

# before what starts threads is imported: a process with threads cannot be forked
os.environ |= {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import argparse
import math
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from engine import images
from engine.errors import EngineError
from tests.trust.fuzz.child import Ended, ended
from tests.trust.fuzz.inputs import KINDS, damaged, without_drawing

KEPT = Path("build/fuzz")
TURN_S = 2.0  # of processor time, until it is another kind's turn
MOST_SOUND = 5  # that are read before


class Fuzzed:
    """One kind of input: its sound ones, and what happened to the damaged ones so far."""

    def __init__(self, kind: str, into: Path, first: int) -> None:
        """Make sound inputs below `into`; raises RuntimeError if they are not read."""
        self.kind = kind
        self.number = first
        self.statuses: Counter[int] = Counter()
        self.cpu_s = 0.0
        self.faults: Counter[str] = Counter()  # by what they have in common
        into.mkdir(parents=True)
        _in_a_child(KINDS[kind].make, into)
        self.sound = sorted(into.iterdir())
        for sound in self.sound[:MOST_SOUND]:
            with tempfile.TemporaryDirectory() as place:
                copy = Path(place, sound.name)
                (shutil.copytree if sound.is_dir() else shutil.copyfile)(sound, copy)
                end = ended(KINDS[kind].read, copy, Path(place))
                if end.status or end.fault():
                    raise RuntimeError(f"{kind}: {sound.name} is not sound: {end}")

    def turn(self, most: float = math.inf) -> Iterator[str]:
        """Read damaged inputs for a while, at most so many; yields a sentence for each fault that is new."""
        until_s, behind = self.cpu_s + TURN_S, self.number + most
        while self.cpu_s < until_s and self.number < behind:
            with tempfile.TemporaryDirectory(prefix="testbed-fuzz-") as place:
                end = self.read(Path(place))
                fault = end.fault()
                alike = re.sub(r"\d+|'[^']*'|/\S+", "*", fault or "")
                if fault and not self.faults[alike]:
                    yield f"{self.kind} {self.number}: {fault}"
                    kept = KEPT / f"{self.kind.replace(' ', '-')}-{self.number}"
                    shutil.copytree(place, kept, symlinks=True, dirs_exist_ok=True)
                if fault:
                    self.faults[alike] += 1
            self.number += 1

    def read(self, work: Path) -> Ended:
        """Read the next input in a folder."""
        path = damaged(KINDS[self.kind], self.sound, self.number, work)
        end = ended(KINDS[self.kind].read, path, work)
        self.statuses[end.status] += 1
        self.cpu_s += end.cpu_s
        return end

    def __str__(self) -> str:
        """Sum up in a line."""
        at_fault = f"{self.faults.total()} at fault in {len(self.faults)} manners"
        read = f"{self.statuses[0]} read, {self.statuses[2]} refused, {at_fault}"
        return f"{self.kind}: {self.statuses.total()} inputs up to {self.number - 1}: {read}; {self.cpu_s:.0f} CPU s"


def _in_a_child(make: Callable[[Path], None], into: Path) -> None:
    """Make sound inputs in a process of its own, as that may start threads."""
    if not (child := os.fork()):
        status = 1
        try:
            make(into)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError(f"no sound inputs could be made in {into}")


def images_for(kind: str) -> bool:
    """Say whether inputs of a kind can be made here; tell when images are missing."""
    try:
        if KINDS[kind].runs:
            images.load()
    except EngineError as error:
        print(f"{kind}: left out: {error}")
        return False
    return True


def main() -> int:
    """Fuzz the kinds in turn until the time is over; 1 when an input was at fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust.fuzz")
    long = parser.add_mutually_exclusive_group(required=True)
    long.add_argument("--seconds", type=float, help="how long")
    long.add_argument("--inputs", type=int, help="how many of each kind, as far as they take no more than a turn")
    parser.add_argument("--seed", type=int, default=0, help="number of each kind's first input")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"default: all of {', '.join(KINDS)}")
    options = parser.parse_intermixed_args()
    without_drawing()
    with tempfile.TemporaryDirectory(prefix="testbed-fuzz-sound-") as place:
        kinds = [kind for kind in options.kinds or KINDS if images_for(kind)]
        fuzzed = [Fuzzed(kind, Path(place, kind), options.seed) for kind in kinds]
        until = time.monotonic() + (options.seconds or 0)
        while True:
            for target in fuzzed:
                for sentence in target.turn(options.inputs or math.inf):
                    print(sentence, flush=True)
            if time.monotonic() >= until:
                break
    print(*fuzzed, sep="\n")
    return int(any(target.faults for target in fuzzed))


if __name__ == "__main__":
    sys.exit(main())
