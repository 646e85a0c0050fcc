# What several rules need: names of files, and what stands behind a job's wildcards.
import functools
import json
import os
import re
import shlex
import sys
import time
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

# Every shell command of a rule finds the programs installed beside this Snakemake first, also when its environment is not
# activated; `failed LOG` shows what a failed command said.
BESIDE = shlex.quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
shell.prefix(f'set -euo pipefail; PATH={BESIDE}:$PATH; failed() {{{{ cat "$1" >&2; return 1; }}}}; ')

STARTED = time.time()
STUDIES = Path(config["folders"]["studies"])
# What says how scenarios are read, and how claims are.
SCHEMAS = [Path("workflows/schemas") / f"{name}.schema.yaml" for name in ("scenario", "implementation")]
SCHEMAS_OF_CLAIMS = [Path("workflows/schemas") / f"{name}.schema.yaml" for name in ("study", "claims")]
# What a complete reproduction measured.
REFERENCE = "workflows/reference"
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
    """The size whose results a job writes."""
    return SIZES[wildcards.results]


def scenario_of(wildcards):
    """The scenario file of an experiment."""
    cells = plan(SIZES[wildcards.results])[wildcards.experiment]
    return next(iter(cells.values()))["scenario"]


@functools.cache
def descriptions(implementation):
    """The files that describe an implementation: its own, and those of what it extends."""
    file = Path("images/implementations") / implementation / "implementation.yaml"
    base = yaml.load(file.read_text(), Loader=yaml.CSafeLoader).get("extends")
    return [str(file), *(descriptions(base) if base else [])]


def meanings_of(wildcards):
    """What says how the scenario of a job is read: schemas, and the implementations that it names."""
    names = {name for cell in batch_of(wildcards).cells for name in cell["implementations"]}
    return sorted({*map(str, SCHEMAS), *(file for name in names for file in descriptions(name))})


def programs_of(wildcards):
    """What says that the programs which a job's runs need are built."""
    names = {name for cell in batch_of(wildcards).cells for name in cell["programs"]}
    return [image(name) for name in sorted(names)]


def claims_of(wildcards):
    """The claims of an experiment, then what else its measurement reads of the registry."""
    return claims()[wildcards.experiment]["reads"]


def runs_of(results, experiment):
    """What says that all runs of an experiment are there."""
    return [
        f"{results}/runs/{batch.cells[0]['study']}/{experiment}/job-{number}.done"
        for number, batch in enumerate(batches(SIZES[results], experiment), 1)
    ]


def runs_to_measure(wildcards):
    """What says that all runs which the claims of an experiment look at are there."""
    return [run for needed in claims()[wildcards.experiment]["needs"] for run in runs_of(wildcards.results, needed)]


def runs_to_compare(wildcards):
    """What says that all runs of an experiment of a comparison are there."""
    return runs_of(wildcards.results, wildcards.experiment)


def module_tests_of(wildcards):
    """What says how the module's tests ended, if an experiment's claims need it.

    A quick look does without the minutes that the debug kernel takes to build, and a container cannot build it: what boots
    is part of its image.
    """
    wanted = claims()[wildcards.experiment]["kunit"]
    built = size_of(wildcards) == "full" or Path(image("debug")).exists()
    can_build = os.access(CACHE, os.W_OK) or not Path(CACHE).exists()
    return [f"{wildcards.results}/kunit.json"] if wanted and built and can_build else []


def run_options(wildcards):
    """The cells and seeds of a job as options of `testbed run`."""
    batch = batch_of(wildcards)
    cells = [word for cell in batch.cells for word in ("--cell", cell["cell"])]
    return cells + [word for seed in batch.seeds for word in ("--seed", str(seed))]


def weights_of_runs(wildcards):
    """The run folders that a job makes, and the weight of each run."""
    place = "{results}/runs/{study}/{experiment}".format(**wildcards)
    return {f"{place}/{run}": weight for run, weight in batch_of(wildcards).weights().items()}


def run_folders(wildcards):
    """The run folders that a job makes."""
    return list(weights_of_runs(wildcards))


def minutes(wildcards, attempt):
    """How long a job may take on a cluster: ten times what is expected, longer each time it is tried again."""
    expected_s = sum(weights_of_runs(wildcards).values()) / speeds()["kernel"]
    return attempt * (10 + int(10 * expected_s / 60))


def targets(size):
    """Experiments by target: everything, each study, each experiment."""
    named = {"all": []}
    for experiment, planned in claims().items():
        named[experiment] = [experiment]
        named.setdefault(planned["study"], []).append(experiment)
        named["all"].append(experiment)
    return named


def report_of(target, size):
    """What says that the report holds the results of a target."""
    return f"{ROOTS[size]}/report/.made-for-{target}"


def experiments_of_target(wildcards):
    """The experiments that a target stands for."""
    return targets(SIZES[wildcards.results])[wildcards.target]


def measurements_of_target(wildcards):
    """Measurements of all experiments of a target."""
    experiments = experiments_of_target(wildcards)
    return [
        f"{wildcards.results}/experiments/{experiment}/{file}"
        for experiment in experiments
        for file in ("metrics.csv", "verdicts.json")
    ]
