# Adds seeds for cells whose claims are undecided. `snakemake more-seeds` measures what there is and writes which cells
# need more; the next call runs those, measures and asks again, until no cell needs more.
rule:
    name:
        "more-seeds"
    input:
        PLANS[config["size"]].report("all"),
    log:
        f"{RESULTS}/logs/more-seeds.log",
    params:
        seeds=PLANS[config["size"]].seeds.name,
    shell:
        "python -m analysis seeds --results $(dirname $(dirname {input:q})) "
        "--out $(dirname $(dirname {input:q}))/{params.seeds:q} 2>&1 | tee {log:q}"
