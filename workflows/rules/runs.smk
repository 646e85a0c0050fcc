# Does several runs of one experiment and turns each into columns, in one process, so that packets which are not kept
# never pile up. Long jobs come first, so that no processor waits for the last one.
#
# A repeated job keeps the runs that it had finished. Columns cannot be made again without captures, so runs older than
# the code of the columns are repeated, too. A failed run does not fail the job: the results of the others name it, and
# the next call tries it again.
rule runs:
    input:
        scenario=JOBS.scenario,
        meanings=JOBS.meanings,
        images=SOURCES.image("boot"),
        programs=JOBS.programs,
        code=SOURCES.code("runs"),
        columns=SOURCES.code("columns"),
        lost=JOBS.lost_runs,
    output:
        touch("{results}/runs/{study}/{experiment}/job-{number}.done"),
    log:
        "{results}/logs/runs/{study}/{experiment}/job-{number}.log",
    priority: JOBS.priority
    resources:
        runtime=JOBS.minutes,
    params:
        size=JOBS.size,
        runs=JOBS.run_options,
        packets=JOBS.packets,
        backend=config["backend"],
    shell:
        "python -IS testbed/fork_client.py run {input.scenario:q} --size {params.size:q} {params.runs:q} {params.packets:q} --backend {params.backend:q} "
        "--keep-since {input.columns:q} --columns --into {wildcards.results:q}/runs > {log:q} 2>&1 "
        "|| {{ test $? = 1 && grep ': failed: ' {log:q} >&2; }} "
        "|| failed {log:q}"
