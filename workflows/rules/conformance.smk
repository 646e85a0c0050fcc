# The LEDBAT module's own tests, in a debug kernel: what decides the claims that say `kunit: true` (docs/claims.md).
DEBUG_IMAGES = f"{CACHE}/debug-images.json"


def module_tests_of(wildcards):
    """What says how the module's tests ended, if an experiment's claims need it.

    A quick look does without the minutes that the debug kernel takes to build, and a container cannot build it: what boots
    is part of its image.
    """
    wanted = any(claim.get("kunit") for claim in claims()[wildcards.experiment][1].get("expected", []))
    built = size_of(wildcards) == "full" or Path(DEBUG_IMAGES).exists()
    can_build = os.access(CACHE, os.W_OK) or not Path(CACHE).exists()
    return [f"{wildcards.results}/kunit.json"] if wanted and built and can_build else []


# A test that fails is a result: the file says so, and the exit status does not end the pipeline. Sources come over the
# network, which a cluster's nodes need not have.
rule module_tests:
    input:
        IMAGES,
    output:
        "{results}/kunit.json",
    log:
        "{results}/logs/kunit.log",
    localrule: True
    threads: workflow.cores
    shell:
        "python -m images --debug > {log:q} 2>&1 || failed {log:q}; "
        "testbed kunit --into {output:q} >> {log:q} 2>&1 || test -e {output:q} || failed {log:q}"
