# What several rules need: names of files, and what stands behind a job's wildcards.
import functools
import json
import os
import re
import shlex
import sys
from pathlib import Path

import yaml
from snakemake.exceptions import WorkflowError

# Every shell command of a rule finds the programs installed beside this Snakemake first, also when its environment is not
# activated; `failed LOG` shows what a failed command said.
BESIDE = shlex.quote(str(Path(sys.executable).parent))
shell.prefix(f'set -euo pipefail; PATH={BESIDE}:$PATH; failed() {{{{ cat "$1" >&2; return 1; }}}}; ')

# Snakemake's limit on jobs started per second, meant for clusters, makes it look at all waiting jobs again every second,
# once for each job that has ended: after 200 jobs a fifth of a processor.
if workflow.scheduling_settings and workflow.local_exec:
    workflow.scheduling_settings.max_jobs_per_timespan = None

STUDIES = Path(config["folders"]["studies"])
# What boots, as `python -m images` lists it; runs depend on the digests in these files.
CACHE = os.environ.get("TESTBED_CACHE", "cache")
IMAGES = f"{CACHE}/images.json"
DEBUG_IMAGES = f"{CACHE}/debug-images.json"
# Each size has a folder of its own, so that a quick look never overwrites a full reproduction.
ROOTS = {"full": config["folders"]["results"], "quick": f"{config['folders']['results']}/quick"}
SIZES = {root: size for size, root in ROOTS.items()}

# What `testbed run` having failed (its exit status) means for the job: that it has failed, too.
RUN_FAILED = "false"


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
def claims():
    """Each experiment's claims.yaml and entry there, for all studies of the configuration."""
    entries = {}
    for study in config["studies"]:
        file = STUDIES / study / "claims.yaml"
        if not file.exists():
            raise WorkflowError(f"{file}: missing; it says what the study's experiments must show (docs/claims.md)")
        for entry in yaml.load(file.read_text(), Loader=yaml.CSafeLoader)["experiments"]:
            entries[entry["id"]] = file, entry
    return entries


def programs_of(wildcards):
    """What says that the programs which a job's runs need are built."""
    names = {name for cell in batch_of(wildcards).cells for name in cell["programs"]}
    return [f"{CACHE}/programs/{name}.json" for name in sorted(names)]


def claims_of(wildcards):
    """The claims of the study that an experiment belongs to."""
    return claims()[wildcards.experiment][0]


def simulated_by(experiment):
    """The experiment whose runs an experiment looks at: itself, unless its claims say `runs_of`."""
    return claims()[experiment][1].get("runs_of", experiment)


def runs_of(results, experiment):
    """What says that all runs of an experiment are there."""
    return [
        f"{results}/runs/{batch.cells[0]['study']}/{experiment}/job-{number}.done"
        for number, batch in enumerate(batches(SIZES[results], experiment), 1)
    ]


def runs_to_measure(wildcards):
    """What says that all runs which the claims of an experiment look at are there.

    Those of other experiments are written in claims as `run("<id>"...)`.
    """
    entry = json.dumps(claims()[wildcards.experiment][1]).replace('\\"', '"')
    looked_at = {simulated_by(wildcards.experiment), *re.findall(r'\brun\("([^"]+)"', entry)}
    return [run for experiment in sorted(looked_at) for run in runs_of(wildcards.results, experiment)]


def runs_to_compare(wildcards):
    """What says that all runs of an experiment of a comparison are there."""
    return runs_of(wildcards.results, wildcards.experiment)


def module_tests_of(wildcards):
    """What says how the module's tests ended, if an experiment's claims need it.

    A quick look does without the minutes that the debug kernel takes to build, and a container cannot build it: what boots
    is part of its image.
    """
    wanted = any(claim.get("kunit") for claim in claims()[wildcards.experiment][1].get("expected", []))
    built = size_of(wildcards) == "full" or Path(DEBUG_IMAGES).exists()
    can_build = os.access(CACHE, os.W_OK) or not Path(CACHE).exists()
    return [f"{wildcards.results}/kunit.json"] if wanted and built and can_build else []


def run_options(wildcards):
    """The cells and seeds of a job as options of `testbed run`."""
    batch = batch_of(wildcards)
    cells = [word for cell in batch.cells for word in ("--cell", cell["cell"])]
    return cells + [word for seed in batch.seeds for word in ("--seed", str(seed))]


def virtual_seconds(wildcards):
    """The run folders that a job makes, and the virtual seconds of each run."""
    batch = batch_of(wildcards)
    place = "{results}/runs/{study}/{experiment}".format(**wildcards)
    return {f"{place}/{cell['cell']}/seed-{seed}": cell["virtual_s"] for cell in batch.cells for seed in batch.seeds}


def run_folders(wildcards):
    """The run folders that a job makes."""
    return list(virtual_seconds(wildcards))


def targets(size):
    """Experiments by target: everything, each study, each experiment."""
    named = {"all": []}
    for experiment in plan(size).keys() - claims().keys():
        raise WorkflowError(f"experiment {experiment!r} has a scenario, but no entry in its study's claims.yaml")
    for experiment, (file, entry) in claims().items():
        if simulated_by(experiment) not in plan(size):
            if "runs_of" in entry:
                raise WorkflowError(f"{file}: {experiment}: runs_of: no scenario has experiment {entry['runs_of']!r}")
            continue
        named[experiment] = [experiment]
        whole = named.setdefault(file.parent.name, [])
        # what its registry calls optional is a target of its own, but no part of `all` and of its study
        if config["optional"] in (True, "true") or not entry.get("budget", {}).get("optional"):
            named["all"].append(experiment)
            whole.append(experiment)
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
