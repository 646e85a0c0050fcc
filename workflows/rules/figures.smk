# The figure of an experiment, as its claims declare it and `measurements` passes on: vector graphics for paper and phones,
# a page to look around in, a picture, a caption.
rule figure:
    input:
        "{results}/experiments/{experiment}/verdicts.json",
    output:
        multiext("{results}/experiments/{experiment}/figure", ".svg", "-narrow.svg", ".html", ".png", ".txt"),
    log:
        "{results}/logs/figures/{experiment}.log",
    benchmark:
        "{results}/logs/figures/{experiment}.tsv"
    shell:
        "python -m analysis figure {wildcards.experiment} "
        "--runs {wildcards.results}/runs --out {wildcards.results}/experiments > {log:q} 2>&1 || failed {log:q}"
