"""A search for the scenarios in which an implementation breaks; see docs/howto/hunt.md."""
