# A pipeline for a folder that a command has written: its scenarios, the only study, are in it, and its results come there.
# Before this is included, COMMAND says which command, and NAME how the configuration calls the folder.
from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version, validate

min_version("9.10")


configfile: "workflows/config.yaml"


if NAME not in config:
    raise WorkflowError(f"--config {NAME}=FOLDER: missing; a folder that `testbed {COMMAND}` has written")
FOLDER = config.pop(NAME)
config["studies"] = [COMMAND]
config["folders"] = {"studies": f"{FOLDER}/studies", "results": FOLDER}
validate(config, "../schemas/config.schema.yaml")


include: "common.smk"
include: "sources.smk"
include: "plan.smk"
