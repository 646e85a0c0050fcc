# Shows what differs between the results here and the complete reproduction that the repository keeps. With the same
# kernel, root file system and modules, nothing does.
rule:
    name:
        "diff-reference"
    input:
        PLANS["complete"].report("all"),
    log:
        f"{ROOTS['complete']}/logs/diff-reference.log",
    params:
        reference=REFERENCE,
    shell:
        "python -m analysis diff --results $(dirname $(dirname {input:q})) --reference {params.reference:q} 2>&1 | tee {log:q}"
