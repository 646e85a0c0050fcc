# The report contains every experiment that has results. Each target, named by the marker, writes it anew.
#
# It draws those figures of the target that are older than their measurements, as the claims declare them: vector
# graphics for paper and phones, an interactive page, a caption. A job for each would mostly load the drawing
# library.
#
# The reference set, and the results of others that the configuration names, appear beside each claim.
rule report:
    input:
        "{results}/experiments/.measured-for-{target}",
        JOBS.tables,
        SOURCES.code("report"),
        JOBS.lost_report,
        figures=SOURCES.code("figures"),
        reference=sorted(map(str, Path(REFERENCE).rglob("*.json"))),
        simulator=sorted(map(str, Path(SIMULATOR).glob("*"))),
    output:
        touch("{results}/report/.made-for-{target}"),
    log:
        "{results}/logs/report/{target}.log",
    priority: JOBS.priority_of_target
    threads: JOBS.threads_of_target
    params:
        experiments=JOBS.experiments,
        reference=["--reference", REFERENCE] if Path(REFERENCE, "set.json").exists() else [],
        simulator=["--simulator", SIMULATOR] if list(Path(SIMULATOR).glob("*")) else [],
        beside=[f"--beside={name}={place}" for name, place in config["beside"].items()],
    shell:
        "python -m analysis report --draw {params.experiments:q} --newer-than {input.figures:q} --processes {threads} "
        "{params.reference:q} {params.simulator:q} {params.beside:q} --results {wildcards.results:q} --out {wildcards.results:q}/report > {log:q} 2>&1 || failed {log:q}"


onsuccess:
    CALL.end()
