# The report holds every experiment that has results. It is made anew for each target, whose name the marker carries.
rule report:
    input:
        results_of_target,
    output:
        touch("{results}/report/.made-for-{target}"),
    log:
        "{results}/logs/report/{target}.log",
    benchmark:
        "{results}/logs/report/{target}.tsv"
    shell:
        "python -m analysis report --results {wildcards.results} --out {wildcards.results}/report "
        "> {log:q} 2>&1 || failed {log:q}"


onsuccess:
    for results in folders_of_results():
        shell("python -m analysis summary --results {results} --since {STARTED} --cores {workflow.cores}")
