# The figure of an experiment: a vector graphic for paper, a page to look around in, a picture for everything else.
rule figure:
    input:
        runs=runs_of,
    output:
        multiext("{results}/experiments/{experiment}/figure", ".svg", ".html", ".png"),
    shell:
        "python -m analysis figure {wildcards.experiment} "
        "--runs {wildcards.results}/runs --out {wildcards.results}/experiments"
