# Several seeds of one cell: run, then turned into columns. Both in one job, so that captures which are not kept never
# pile up.
rule runs:
    input:
        scenario=scenario_of,
        images=IMAGES,
        programs=programs_of,
    output:
        touch("{results}/runs/{study}/{experiment}/{cell}/seeds-{first}-{last}.done"),
    log:
        "{results}/logs/runs/{study}/{experiment}/{cell}/seeds-{first}-{last}.log",
    benchmark:
        "{results}/logs/runs/{study}/{experiment}/{cell}/seeds-{first}-{last}.tsv"
    params:
        size=size_of,
        seeds=seed_options,
        folders=run_folders,
        backend=config["backend"],
    shell:
        "testbed run {input.scenario:q} --size {params.size} --cell {wildcards.cell:q} {params.seeds} "
        "--backend {params.backend} --into {wildcards.results}/runs > {log:q} 2>&1 "
        "&& python -m analysis columns {params.folders:q} >> {log:q} 2>&1 "
        "|| failed {log:q}"
