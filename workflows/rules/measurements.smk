# Measures experiments as their claims say: a tidy table for each, and a verdict for each claim.
#
# Which are due is decided for each experiment. One job measures those of a target, because a process takes longer to
# load its libraries than to measure an experiment.


# There is nothing to do: its age is what the file says.
rule measurements_due:
    input:
        runs=JOBS.runs_to_measure,
        claims=JOBS.claims,
        kunit=JOBS.module_tests,
        code=SOURCES.code("measure"),
        lost=JOBS.lost_measurements,
    output:
        touch(f"{{results}}/experiments/{{experiment}}/{of_pipeline.DUE}"),
    priority: JOBS.priority_of_experiment
    localrule: True


rule measurements:
    input:
        due=JOBS.notes_of_target,
    output:
        touch("{results}/experiments/.measured-for-{target}"),
    log:
        "{results}/logs/measurements/{target}.log",
    priority: JOBS.priority_of_target
    threads: JOBS.threads_of_target
    params:
        claims=JOBS.claims_of_target,
        note=of_pipeline.DUE,
    shell:
        "python -m analysis measure {params.claims:q} --newer-than {params.note:q} --processes {threads} "
        "--runs {wildcards.results:q}/runs --kunit {wildcards.results:q}/kunit.json --out {wildcards.results:q}/experiments > {log:q} 2>&1 || failed {log:q}"
