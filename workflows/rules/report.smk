# The report holds every experiment that has results. It is made anew for each target, whose name the marker carries.


def results_of_target(wildcards):
    """Measurements and figures of all experiments of a target."""
    files = ("metrics.csv", "verdicts.json", "figure.svg", "figure.html", "figure.png")
    experiments = targets(SIZES[wildcards.results])[wildcards.target]
    return [
        f"{wildcards.results}/experiments/{experiment}/{file}"
        for experiment in experiments
        for file in files
    ]


rule report:
    input:
        results_of_target,
    output:
        touch("{results}/report/.made-for-{target}"),
    shell:
        "python -m analysis report --results {wildcards.results} --out {wildcards.results}/report"
