# Writes the tables over all runs: a row a run, flow, queue, event and claim. Like the report, they contain all there is;
# rows of experiments that have not changed are kept.
rule tables:
    input:
        "{results}/experiments/.measured-for-{target}",
        JOBS.lost_report,
        code=SOURCES.code("tables"),
    output:
        touch("{results}/tables/.made-for-{target}"),
    log:
        "{results}/logs/tables/{target}.log",
    threads: 2
    shell:
        "python -m analysis tables --results {wildcards.results:q} --newer-than {input.code:q} --processes {threads} "
        "> {log:q} 2>&1 || failed {log:q}"
