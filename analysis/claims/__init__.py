"""What the papers say: the registry of claims, and the language in which a claim is checked against a run."""
