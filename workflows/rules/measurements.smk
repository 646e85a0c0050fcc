# Measures all runs of an experiment as its claims say: a tidy table, and a verdict for each claim.
rule measurements:
    input:
        runs=runs_to_measure,
        claims=claims_of,
        kunit=module_tests_of,
        code=code("measure"),
        lost=lost_measurements,
    output:
        metrics="{results}/experiments/{experiment}/metrics.csv",
        verdicts="{results}/experiments/{experiment}/verdicts.json",
    log:
        "{results}/logs/measurements/{experiment}.log",
    benchmark:
        "{results}/logs/measurements/{experiment}.tsv"
    shell:
        "python -m analysis measure {input.claims[0]:q} "
        "--runs {wildcards.results:q}/runs --kunit {wildcards.results:q}/kunit.json --out {wildcards.results:q}/experiments > {log:q} 2>&1 || failed {log:q}"
