# The LEDBAT module's own tests, in a debug kernel: what decides the claims that say `kunit: true` (docs/claims.md).


# A test that fails is a result: the file says so, and the exit status does not end the pipeline. Sources come over the
# network, which a cluster's nodes need not have.
rule module_tests:
    input:
        image("boot"),
        NOTES / "debug",
        code("kunit"),
    output:
        "{results}/kunit.json",
    log:
        "{results}/logs/kunit.log",
    localrule: True
    threads: workflow.cores
    shell:
        "python -m images --debug > {log:q} 2>&1 || failed {log:q}; "
        "testbed kunit --into {output:q} >> {log:q} 2>&1 || test -e {output:q} || failed {log:q}"
