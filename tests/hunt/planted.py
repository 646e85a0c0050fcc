"""How soon a hunt finds faults that were planted: `python -m tests.hunt.planted FOLDER`.

faults.yaml has a changed line for each fault, and harmless ones, which count false alarms; blind.yaml has faults that
nobody chose. A copy of the project in FOLDER gets an implementation `planted-NAME` for each, which is built there; then
each is hunted in the default arena with all properties, until one is broken for sure or the scenarios are used up. The
baseline is the implementation without the fault; what this one breaks in the same scenario does not count. What is
found goes to FOLDER/found.jsonl, and the table of it to the terminal.

With --classes it hunts those of classes.yaml, and with --sound implementations that nobody planted anything in, as
`testbed hunt NAME` does: with no sound version beside them, in all arenas, against CUBIC. Of those it tells whether the
hunt finds them, of these how many give a false alarm. With --arena it asks in the first scenarios of one arena only, of
each scenario what it breaks, and searches nothing.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import yaml

from analysis.judge.intervals import fraction
from scenarios import implementations
from testbed.hunt import arena, measure, read_properties, search
from testbed.hunt.command import SECOND
from testbed.hunt.hunt import Hunt, Trial, expressions
from testbed.hunt.question import HuntQuestion
from testbed.hunt.read_properties import Property
from testbed.hunt.scenario import of_client
from testbed.shared.panel import STANDARD

ROOT: Final = Path(__file__).parents[2]
FAULTS: Final = Path(__file__).with_name("faults.yaml")
BLIND: Final = Path(__file__).with_name("blind.yaml")
"""Faults that mutants.py drew, and nobody chose."""
CLASSES: Final = Path(__file__).with_name("classes.yaml")
"""Faults that are hunted without a sound version beside them."""
ALONE: Final = "default"
"""The name, in tables, of a search as `testbed hunt NAME` makes it."""
COPIED: Final = (
    "analysis",
    "common",
    "engine",
    "exec",
    "images",
    "scenarios",
    "testbed",
    "tests/hunt",
    "topologies",
    "workflows",
)
PREFIX: Final = "planted-"
MODULES: Final = ("tcp-ledbat", "tcp-ledbatpp")
LIBUTP: Final = "utp_internal.cpp"
QUIC: Final = "quic-go"
FOUND: Final = "found.jsonl"
RANDOM: Final = "random"
_BUILD: Final = "libutp=$FETCHED/utp-native/package/deps/libutp\n"
_CHANGED: Final = """\
cp -r "$libutp" planted
sed -i -f planted.sed planted/utp_internal.cpp
! cmp -s "$libutp/utp_internal.cpp" planted/utp_internal.cpp
libutp=$PWD/planted
"""
_QUIC: Final = "vendor/github.com/quic-go/quic-go"
_QUIC_BUILD: Final = """\
#!/bin/sh
set -eu
cp -r "$FETCHED/go" vendor
for script in $(find planted -name '*.sed'); do
	file={quic}/${{script#planted/}}
	sed -i -f "$script" "${{file%.sed}}"
done
cp planted/planted.go {quic}/internal/protocol/
CGO_ENABLED=0 GOTOOLCHAIN=local go build -mod=vendor -trimpath -buildvcs=false -o "$OUT/endpoint" .
"""
_QUIC_PARAMETER: Final = (
    "for name := range parameters {",
    'delete(parameters, "fault")\n\tfor name := range parameters {',
)
_PLANTED_GO: Final = """\
package protocol

import (
	"os"
	"strings"
	"time"
)

var parameters = os.Getenv("PARAMS")

// Planted tells whether a fault counts.
func Planted(fault string) bool { return strings.Contains(parameters, `"`+fault+`"`) }

var begun, kept = time.Time{}, uint64(0)

// Kept returns the value of the first two seconds in which there is one.
func Kept(value uint64) uint64 {
	if begun.IsZero() {
		begun = time.Now()
	}
	if time.Since(begun) < 2*time.Second {
		kept = value
	}
	return kept
}
"""


@dataclass(frozen=True)
class Fault:
    """A line of an implementation's file that is another."""

    name: str
    of: str
    file: str
    says: str
    old: str
    new: str
    harmless: bool = False

    @property
    def client(self) -> str:
        """The implementation that has it."""
        return PREFIX + self.name

    def plant(self, project: Path, everyone: Sequence["Fault"]) -> None:
        """Write the implementation into a copy of the project, beside others.

        Raises:
            ValueError: the line is not there once.
        """
        own = project / "images" / "implementations" / self.client
        own.mkdir(parents=True)
        about = {"extends": self.of, "title": f"{self.of}, but {self.says}"}
        if self.of in MODULES:
            about |= self._module(project)
        elif self.of == QUIC:
            about |= self._quic(project, own, everyone)
        elif self.file == LIBUTP:
            (own / "planted.sed").write_text(_substitution(self))
            build = (project / "images/implementations/libutp/build").read_text()
            (own / "build").write_text(_replaced(build, _BUILD, _BUILD + _CHANGED))
            (own / "build").chmod(0o755)
        else:
            text = (project / "images/implementations/libutp" / self.file).read_text()
            (own / self.file).write_text(_replaced(text, self.old, self.new))
        (own / "implementation.yaml").write_text(yaml.safe_dump(about))

    def _module(self, project: Path) -> dict[str, Any]:
        name = f"tcp_{self.client.replace('-', '_')}"
        source, own = project / "images/tcp_ledbat", project / "images" / name
        own.mkdir()
        shutil.copy(source / "settings.h", own)
        (own / "Kbuild").write_text((source / "Kbuild").read_text().replace("tcp_ledbat", name))
        (own / f"{name}.c").write_text(_replaced((source / self.file).read_text(), self.old, self.new))
        return {"module": name, "version_command": ["cat", f"/sys/module/{name}/version"]}

    def _quic(self, project: Path, own: Path, everyone: Sequence["Fault"]) -> dict[str, Any]:
        """One program has the faults of all, so that it is built once; a parameter says which one counts."""
        scripts: dict[Path, str] = {}
        for fault in everyone:
            if fault.of == QUIC:
                file = own / "planted" / f"{fault.file}.sed"
                scripts[file] = scripts.get(file, "") + _substitution(fault)
        for file, text in scripts.items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (own / "planted" / "planted.go").write_text(_PLANTED_GO)
        (own / "build").write_text(_QUIC_BUILD.format(quic=_QUIC))
        (own / "build").chmod(0o755)
        endpoint = (project / "images/implementations/anacrolix-utp/endpoint.go").read_text()
        (own / "endpoint.go").write_text(_replaced(endpoint, *_QUIC_PARAMETER))
        what = {
            "type": "choice",
            "choices": [self.name, "none"],
            "default": self.name,
            "description": "the fault that counts",
        }
        return {"parameters": {"fault": what}}


@dataclass(frozen=True)
class Found:
    """What came of a search: the first scenario, from 1, that breaks a property for sure, if one does."""

    fault: str
    search: str
    seed: int
    scenario: int | None
    prop: str
    scenarios: int
    runs: int
    cpu_s: float


def faults(files: Sequence[Path] = (FAULTS, BLIND)) -> list[Fault]:
    """All faults of some files."""
    return [Fault(**fault) for file in files if file.exists() for fault in yaml.safe_load(file.read_text())]


def _replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise ValueError(f"found {old!r} {text.count(old)} times; allowed: once")
    return text.replace(old, new)


def _substitution(fault: Fault) -> str:
    return f"s\001{_escaped(fault.old)}\001{_escaped(fault.new)}\001\n"


def _escaped(text: str) -> str:
    """Return a text as sed takes it literally, on either side."""
    return "".join(f"\\{letter}" if letter in r"\.*[]^$&" else letter for letter in text)


def hunted(
    fault: Fault, how: str, seed: int, most: int, only: Sequence[str], folder: Path, everyone: set[str]
) -> Found:
    """Search for a fault. All searches share a folder, so what several ask for runs once."""
    everything = read_properties.load_all(implementations.known()[fault.client], against_version=True)
    asked = [prop for prop in everything if not only or prop.name in only]
    place = arena.read(arena.DEFAULT, fault.client)
    runs = measure.MeasuredRuns(folder, expressions(asked), measure.made_of(everyone | place.implementations))
    hunt = Hunt(
        place, asked, fault.client, fault.of, runs, seed, how, lambda: math.inf if len(hunt.trials) < most else 0
    )
    number, broken = None, ""
    for prop, trial in hunt.broken():
        if _is_new(hunt, prop, trial):
            number, broken = 1 + [each is trial for each in hunt.trials].index(True), prop.name
            break
    cpu_s = round(runs.cpu_s, 1)
    return Found(fault.name, how, seed, number, broken, len(hunt.trials), len(runs.requested), cpu_s)


def alone(client: str, seed: int, most: int, folder: Path, everyone: set[str]) -> Found:
    """Search as `testbed hunt` does that names nothing but a client, until a property is broken for sure."""
    about = implementations.known()[client]
    asked = read_properties.load_all(about, against_version=False)
    baseline = STANDARD if client != STANDARD else SECOND
    place, further = arena.read(arena.DEFAULT, client), arena.further(client)
    others = {name for each in (place, *further) for name in each.implementations}
    runs = measure.MeasuredRuns(folder, expressions(asked), measure.made_of(everyone | others))
    how = search.SEARCHES[0]
    hunt = Hunt(
        place,
        asked,
        client,
        baseline,
        runs,
        seed,
        how,
        lambda: math.inf if len(hunt.trials) < most else 0,
        further=further,
    )
    number, broken = None, ""
    for prop, trial in hunt.broken():
        number, broken = 1 + [each is trial for each in hunt.trials].index(True), prop.name
        break
    cpu_s = round(runs.cpu_s, 1)
    name = client.removeprefix(PREFIX)
    return Found(name, ALONE, seed, number, broken, len(hunt.trials), len(runs.requested), cpu_s)


def in_arena(client: str, name: str, most: int, folder: Path, everyone: set[str]) -> Iterator[str]:
    """Yield for each of an arena's first scenarios what an implementation breaks there, as a hunt's first seed asks.

    Properties that hunts compare in turn are not asked.
    """
    place = arena.read(arena.FOLDER / f"{name}.yaml", client)
    asked = read_properties.load_all(implementations.known()[client], against_version=False)
    runs = measure.MeasuredRuns(folder, expressions(asked), measure.made_of(everyone | place.implementations))
    for number in range(most):
        scenario = place.scenario(search.single(place, number, 1), client)
        due = [prop for prop in asked if prop.covers(scenario) and (not prop.comparison or prop.is_always_compared)]
        questions = {
            prop.name: HuntQuestion(prop, client, STANDARD if client != STANDARD else SECOND, runs) for prop in due
        }
        broken = [each for each, question in questions.items() if question.breaking([scenario])[0]]
        does = f"breaks {', '.join(broken)}" if broken else f"keeps all {len(due)}"
        yield f"{client}, {name} {number + 1}: {does}"


def _is_new(hunt: Hunt, prop: Property, trial: Trial) -> bool:
    """Whether the implementation without the fault keeps the property. Some properties have asked already."""
    if prop.of_path or prop.of_version:
        return True
    without = HuntQuestion(prop, hunt.baseline, hunt.baseline, hunt.runs)
    return not without.breaking([of_client(trial.scenario, hunt.baseline)])[0]


def planted(folder: Path, everyone: Sequence[Fault]) -> Path:
    """Return a copy of the project with some faults, built."""
    project = folder / "project"
    if not project.exists():
        draft = folder / "draft"
        shutil.rmtree(draft, ignore_errors=True)
        for name in COPIED:
            shutil.copytree(ROOT / name, draft / name, ignore=shutil.ignore_patterns("__pycache__"))
        for fault in everyone:
            fault.plant(draft, everyone)
        draft.rename(project)
    programs = [fault.client for fault in everyone if fault.of not in MODULES]
    subprocess.run(
        [sys.executable, "-m", "images", "libutp", QUIC, *programs], cwd=project, env=environment(project), check=True
    )
    return project


def environment(project: Path) -> dict[str, str]:
    """Return the environment in which a copy of the project runs its own code."""
    return os.environ | {"PYTHONPATH": str(project)}


def kept(folder: Path) -> list[Found]:
    """What was found so far."""
    file = folder / FOUND
    return [Found(**json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def summary(found: Sequence[Found]) -> Iterator[str]:
    """Yield what each search found with each seed: of the faults, and of what is harmless."""
    kinds = {fault.name: fault.harmless for fault in faults((FAULTS, BLIND, CLASSES))}
    for how, seed in sorted({(result.search, result.seed) for result in found}):
        own = [result for result in found if (result.search, result.seed) == (how, seed)]
        harmful, harmless = ([result for result in own if kinds.get(result.fault) is kind] for kind in (False, True))
        hits = sum(result.scenario is not None for result in harmful)
        low, high = (100 * end for end in fraction(hits, max(1, len(harmful))))
        yield f"{how}, seed {seed}: {hits} of {len(harmful)} faults found ({low:.0f} to {high:.0f} %), " + (
            f"{sum(result.scenario is not None for result in harmless)} alarms at {len(harmless)} harmless changes"
        )


def table(found: Sequence[Found]) -> Iterator[str]:
    """Yield a row for each fault: by each search, the runs until it was found with each seed."""
    searches = sorted({result.search for result in found})
    yield f"| fault | of | {' | '.join(searches)} | property |"
    yield f"|---|---|{'---|' * (len(searches) + 1)}"
    for fault in faults((FAULTS, BLIND, CLASSES)):
        own = [result for result in found if result.fault == fault.name]
        if own:
            by_search = [
                ", ".join(
                    str(result.runs) if result.scenario else f"not in {result.runs}"
                    for result in sorted(own, key=lambda result: result.seed)
                    if result.search == how
                )
                for how in searches
            ]
            props = sorted({result.prop for result in own} - {""})
            yield f"| {fault.says} | {fault.of} | {' | '.join(by_search)} | {', '.join(props)} |"


def against_random(found: Sequence[Found]) -> Iterator[str]:
    """Yield a row for each fault for which a search and the random one looked with the same seeds, found or not."""
    yield "| fault | search | its runs, median | random's | all of random's over all of its | fewer with |"
    yield "|---|---|---|---|---|---|"
    runs: dict[tuple[str, str], dict[int, int]] = {}
    for result in found:
        runs.setdefault((result.fault, result.search), {})[result.seed] = result.runs
    for fault, how in product(faults(), search.SEARCHES):
        own, random = (runs.get((fault.name, each), {}) for each in (how, RANDOM))
        if how != RANDOM and len(pairs := [(own[seed], random[seed]) for seed in own.keys() & random]) > 1:
            medians = [f"{statistics.median(column):g}" for column in zip(*pairs, strict=True)]
            times = sum(theirs for _, theirs in pairs) / sum(ours for ours, _ in pairs)
            fewer = sum(ours < theirs for ours, theirs in pairs)
            yield f"| {fault.says} | {how} | {' | '.join(medians)} | {times:.1f} | {fewer} of {len(pairs)} seeds |"


def _note(folder: Path, result: Found) -> None:
    with (folder / FOUND).open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")
    print(result, file=sys.stderr, flush=True)


def main() -> int:
    """Search for what was not searched for before; print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--fault", action="append", default=[], choices=[fault.name for fault in faults((FAULTS, BLIND, CLASSES))]
    )
    parser.add_argument("--search", action="append", default=[], choices=search.SEARCHES)
    parser.add_argument("--seed", action="append", default=[], type=int)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="check this property; repeatable")
    parser.add_argument("--scenarios", type=int, default=64, help="tried in each search; default: %(default)s")
    parser.add_argument("--classes", action="store_true", help="hunt those of classes.yaml, by default options")
    parser.add_argument("--sound", action="append", default=[], metavar="NAME", help="hunt this implementation so, too")
    further = [file.stem for file in arena.FURTHER]
    parser.add_argument("--arena", choices=further, help="ask those of --classes and --sound in this arena only")
    options = parser.parse_args()
    by_default = options.classes or options.sound
    everyone = faults((CLASSES,) if by_default else (FAULTS, BLIND))
    folder = options.folder.resolve()
    if folder / "project" != ROOT:
        project = planted(folder, everyone)
        words = [
            sys.executable,
            "-m",
            "tests.hunt.planted",
            *(str(folder) if word == str(options.folder) else word for word in sys.argv[1:]),
        ]
        return subprocess.run(words, cwd=project, env=environment(project), check=False).returncode
    known = {fault.client for fault in everyone} | {fault.of for fault in everyone} | {*options.sound, STANDARD, SECOND}
    wanted = [fault for fault in everyone if not options.fault or fault.name in options.fault]
    done = {(result.fault, result.search, result.seed) for result in kept(folder)}
    (folder / "runs").mkdir(exist_ok=True)
    if by_default:
        clients = [fault.client for fault in wanted] if options.classes else []
        if options.arena:
            for client in (*clients, *options.sound):
                for line in in_arena(client, options.arena, options.scenarios, folder / "runs", known):
                    print(line, flush=True)
            return 0
        for seed, client in product(options.seed or [1], [*clients, *options.sound]):
            if (client.removeprefix(PREFIX), ALONE, seed) not in done:
                _note(folder, alone(client, seed, options.scenarios, folder / "runs", known))
    else:
        for seed, how, fault in product(options.seed or [1], options.search or search.SEARCHES, wanted):
            if (fault.name, how, seed) not in done:
                _note(folder, hunted(fault, how, seed, options.scenarios, options.only, folder / "runs", known))
    found = kept(folder)
    print("\n".join([*table(found), "", *against_random(found), "", *summary(found)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
