"""What the runs of a page were made from."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

# fields of the provenance that can decide numbers: what booted, down to each module and program under test
MADE_FROM: Final = re.compile(r"kernel|rootfs|tools|module:.*|program:.*")


def distinct(provenances: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Collect the distinct values of each provenance field; one value when all runs were made alike."""
    values: dict[str, list[Any]] = defaultdict(list)
    for provenance in provenances:
        for name, value in provenance.items():
            if value not in values[name]:
                values[name].append(value)
    return dict(values)
