# Every study and every experiment is a target, by its id, at the configured size.
for name in of_pipeline.targets(STUDIES).keys() - {"all"}:

    rule:
        name:
            name
        input:
            PLANS[config["size"]].report(name),
