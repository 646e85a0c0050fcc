# The report holds every experiment that has results. It is made anew for each target, whose name the marker carries.
#
# It draws the target's figures that are older than what was measured, as the claims declare them: vector graphics for
# paper and phones, a page to look around in, a picture, a caption. A job for each would mostly start the drawing library.
#
# Beside each claim stand the reference set, and the results of others that the configuration names.
rule report:
    input:
        measurements_of_target,
        code("report"),
        figures=code("figures"),
        reference=sorted(map(str, Path(REFERENCE).glob("*.json"))),
    output:
        touch("{results}/report/.made-for-{target}"),
    log:
        "{results}/logs/report/{target}.log",
    benchmark:
        "{results}/logs/report/{target}.tsv"
    threads: 2
    params:
        experiments=experiments_of_target,
        reference=REFERENCE,
        beside=[f"--beside={name}={place}" for name, place in config["beside"].items()],
    shell:
        "python -m analysis report --draw {params.experiments} --newer-than {input.figures:q} --processes {threads} "
        "--reference {params.reference} {params.beside:q} --results {wildcards.results} --out {wildcards.results}/report > {log:q} 2>&1 || failed {log:q}"


onsuccess:
    for results in folders_of_results():
        shell("python -m analysis summary --results {results} --since {STARTED} --cores {workflow.cores}")
    refuse_failed_runs()
