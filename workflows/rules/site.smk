# Everything that can be published, as one static folder for any web host: the report, the documentation, and what has been
# compared by then.
rule site:
    input:
        PLANS[config["size"]].report(REPRODUCE),
        SOURCES.code("site"),
        "mkdocs.yml",
        sorted(map(str, Path("docs").rglob("*.*"))),
    output:
        directory(f"{config['folders']['results']}/site"),
    log:
        f"{config['folders']['results']}/logs/site.log",
    shell:
        "python -m testbed.site --results $(dirname {output:q}) --out {output:q} > {log:q} 2>&1 || failed {log:q}"
