# Several runs of one experiment, then turned into columns. Both in one job, so that captures which are not kept never
# pile up.
rule runs:
    input:
        scenario=scenario_of,
        images=IMAGES,
        programs=programs_of,
    output:
        touch("{results}/runs/{study}/{experiment}/job-{number}.done"),
    log:
        "{results}/logs/runs/{study}/{experiment}/job-{number}.log",
    benchmark:
        "{results}/logs/runs/{study}/{experiment}/job-{number}.tsv"
    params:
        size=size_of,
        runs=run_options,
        folders=run_folders,
        backend=config["backend"],
        run_failed=RUN_FAILED,
    shell:
        "testbed run {input.scenario:q} --size {params.size} {params.runs:q} "
        "--backend {params.backend} --into {wildcards.results}/runs > {log:q} 2>&1 "
        "|| {params.run_failed} "
        "&& python -m analysis columns {params.folders:q} >> {log:q} 2>&1 "
        "|| failed {log:q}"
