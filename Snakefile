# The LEDBAT testbed's pipeline: scenarios -> runs -> measurements -> report.
#
#   snakemake --cores all            every study named in workflows/config.yaml
#   snakemake --cores all quick      the same, each experiment at its smallest telling size
#   snakemake --cores all icccn      one study
#   snakemake --cores all <id>       one experiment, by its id
#   snakemake --cores all more-seeds everything, then which cells need more seeds; repeat until none does
#   snakemake --cores all site       everything, and one folder of it for a web host
#   snakemake --cores all archive    everything, and an archive of it for a repository
from snakemake.utils import min_version, validate

min_version("9.10")


configfile: "workflows/config.yaml"


validate(config, "workflows/schemas/config.schema.yaml")


include: "workflows/rules/common.smk"  # waits for another pipeline in this folder; what there is, and what is due
include: "workflows/rules/seeds.smk"  # undecided claims -> more seeds


rule all:
    default_target: True
    input:
        JOBS.reports(config["size"]),


rule quick:
    input:
        JOBS.reports("quick"),


include: "workflows/rules/targets.smk"  # studies and experiments by their ids
include: "workflows/rules/images.smk"  # what boots
include: "workflows/rules/runs.smk"  # scenario + seeds -> run folders with columns
include: "workflows/rules/kunit.smk"  # the module's own tests -> their outcomes
include: "workflows/rules/measurements.smk"  # run folders + claims -> metrics, verdicts
include: "workflows/rules/report.smk"  # everything -> figures, pages, and a table at the end
include: "workflows/rules/site.smk"  # everything -> a folder for a web host
include: "workflows/rules/archive.smk"  # everything -> an RO-Crate
include: "workflows/rules/reference.smk"  # compares results with those kept in the repository
include: "workflows/rules/progress.smk"  # what is printed meanwhile
