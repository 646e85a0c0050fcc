# Builds the guest's kernel, root file system and modules, and the programs under test. What is up to date needs no job:
# sources.smk notes it beforehand. A cluster's nodes need not reach the network, so these jobs stay on the host that
# submits the others.


rule images:
    input:
        request("boot"),
    output:
        image("boot"),
    log:
        f"{NOTES}/images/boot.log",
    localrule: True
    threads: workflow.cores
    params:
        index=index("boot"),
    shell:
        "python -m images --boot 2>&1 | tee {log:q}; cp {params.index:q} {output:q}"


rule program:
    input:
        request("{program}"),
        ancient(image("boot")),
    output:
        image("{program}"),
    log:
        f"{NOTES}/images/{{program}}.log",
    wildcard_constraints:
        program="(?!(boot|debug|lab)$)[^/]+",
    localrule: True
    threads: workflow.cores
    params:
        index=index_of_program,
    shell:
        "python -m images {wildcards.program:q} 2>&1 | tee {log:q}; cp {params.index:q} {output:q}"
