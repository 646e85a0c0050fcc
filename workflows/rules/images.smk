# The guest's kernel, root file system and modules. Runs depend on the digests in this one file, which is rewritten only
# when something in it changes.
IMAGES = f"{os.environ.get('TESTBED_CACHE', 'cache')}/images.json"


rule images:
    output:
        IMAGES,
    log:
        "results/logs/images.log",
    threads: workflow.cores
    shell:
        "python -m images 2>&1 | tee {log}"
