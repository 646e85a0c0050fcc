"""A copy of the pipeline in a folder of its own, with stand-ins for the programs it calls.

The stand-ins take the options that the pipeline gives to `testbed` and `python -m analysis` and write the files that it
waits for; scenarios are read and checked by the real code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from images import index
from tests.awkward import tmp_path  # noqa: F401
from tests.copies import copy_sources

TESTBED = """\
import argparse, itertools, json, os, pathlib, shutil, signal, sys
from common import sums
from scenarios.errors import ScenarioError
from scenarios.cells import plan
from scenarios.resolve import expand, resolve

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run", "plan", "kunit"])
    parser.add_argument("scenarios", nargs="*", type=pathlib.Path)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--cell", action="append")
    parser.add_argument("--size")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--backend", choices=["virtual"])
    parser.add_argument("--keep-since", type=pathlib.Path)
    parser.add_argument("--columns", action="store_true")
    parser.add_argument("--temporary-packets", action="store_true")
    parser.add_argument("--into", type=pathlib.Path)
    args = parser.parse_intermixed_args()
    with open("calls.log", "a") as log:
        print("testbed", args.command, *args.cell or [], args.seed, args.size, file=log)
    if args.command == "plan":
        try:
            rows = plan(args.scenarios, args.size)
        except ScenarioError as error:
            print(error, file=sys.stderr)
            return 2
        print(*map(json.dumps, rows), sep="\\n")
        return 0
    if args.command == "kunit":
        args.into.write_text("{}")
        return 1  # a test failed
    worst = 0
    cells = [cell for cell in expand(args.scenarios[0], args.size) if cell.name in args.cell]
    for cell, seed in itertools.product(cells, args.seed):
        folder = args.into / cell.study / cell.experiment / cell.name / f"seed-{seed}"
        failed = folder.with_name(f"failed-{folder.name}")
        shutil.rmtree(failed, ignore_errors=True)
        shown = f"{cell.experiment}/{cell.name}/{seed}"
        if os.environ.get("KILL_AT") == shown:
            os.killpg(0, signal.SIGKILL)
        if os.environ.get("FAIL_AT") == shown:
            print(f"{shown}: failed: so", file=sys.stderr)
            failed.mkdir(parents=True)
            (failed / "summary.json").write_text("{}")
            worst = 1
            continue
        if not sums.damaged(folder):
            if (folder / "summary.json").stat().st_mtime_ns > args.keep_since.stat().st_mtime_ns:
                with open("calls.log", "a") as log:
                    print("kept", shown, file=log)
                continue
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(resolve(cell, seed)))
        (folder / "summary.json").write_text("{}")
        sums.write(folder, {name: sums.digest(folder / name) for name in ("run.json", "summary.json")})
        if args.columns:
            with sums.replacing(folder) as draft:
                (draft / "columns").mkdir()
                (draft / "columns/packets.parquet").write_text("packets")
    return worst
"""

ANALYSIS = """\
import json, pathlib, sys
from analysis.claims.plan import plan
from analysis.damage import damage
from analysis.errors import BadInputError
from common import sums

command, *rest = sys.argv[1:]
names = [word for word in rest if not word.startswith("--")]
if command != "sums":  # it only looks
    with open("calls.log", "a") as log:
        print("analysis", *sys.argv[1:], file=log)

def write(folder, *files):
    with sums.replacing(pathlib.Path(folder)) as draft:
        for file in files:
            (draft / file).parent.mkdir(parents=True, exist_ok=True)
            (draft / file).write_text(file)

if command == "measure":
    of = {one["reads"][0]: one["experiment"] for one in plan([pathlib.Path(names[0]).parent])}
    for claims in filter(of.get, names):
        folder = pathlib.Path(rest[-1], of[claims])
        note, verdicts = folder / rest[rest.index("--newer-than") + 1], folder / "verdicts.json"
        if not verdicts.exists() or verdicts.stat().st_mtime_ns <= note.stat().st_mtime_ns:
            with open("calls.log", "a") as log:
                print("measured", claims, file=log)
            write(folder, "metrics.csv", "verdicts.json")
elif command == "plan":
    try:
        print(*map(json.dumps, plan(map(pathlib.Path, names))), sep="\\n")
    except BadInputError as error:
        sys.exit(str(error))
elif command == "report":
    write(rest[-1], "index.html", *(f"figures/{name}/figure.svg" for name in names if name.startswith("toy-")))
elif command == "tables":
    write(pathlib.Path(rest[rest.index("--results") + 1], "tables"), "runs.parquet")
elif command == "sums":
    for found in damage(pathlib.Path(names[0])).items():
        print(json.dumps(found))
elif command == "summary":
    print("SUMMARY OF", rest[rest.index("--results") + 1])
else:
    sys.exit(f"unknown command {command}")
"""


IMAGES = """\
import pathlib, sys
from images import index

with open("calls.log", "a") as log:
    print("images", *sys.argv[1:], file=log)
for name in ["boot", *(word.removeprefix("--") for word in sys.argv[1:])]:
    index.path(pathlib.Path("cache"), name).write_text(f"built {name}")
"""

STUDY = """\
paper: {title: Toys, authors: [], venue: none}
findings: {fair: Toys are fair.}
"""


@dataclass(frozen=True)
class Pipeline:
    """A folder in which `snakemake` can be called as in the project's root."""

    folder: Path

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Call snakemake on one core; its output, both streams together. Fails when the exit code is another."""
        process = self.start(*arguments, **environment)
        output, _ = process.communicate()
        assert process.returncode == code, output
        return output

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Call snakemake and do not wait for it."""
        return subprocess.Popen(
            [sys.executable, "-m", "snakemake", "--cores", "1", *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Stand-ins first: PYTHONPATH stands before installed packages."""
        return os.environ | {"PYTHONPATH": str(self.folder), "TESTBED_CACHE": "cache"}

    def calls(self, start: str = "") -> list[str]:
        """What the stand-ins were called with since the last time, as far as it begins with `start`."""
        log = self.folder / "calls.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line for line in lines if line.startswith(start)]

    def done_seeds(self) -> list[str]:
        """Runs at size complete that are there, as experiment/cell/seed."""
        runs = (self.folder / "results" / "runs").glob("*/*/*/seed-*/summary.json")
        return sorted("/".join(run.parts[-4:-1]) for run in runs)


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:  # noqa: F811
    """A pipeline with the project's own scenarios."""
    copy_sources(tmp_path)
    (tmp_path / "profiles").symlink_to("workflows/profiles")
    for package, file, text in (
        ("testbed", "cli.py", TESTBED),
        ("analysis", "__main__.py", ANALYSIS),
        ("images", "__main__.py", IMAGES),
    ):
        (tmp_path / package / file).write_text(text)
    (tmp_path / "cache" / "images").mkdir(parents=True)
    for name, place in index.names(tmp_path).items():
        if name != index.DEBUG:
            (tmp_path / "cache" / place).write_text(f"built {name}")
    return Pipeline(tmp_path)


@pytest.fixture
def small(pipeline: Pipeline) -> Pipeline:
    """A pipeline whose only study is small: two experiments, three cells, two seeds a job."""
    shutil.rmtree(pipeline.folder / "workflows/studies")
    study = pipeline.folder / "workflows/studies/toy"
    study.mkdir(parents=True)
    (study / "study.yaml").write_text(STUDY)
    (study / "one.claims.yaml").write_text(claims("toy-one", "measure: jain()"))
    of_two = 'cell: case=a\n  holds: jain() > run("toy-one").jain()'
    (study / "two.claims.yaml").write_text(claims("toy-two", of_two))
    (study / "one.yaml").write_text(scenario("toy-one", "seeds: {complete: 3, quick: 1}\n"))
    (study / "two.yaml").write_text(scenario("toy-two", "cases: {a: {}, b: {duration: 2s}}\nseeds: {complete: 2}\n"))
    (pipeline.folder / "workflows/config.yaml").write_text("studies: [toy]\njobs: {runs: 2}\n")
    return pipeline


def claims(experiment: str, check: str) -> str:
    """Text of a file with one claim."""
    return (
        f"experiment: {experiment}\ntitle: A toy\nartefact: Fig. 1\nfinding: fair\nfigure: {{kind: table}}\n"
        'claims:\n- id: e01\n  title: It is fair.\n  metric: jain\n  paper: "1.00"\n  source: sec. 1\n'
        f"  {check}\n"
    )


def scenario(experiment: str, extra: str = "") -> str:
    """Text of a scenario with one flow and 1 s."""
    return (
        f"experiment: {experiment}\ntitle: A toy\ntopology: {{name: dumbbell, pairs: 1}}\n"
        "bottleneck: {rate: 10mbit, buffer: 40p}\ndelay: {forward: 25ms, backward: 25ms}\n"
        f"flows: [{{name: tcp, implementation: tcp-reno, from: s1, to: d1}}]\nduration: 1s\n{extra}"
    )
