# Packs all measurements, figures and verdicts as an RO-Crate for an archival repository; `testbed verify` repeats the
# runs.
rule archive:
    input:
        PLANS[config["size"]].report(REPRODUCE),
    output:
        f"{RESULTS}/archive.zip",
    log:
        f"{RESULTS}/logs/archive.log",
    shell:
        "testbed archive --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1 || failed {log:q}"
