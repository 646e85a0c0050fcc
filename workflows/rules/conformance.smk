# The LEDBAT module's own tests, in a debug kernel: what decides the claims that say `kunit: true` (docs/claims.md).
DEBUG_IMAGES = f"{CACHE}/debug-images.json"


def module_tests_of(wildcards):
    """What says how the module's tests ended, if an experiment's claims need it.

    A quick look does without the minutes that the debug kernel takes to build.
    """
    wanted = any(claim.get("kunit") for claim in claims()[wildcards.experiment][1].get("expected", []))
    there = size_of(wildcards) == "full" or Path(DEBUG_IMAGES).exists()
    return [f"{wildcards.results}/kunit.json"] if wanted and there else []


# A test that fails is a result: the file says so, and the exit status does not end the pipeline.
rule module_tests:
    input:
        IMAGES,
    output:
        "{results}/kunit.json",
    log:
        "{results}/logs/kunit.log",
    threads: workflow.cores
    shell:
        "python -m images --debug > {log:q} 2>&1 || failed {log:q}; "
        "testbed kunit --into {output:q} >> {log:q} 2>&1 || test -e {output:q} || failed {log:q}"
