# Packs all measurements, figures and verdicts as an RO-Crate for an archival repository; `testbed verify` repeats the
# runs.
rule archive:
    input:
        report_of("all", config["size"]),
    output:
        f"{ROOTS[config['size']]}/archive.zip",
    log:
        f"{ROOTS[config['size']]}/logs/archive.log",
    shell:
        "testbed archive --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1 || failed {log:q}"
