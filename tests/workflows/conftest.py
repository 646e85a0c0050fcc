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

ROOT = Path(__file__).parents[2]

TESTBED = """\
import argparse, itertools, json, os, pathlib, signal, sys
from engine.scenario import ScenarioError, expand, plan, resolve

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run", "plan", "kunit"])
    parser.add_argument("scenarios", nargs="*", type=pathlib.Path)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--cell", action="append")
    parser.add_argument("--size")
    parser.add_argument("--backend", choices=["virtual"])
    parser.add_argument("--into", type=pathlib.Path)
    args = parser.parse_args()
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
    cells = [cell for cell in expand(args.scenarios[0], args.size) if cell.name in args.cell]
    for cell, seed in itertools.product(cells, args.seed):
        folder = args.into / cell.study / cell.experiment / cell.name / f"seed-{seed}"
        shown = f"{cell.experiment}/{cell.name}/{seed}"
        if os.environ.get("KILL_AT") == shown:
            os.killpg(0, signal.SIGKILL)
        if os.environ.get("FAIL_AT") == shown:
            print(shown, "failed", file=sys.stderr)
            return 1
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(resolve(cell, seed)))
        (folder / "summary.json").write_text("{}")
    return 0
"""

ANALYSIS = """\
import pathlib, sys

command, *rest = sys.argv[1:]
names = [word for word in rest if not word.startswith("--")]
with open("calls.log", "a") as log:
    print("analysis", *sys.argv[1:], file=log)

def write(folder, *files):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / file).write_text(file)

if command == "columns":
    for run in names:
        assert pathlib.Path(run, "summary.json").exists(), run
        write(f"{run}/columns", "packets.parquet")
elif command == "measure":
    write(f"{rest[-1]}/{names[0]}", "metrics.csv", "verdicts.json")
elif command == "report":
    write(rest[-1], "index.html")
elif command == "summary":
    print("SUMMARY OF", rest[rest.index("--results") + 1])
else:
    sys.exit(f"unknown command {command}")
"""


IMAGES = """\
import pathlib, sys

with open("calls.log", "a") as log:
    print("images", *sys.argv[1:], file=log)
pathlib.Path("cache/debug-images.json").touch()
"""

CLAIMS = """\
experiments:
- {id: toy-one, expected: [{measure: jain()}]}
- {id: toy-two, expected: [{holds: 'jain() > run("toy-one").jain()'}]}
"""


@dataclass(frozen=True)
class Pipeline:
    """A folder in which `snakemake` can be called as in the project's root."""

    folder: Path

    def __call__(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """Call snakemake on one core; its output, both streams together. Fails when the exit code is another."""
        done = subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", "1", *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        """Stand-ins first: PYTHONPATH stands before installed packages."""
        return os.environ | {"PYTHONPATH": str(self.folder), "TESTBED_CACHE": "cache", "PYTHONDONTWRITEBYTECODE": "1"}

    def calls(self, start: str = "") -> list[str]:
        """What the stand-ins were called with since the last time, as far as it begins with `start`."""
        log = self.folder / "calls.log"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [line for line in lines if line.startswith(start)]

    def done_seeds(self) -> list[str]:
        """Runs at size full that are there, as experiment/cell/seed."""
        runs = (self.folder / "results" / "runs").glob("*/*/*/seed-*/summary.json")
        return sorted("/".join(run.parts[-4:-1]) for run in runs)


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """A pipeline with the project's own scenarios."""
    for name in ("Snakefile", "workflows", "engine/scenario", "images/implementations"):
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    (tmp_path / "profiles").symlink_to("workflows/profiles")
    for package, file, text in (
        ("engine", "cli.py", TESTBED),
        ("analysis", "__main__.py", ANALYSIS),
        ("images", "__main__.py", IMAGES),
    ):
        (tmp_path / package).mkdir(exist_ok=True)
        (tmp_path / package / "__init__.py").touch()
        (tmp_path / package / file).write_text(text)
    (tmp_path / "cache" / "programs").mkdir(parents=True)
    (tmp_path / "cache" / "images.json").write_text("{}")
    for implementation in (tmp_path / "images/implementations").iterdir():
        (tmp_path / "cache" / "programs" / f"{implementation.name}.json").write_text("{}")
    return Pipeline(tmp_path)


@pytest.fixture
def small(pipeline: Pipeline) -> Pipeline:
    """A pipeline whose only study is small: two experiments, three cells, two seeds a job."""
    shutil.rmtree(pipeline.folder / "workflows/studies")
    study = pipeline.folder / "workflows/studies/toy"
    study.mkdir(parents=True)
    (study / "claims.yaml").write_text(CLAIMS)
    (study / "one.yaml").write_text(scenario("toy-one", "seeds: {full: 3, quick: 1}\n"))
    (study / "two.yaml").write_text(scenario("toy-two", "cases: {a: {}, b: {duration: 2s}}\nseeds: {full: 2}\n"))
    (pipeline.folder / "workflows/config.yaml").write_text("studies: [toy]\njobs: {runs: 2}\n")
    return pipeline


def scenario(experiment: str, extra: str = "") -> str:
    """Text of a scenario with one flow and 1 s."""
    return (
        f"experiment: {experiment}\ntitle: A toy\ntopology: {{name: dumbbell, pairs: 1}}\n"
        "bottleneck: {rate: 10mbit, buffer: 40p}\ndelay: {forward: 25ms, backward: 25ms}\n"
        f"flows: [{{name: tcp, implementation: tcp-reno, from: s1, to: d1}}]\nduration: 1s\n{extra}"
    )
