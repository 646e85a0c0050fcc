# What several rules need: names of files, and what a job's wildcards stand for.
import functools
import gc
import json
import os
import re
import resource
import shlex
import sys
import time
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

# Every shell command of a rule first finds the programs installed beside this Snakemake, even if its environment is not
# activated. `failed LOG` shows what a failed command printed.
BESIDE = shlex.quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
shell.prefix(f'set -euo pipefail; PATH={BESIDE}:$PATH; failed() {{{{ cat "$1" >&2; return 1; }}}}; ')

STARTED = time.time()
gc.set_threshold(100_000)  # most of what Snakemake makes stays: looking for garbage took a quarter of its time
STUDIES = Path(config["folders"]["studies"])
# Files that determine how scenarios and claims are read.
SCHEMAS = sorted(Path("scenarios/schemas").glob("*.yaml"))
SCHEMAS_OF_CLAIMS = sorted(Path("analysis/claims/schemas").glob("*.yaml"))
# The results of a complete reproduction.
REFERENCE = "workflows/reference"
SIMULATOR = "workflows/ns2"
# What boots, as `python -m images` builds it.
CACHE = os.environ.get("TESTBED_CACHE", "cache")
# Each size has a folder of its own, so that a quick look never overwrites a full reproduction.
ROOTS = {"full": config["folders"]["results"], "quick": f"{config['folders']['results']}/quick"}
SIZES = {root: size for size, root in ROOTS.items()}


wildcard_constraints:
    results="|".join(map(re.escape, ROOTS.values())),
    study="[^/]+",
    experiment="[a-z0-9-]+",
    number=r"\d+",


def size_of(wildcards):
    """Return the size whose results a job writes."""
    return SIZES[wildcards.results]


def scenario_of(wildcards):
    """Return the scenario file of an experiment."""
    cells = plan(SIZES[wildcards.results])[wildcards.experiment]
    return next(iter(cells.values()))["scenario"]


def meanings_of(wildcards):
    """Return what determines how a job's scenario is read: schemas, and the implementations and traces that it names."""
    cells = batch_of(wildcards).cells
    descriptions = {os.path.relpath(file) for cell in cells for file in cell["descriptions"]}
    traces = {trace for cell in cells for trace in cell["traces"]}
    return sorted({*map(str, SCHEMAS), *traces, *descriptions})


def programs_of(wildcards):
    """Return the markers of the programs that a job's runs need."""
    names = {name for cell in batch_of(wildcards).cells for name in cell["programs"]}
    return [image(name) for name in sorted(names)]


def claims_of(wildcards):
    """Return the claims of an experiment, then what else its measurement reads of the registry."""
    return claims()[wildcards.experiment]["reads"]


def runs_of(results, experiment):
    """Return the markers of all runs of an experiment."""
    return [
        f"{results}/runs/{batch.cells[0]['study']}/{experiment}/job-{number}.done"
        for number, batch in enumerate(batches(SIZES[results], experiment), 1)
    ]


def runs_to_measure(wildcards):
    """Return the markers of all runs that the claims of an experiment use."""
    return [run for needed in claims()[wildcards.experiment]["needs"] for run in runs_of(wildcards.results, needed)]


def module_tests_of(wildcards):
    """Return the outcomes of the module's tests, if an experiment's claims need them.

    A quick look does without the minutes that the debug kernel takes to build, and a container cannot build it: what boots
    is part of its image.
    """
    wanted = claims()[wildcards.experiment]["kunit"]
    built = size_of(wildcards) == "full" or Path(image("debug")).exists()
    can_build = os.access(CACHE, os.W_OK) or not Path(CACHE).exists()
    return [f"{wildcards.results}/kunit.json"] if wanted and built and can_build else []


def run_options(wildcards):
    """Return the cells and seeds of a job as options of `testbed run`."""
    batch = batch_of(wildcards)
    cells = [word for cell in batch.cells for word in ("--cell", cell["cell"])]
    return cells + [word for seed in batch.seeds for word in ("--seed", str(seed))]


def weights_of_runs(wildcards):
    """Return the run folders that a job makes, and the weight of each run."""
    place = "{results}/runs/{study}/{experiment}".format(**wildcards)
    return {f"{place}/{run}": weight for run, weight in batch_of(wildcards).weights().items()}


def weight_of_job(wildcards):
    """Return the weight of all runs of a job."""
    return int(sum(weights_of_runs(wildcards).values()))


def run_folders(wildcards):
    """Return the run folders that a job makes."""
    return list(weights_of_runs(wildcards))


def minutes(wildcards, attempt):
    """Return how long a job may take on a cluster: ten times the expected time, and more with each attempt."""
    expected_s = sum(weights_of_runs(wildcards).values()) / speeds()["kernel"]
    return attempt * (10 + int(10 * expected_s / 60))


def targets(size):
    """Return the experiments of each target: everything, each study, each experiment."""
    named = {"all": []}
    for experiment, planned in claims().items():
        named[experiment] = [experiment]
        named.setdefault(planned["study"], []).append(experiment)
        named["all"].append(experiment)
    return named


def report_of(target, size):
    """Return the marker that the report holds the results of a target."""
    return f"{ROOTS[size]}/report/.made-for-{target}"


def experiments_of_target(wildcards):
    """Return the experiments of a target."""
    return targets(SIZES[wildcards.results])[wildcards.target]


def claims_of_target(wildcards):
    """Return the claims of each experiment of a target."""
    return [claims()[experiment]["reads"][0] for experiment in experiments_of_target(wildcards)]


def notes_of_target(wildcards):
    """Return what says, for each experiment of a target, since when it has to be measured."""
    return [f"{wildcards.results}/experiments/{experiment}/{DUE}" for experiment in experiments_of_target(wildcards)]


def threads_of_tests(wildcards):
    """Return one for the tests, beside which guests run; all for the kernel, if that has to be built first."""
    return 1 if Path(index("debug")).exists() else workflow.cores


def cpu_s():
    """Return the CPU time of this process and of all that have ended below it, in s."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))
