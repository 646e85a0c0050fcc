# Everything measured, drawn and decided as an RO-Crate for an archival repository; `testbed verify` carries it out again.
rule archive:
    input:
        report_of("all", config["size"]),
    output:
        f"{ROOTS[config['size']]}/archive.zip",
    log:
        f"{ROOTS[config['size']]}/logs/archive.log",
    shell:
        "testbed archive --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1 || failed {log:q}"
