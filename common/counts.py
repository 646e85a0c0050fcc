"""Amounts with their nouns."""


def plural(amount: int, singular: str, several: str = "") -> str:
    """Give an amount with its noun: 1 seed, 2 seeds."""
    return f"{amount:,} {singular if amount == 1 else several or singular + 's'}"
