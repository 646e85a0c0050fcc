"""What the runs of a page were made from."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any


def distinct(provenances: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Collect the distinct values of each provenance field; one value when all runs were made alike."""
    values: dict[str, list[Any]] = defaultdict(list)
    for provenance in provenances:
        for name, value in provenance.items():
            if value not in values[name]:
                values[name].append(value)
    return dict(values)
