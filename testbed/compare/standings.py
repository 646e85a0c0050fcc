"""A number of each implementation in the same scenario, and how they stand beside the first one."""

import math
from dataclasses import asdict
from typing import Any

from analysis.run import Run
from analysis.series import NeverHappenedError, NotMeasuredError
from analysis.verdicts.spread import spread
from testbed.compare.differences import LEVEL, rank_test
from testbed.compare.metrics import LESS, MORE, Metric


def measured(metric: Metric, clients: list[str], runs: dict[str, list[Run]]) -> dict[str, Any]:
    """Measure every run; `clients` is empty where no run has such a number.

    `p` is of the test against the first one, where that can show a difference.
    """
    numbers: dict[str, dict[int, float]] = {}
    for client in clients:
        values: dict[int, float] = {}
        for run in runs[client]:
            try:
                values[run.settings.seed] = metric.measure(run)
            except NeverHappenedError:
                values[run.settings.seed] = math.inf
            except NotMeasuredError:
                continue
        if values:
            numbers[client] = values
    first = list(numbers.get(clients[0], {}).values())
    examples = [of_client[0] for of_client in runs.values() if of_client]
    return {
        "phase": metric.phase,
        "name": metric.name,
        "better": metric.better(examples) if numbers else None,
        "unit": metric.unit,
        "says": metric.says,
        "clients": {
            client: {
                **asdict(spread(values)),
                "by_seed": {seed: value if math.isfinite(value) else "never" for seed, value in values.items()},
                "p": None if client == clients[0] else rank_test(first, list(values.values()), LEVEL),
            }
            for client, values in numbers.items()
        },
    }


def tell_standing(metric: dict[str, Any], first: str, believed: float) -> None:
    """Say of each other client how it stands beside the first one, by what the test allows to say."""
    means = {
        client: math.inf if entry["mean"] is None else entry["mean"] for client, entry in metric["clients"].items()
    }
    for client, entry in metric["clients"].items():
        if client == first or first not in means:
            continue
        if entry["p"] is None:
            entry["standing"] = "open"
        elif entry["p"] > believed:
            entry["standing"] = "alike"
        else:
            direction = MORE if means[client] > means[first] else LESS
            good = metric["better"]
            entry["standing"] = direction if good is None else "better" if direction == good else "worse"
