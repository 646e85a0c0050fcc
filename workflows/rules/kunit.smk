# Runs the LEDBAT module's own tests in a debug kernel. They decide the claims with `kunit: true` (docs/reference/claims.md).


# A failing test is a result: the file records it, and the exit status does not end the pipeline. The sources come over
# the network, which a cluster's nodes need not have.
rule module_tests:
    input:
        SOURCES.image("boot"),
        SOURCES.debug_kernel,
        SOURCES.code("kunit"),
        JOBS.lost_tests,
    output:
        "{results}/kunit.json",
    log:
        "{results}/logs/kunit.log",
    priority: 10**9  # all measurements may wait for it
    localrule: True
    threads: JOBS.threads_of_tests
    params:
        index=SOURCES.index("debug"),
    shell:
        "test -e {params.index:q} || python -m images --debug > {log:q} 2>&1 || failed {log:q}; "
        "testbed kunit --into {output:q} >> {log:q} 2>&1 || test -e {output:q} || failed {log:q}"
