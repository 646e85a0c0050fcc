# What is looked at before the pipeline runs, and what is printed meanwhile.
from snakemake.cli import get_argument_parser

# a process that runs one job finds everything as the first process left it
if workflow.is_main_process:
    ASKED = get_argument_parser().parse_known_args(sys.argv[1:])[0].targets  # of the workflow only after this
    PLAN = PLANS["quick" if "quick" in ASKED else config["size"]]
    refuse_unknown(ASKED, [rule.name for rule in workflow.rules if not rule.has_wildcards()], PLAN)
    SOURCES.compare()
    lost.tell(PLANS.values(), PLAN, SOURCES)


onstart:
    CALL.begin()
