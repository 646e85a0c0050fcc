# The LEDBAT testbed's pipeline: scenarios -> runs -> measurements -> report.
#
#   snakemake --cores all            `reproduce`: the experiments that decide the papers' findings
#   snakemake --cores all quick      the same with one seed
#   snakemake --cores all everything also further studies, and what causes refer to
#   snakemake --cores all icccn      one study
#   snakemake --cores all <id>       one experiment, by its id
#   snakemake --cores all site       `reproduce`, and one folder of its results for a web host
#   snakemake --cores all archive    `reproduce`, and an archive of its results for a repository
from snakemake.utils import min_version, validate

min_version("9.10")


configfile: "workflows/config.yaml"


validate(config, "workflows/schemas/config.schema.yaml")


include: "workflows/rules/common.smk"  # waits for another pipeline in this folder; what there is, and what is due


rule reproduce:
    default_target: True
    input:
        JOBS.reports(config["size"]),


rule quick:
    input:
        JOBS.reports("quick"),


include: "workflows/rules/targets.smk"  # everything, and studies and experiments by their ids
include: "workflows/rules/images.smk"  # what boots
include: "workflows/rules/runs.smk"  # scenario + seeds -> run folders with columns
include: "workflows/rules/kunit.smk"  # the module's own tests -> their outcomes
include: "workflows/rules/measurements.smk"  # run folders + claims -> metrics, verdicts
include: "workflows/rules/tables.smk"  # everything -> tables over runs
include: "workflows/rules/report.smk"  # everything -> figures, pages, and a table at the end
include: "workflows/rules/site.smk"  # everything -> a folder for a web host
include: "workflows/rules/archive.smk"  # everything -> an RO-Crate
include: "workflows/rules/progress.smk"  # what is looked at before, and printed meanwhile
