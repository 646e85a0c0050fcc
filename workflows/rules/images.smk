# The guest's kernel, root file system and modules, and the programs under test. Runs depend on the digests in these
# files, each rewritten only when something in it changes: a run needs the first and those of its own programs.


rule images:
    output:
        IMAGES,
    log:
        "results/logs/images.log",
    threads: workflow.cores
    shell:
        "python -m images 2>&1 | tee {log}"


rule program:
    input:
        ancient(IMAGES),
    output:
        f"{CACHE}/programs/{{program}}.json",
    log:
        "results/logs/images/{program}.log",
    threads: workflow.cores
    shell:
        "python -m images {wildcards.program:q} 2>&1 | tee {log}"
