"""Runs a folder of Mininet labs by `testbed exec`: `python -m tests.exec.collection FOLDER [LAB...]`.

Each script below the folder that mentions Mininet is a lab. It passes if it ends with status 0, no Python program in it
ended with a traceback, nothing was missing, and its output has what `expected.yaml` in the folder asks for. As many
labs run at once as there are processors. Nothing is fetched except the packages that a lab or `expected.yaml` names.
"""

import argparse
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

TESTBED = Path(sys.executable).parent / "testbed"
LABS = Path(__file__).with_name("labs")
EXPECTED = "expected.yaml"
PATIENCE_S = 900
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\):\n(?:[ +].*\n)*(?P<error>\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Expectation:
    """A pattern that a lab's output must have; its group, if it has one, is a number with bounds."""

    pattern: re.Pattern[str]
    least: float
    most: float
    because: str

    def judge(self, output: str) -> "Number":
        """Look for it; with bounds, at each place."""
        values = [match[match.lastindex or 0] for match in self.pattern.finditer(output)]
        bounded = self.pattern.groups > 0
        well = bool(values) and (not bounded or all(self.least <= float(value) <= self.most for value in values))
        printed = (", ".join(values) if bounded else "yes") if values else "nothing"
        return Number(self, printed, well)


@dataclass(frozen=True)
class Number:
    """What a lab printed where something was expected."""

    expected: Expectation
    printed: str
    well: bool

    @property
    def bounds(self) -> str:
        """What was allowed."""
        expected = self.expected
        return f"{expected.least:g} to {expected.most:g}" if expected.pattern.groups else "there"


@dataclass
class Outcome:
    """How a lab went; `failures` is empty if it passed."""

    name: str
    wall_s: float
    virtual_s: float = math.nan
    numbers: list[Number] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """Why it failed, or that it did not."""
        return "; ".join(self.failures) or "passed"


@dataclass(frozen=True)
class Expected:
    """What `expected.yaml` says of a lab: Debian packages that it needs, and what it must print."""

    deb: tuple[str, ...] = ()
    prints: tuple[Expectation, ...] = ()


def expectations(folder: Path) -> dict[str, Expected]:
    """By the names of labs; empty without the file.

    Raises:
        ValueError: the file names a lab that is not there, or an unknown field.
    """
    file = folder / EXPECTED
    if not file.is_file():
        return {}
    listed: dict[str, Any] = yaml.safe_load(file.read_text())
    unknown = listed.keys() - {path.stem for path in labs(folder)} - {"packages"}
    if unknown:
        raise ValueError(f"{file}: no lab {', '.join(sorted(unknown))} in {folder}")
    return {
        name: Expected(tuple(facts.get("deb", ())), tuple(_expectation(**each) for each in facts.get("prints", ())))
        for name, facts in listed.items()
        if name != "packages"
    }


def _expectation(found: str, because: str, between: Sequence[float] = (-math.inf, math.inf)) -> Expectation:
    least, most = map(float, between)
    return Expectation(re.compile(found, re.MULTILINE), least, most, because)


def labs(folder: Path) -> Iterator[Path]:
    """The scripts that use Mininet, in order."""
    yield from (file for file in sorted(folder.rglob("*.py")) if "mininet" in file.read_text(errors="replace"))


def run(lab: Path, expected: Expected, into: Path) -> Outcome:
    """Run a lab; its results are in the folder `into`/<its name> afterwards."""
    started_s = time.monotonic()
    deb = ["--deb", ",".join(expected.deb)] if expected.deb else []
    command = [str(TESTBED), "exec", "--into", f"{into}/{lab.stem}", *deb]
    with (
        (into / f"{lab.stem}.txt").open("w+") as said,
        subprocess.Popen(
            [*command, lab], cwd=lab.parent, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT
        ) as process,
    ):
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            process.wait()
        said.seek(0)
        output = said.read()
    outcome = Outcome(lab.stem, time.monotonic() - started_s)
    try:
        summary = json.loads((into / lab.stem / "exec.json").read_text())
    except (OSError, ValueError):
        summary = {}
    judge(outcome, output, summary, expected)
    return outcome


def judge(outcome: Outcome, output: str, summary: Mapping[str, Any], expected: Expected) -> None:
    """Note in `outcome` what the lab printed and why it failed."""
    if "exit_status" not in summary:
        outcome.failures.append(output.strip().rpartition("\n")[2] or "nothing said")
        return
    outcome.virtual_s = summary["virtual_s"]
    outcome.numbers = [expectation.judge(output) for expectation in expected.prints]
    if outcome.wall_s >= PATIENCE_S:
        outcome.failures.append(f"not done after {PATIENCE_S} s")
    elif summary["exit_status"]:
        outcome.failures.append(f"exit status {summary['exit_status']}")
    outcome.failures += sorted({match["error"] for match in _TRACEBACK.finditer(output)})
    outcome.failures += [f"missing {name}" for name in summary["missing"]]
    outcome.failures += [
        f"{number.expected.pattern.pattern}: {number.printed}; allowed: {number.bounds}"
        for number in outcome.numbers
        if not number.well
    ]


def run_all(folder: Path, chosen: Sequence[str], into: Path, at_once: int | None = None) -> Iterator[Outcome]:
    """Run the labs of a folder, or the chosen ones; yield their outcomes in order."""
    expected = expectations(folder)
    wanted = [lab for lab in labs(folder) if not chosen or lab.stem in chosen]
    with ThreadPoolExecutor(at_once or os.cpu_count()) as pool:
        yield from pool.map(lambda lab: run(lab, expected.get(lab.stem, Expected()), into), wanted)


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Lines of Markdown: a row for each lab, and one for each of its numbers."""
    yield row("lab", "printed", "allowed", "because")
    yield row(*["---"] * 4)
    for outcome in outcomes:
        yield row(outcome.name, outcome.verdict, "", "")
        yield from (row("", number.printed, number.bounds, number.expected.because) for number in outcome.numbers)


def row(*cells: str) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def main() -> int:
    """Return 0 if all labs passed, 1 if one did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.exec.collection", description="Runs a folder of labs.")
    parser.add_argument("folder", type=Path, nargs="?", default=LABS, help="default: the project's own labs")
    parser.add_argument("lab", nargs="*", help="names without .py; default: all")
    parser.add_argument("--into", type=Path, help="folder for what they print and leave; default: not kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="testbed-labs-") as temporary:
        into = (options.into or Path(temporary)).resolve()
        into.mkdir(parents=True, exist_ok=True)
        outcomes = []
        for outcome in run_all(options.folder.resolve(), options.lab, into):
            print(
                f"{outcome.name}: {outcome.verdict} ({outcome.virtual_s:.0f} virtual s, {outcome.wall_s:.0f} s)",
                flush=True,
            )
            outcomes.append(outcome)
    print("", *table(outcomes), "", sep="\n")
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    print(f"{len(outcomes) - failed} of {len(outcomes)} labs passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
