"""Numbers as results are compared: to nine digits, since processors with other vector units add in another order."""

from typing import Any


def nine_digits(value: Any) -> Any:
    """Round numbers, also in lists and fields; anything else stays."""
    if isinstance(value, dict):
        return {name: nine_digits(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [nine_digits(part) for part in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value
