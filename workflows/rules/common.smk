# What several rules need: where things lie, what there is to run and measure, and what of it is due (testbed/pipeline/).
import gc
import os
import re
import shlex
import sys
from pathlib import Path

from testbed.pipeline import jobs as of_pipeline
from testbed.pipeline import lost
from testbed.pipeline.call import Call
from testbed.pipeline.lock import lock
from testbed.pipeline.plan import REPRODUCE, Plan, Studies
from testbed.pipeline.sources import Sources
from testbed.pipeline.targets import refuse_unknown

# Every shell command of a rule first finds the programs installed beside this Snakemake, even if its environment is not
# activated. `failed LOG` shows what a failed command printed.
BESIDE = shlex.quote(str(Path(sys.executable).parent)).replace("{", "{{").replace("}", "}}")
shell.prefix(f'set -euo pipefail; PATH={BESIDE}:$PATH; failed() {{{{ cat "$1" >&2; return 1; }}}}; ')

gc.set_threshold(100_000)  # most of what Snakemake makes stays: looking for garbage took a quarter of its time

# a dry run changes nothing that another pipeline uses, and tells of it while it works
if workflow.is_main_process and not {"-n", "--dry-run", "--dryrun"} & set(sys.argv):
    HELD = lock(Path(config["folders"]["results"]))

# Each size has a folder of its own, so that a quick look never overwrites a reproduction.
ROOTS = {"complete": config["folders"]["results"], "quick": f"{config['folders']['results']}/quick"}
RESULTS = ROOTS[config["size"]]
# The reference set.
REFERENCE = "workflows/reference"
SIMULATOR = "workflows/ns2"
# What boots, as `python -m images` builds it.
CACHE = os.environ.get("TESTBED_CACHE", "cache")

SOURCES = Sources(Path(config["folders"]["results"], "sources"), CACHE, config["backend"])
STUDIES = Studies(
    Path(config["folders"]["studies"]),
    config["studies"],
    config["further_studies"],
    SOURCES.digests,
)
PLANS = {size: Plan(STUDIES, size, results, config["jobs"]) for size, results in ROOTS.items()}
JOBS = of_pipeline.Jobs(PLANS.values(), SOURCES, CACHE, workflow.cores, config["first"], config["keep_packets"])
# Runs of all sizes and products share their files, whichever is made first.
CALL = Call(workflow, JOBS, f"{config['folders']['results']}/store")


wildcard_constraints:
    results="|".join(map(re.escape, ROOTS.values())),
    study="[^/]+",
    experiment="[a-z0-9-]+",
    number=r"\d+",
