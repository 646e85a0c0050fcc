# Several seeds of one cell: run, then turned into columns. Both in one job, so that captures which are not kept never
# pile up.


def seeds_of(wildcards):
    """The seeds of a job."""
    return range(int(wildcards.first), int(wildcards.last) + 1)


def seed_options(wildcards):
    """The seeds of a job as options of `testbed run`."""
    return [word for seed in seeds_of(wildcards) for word in ("--seed", seed)]


def run_folders(wildcards):
    """The run folders that a job makes."""
    cell = "{results}/runs/{study}/{experiment}/{cell}".format(**wildcards)
    return [f"{cell}/seed-{seed}" for seed in seeds_of(wildcards)]


rule runs:
    input:
        scenario=scenario_of,
        images=IMAGES,
    output:
        touch("{results}/runs/{study}/{experiment}/{cell}/seeds-{first}-{last}.done"),
    params:
        size=size_of,
        seeds=seed_options,
        folders=run_folders,
    shell:
        "testbed run {input.scenario:q} --size {params.size} --cell {wildcards.cell:q} {params.seeds} "
        "--into {wildcards.results}/runs && "
        "python -m analysis columns {params.folders:q}"
