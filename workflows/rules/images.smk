# Builds the guest's kernel, root file system and modules, and the programs under test. What is up to date needs no job:
# `Sources.compare` notes it beforehand. A cluster's nodes need not reach the network, so these jobs stay on the host that
# submits the others.


rule images:
    input:
        SOURCES.request("boot"),
    output:
        SOURCES.image("boot"),
    log:
        SOURCES.log("boot"),
    localrule: True
    threads: workflow.cores
    params:
        index=SOURCES.index("boot"),
    shell:
        "python -m images --boot 2>&1 | tee {log:q}; cp {params.index:q} {output:q}"


rule program:
    input:
        SOURCES.request("{program}"),
        ancient(SOURCES.image("boot")),
    output:
        SOURCES.image("{program}"),
    log:
        SOURCES.log("{program}"),
    wildcard_constraints:
        program="(?!(boot|debug|lab)$)[^/]+",
    priority: of_pipeline.FIRST  # runs wait for it; most compilers use one processor, and runs of others the rest
    localrule: True
    threads: 1
    params:
        index=JOBS.index_of_program,
    shell:
        "python -m images {wildcards.program:q} 2>&1 | tee {log:q}; cp {params.index:q} {output:q}"
