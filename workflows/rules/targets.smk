# Every study and every experiment is a target, by its id, at the configured size.
for name in targets(config["size"]).keys() - {"all"}:

    rule:
        name:
            name
        input:
            report_of(name, config["size"]),
