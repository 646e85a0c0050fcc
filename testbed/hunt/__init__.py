"""A search for the scenarios in which an implementation breaks; see docs/howto/hunt.md."""

ON_SITE = {"hunt": ("Hunt", "The scenarios in which it breaks a property, made small")}
