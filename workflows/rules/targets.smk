# Everything, every study and every experiment by its id, at the configured size.
for name in STUDIES.targets:

    rule:
        name:
            name
        input:
            PLANS[config["size"]].report(name),
