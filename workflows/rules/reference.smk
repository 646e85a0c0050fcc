# What differs between the results here and those of a complete reproduction that the repository keeps: for the same kernel,
# root file system and modules nothing.
REFERENCE = "workflows/reference"


rule:
    name:
        "diff-reference"
    input:
        report_of("all", "full"),
    params:
        results=ROOTS["full"],
        reference=REFERENCE,
    shell:
        "python -m analysis diff --results {params.results} --reference {params.reference}"
