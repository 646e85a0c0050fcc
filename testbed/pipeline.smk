# The runs of a product on a cluster: scenarios that a command has written -> run folders with columns.
#
#   snakemake --snakefile testbed/pipeline.smk --cores all --config folder=results/compare/A-B
#
# carries out the runs that are left. The command, given again, keeps and judges them; by itself it needs no Snakemake.
import os

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version, validate

min_version("9.10")


configfile: "workflows/config.yaml"


FOLDER = config.pop("folder", "")
if not os.path.isdir(f"{FOLDER}/studies"):
    raise WorkflowError(f"--config folder: found {FOLDER!r}; allowed: a folder that a command of `testbed` has written")
config["studies"] = sorted(os.listdir(f"{FOLDER}/studies"))
config["further_studies"] = []
config["folders"] = {"studies": f"{FOLDER}/studies", "results": FOLDER}
config["keep_packets"] = True
validate(config, "../workflows/schemas/config.schema.yaml")


include: "../workflows/rules/common.smk"


rule product:
    default_target: True
    input:
        [run for experiment in PLANS["complete"].experiments for run in PLANS["complete"].jobs(experiment)],


include: "../workflows/rules/images.smk"
include: "../workflows/rules/runs.smk"
include: "../workflows/rules/progress.smk"
