"""A number of each implementation in the same scenario, and how they stand beside the first one."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any, Final

from analysis.judge.spread import spread
from analysis.report.formats import with_unit
from analysis.run import Run
from analysis.series import NeverHappenedError, NotMeasuredError
from common.counts import plural
from testbed.shared.differences import LEVEL, rank_test
from testbed.shared.metrics import LESS, MORE, Metric

MOST_NAMED: Final = 2
"""Others that a title names one by one."""


def measure_metric(metric: Metric, clients: list[str], runs: dict[str, list[Run]]) -> dict[str, Any]:
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


def add_standing(metric: dict[str, Any], first: str, believed: float) -> None:
    """Say of each other client how it stands beside the first one, by what the test allows to say."""
    means = {client: _mean(entry) for client, entry in metric["clients"].items()}
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


def title(metrics: Iterable[dict[str, Any]], clients: Sequence[str], seeds: int) -> str:
    """Say in how many numbers, whose standing is told, the others differ from the first one, and in which one most.

    The `where` of a metric names its scenario and point; it may be empty.
    """
    first, *others = clients
    metrics = list(metrics)
    of_clients = counts(metrics, clients)
    of_all = sum(of_clients.values(), Counter[str]())
    if not of_all:
        return f"{_beside(others, first)}: nothing to compare"
    if of_all.total() == of_all["open"]:
        return f"{_beside(others, first)}: {plural(seeds, 'seed')} cannot show a difference"
    if len(others) > MOST_NAMED:
        differ = of_all.total() - of_all["alike"] - of_all["open"]
        sentence = f"{_beside(others, first)}: {differ} of {plural(of_all.total(), 'number')} differ"
        return sentence + _most(metrics, first, others)
    return "; ".join(
        f"{_beside([client], first)}: {_stands(of_client)}{_most(metrics, first, [client])}"
        for client, of_client in of_clients.items()
    )


def counts(metrics: Sequence[dict[str, Any]], clients: Sequence[str]) -> dict[str, Counter[str]]:
    """Count how each other client stands beside the first one."""
    return {client: Counter(filter(None, _standings(metrics, client))) for client in clients[1:]}


def _standings(metrics: Iterable[dict[str, Any]], client: str) -> Iterator[str | None]:
    return (metric["clients"].get(client, {}).get("standing") for metric in metrics)


def _most(metrics: Sequence[dict[str, Any]], first: str, others: Sequence[str]) -> str:
    """Name the number that differs by the largest factor from that of the first one; nothing where none differs."""
    factors = []
    for client in others:
        for metric, standing in zip(metrics, _standings(metrics, client), strict=True):
            if standing not in (None, "open", "alike"):
                means = [_mean(metric["clients"][name]) for name in (client, first)]
                whose = "" if len(others) == 1 else f" of {client}"
                where = f" ({metric['where']})" if metric["where"] else ""
                texts = (with_unit(mean, metric["unit"]) for mean in means)
                difference = f"{metric['name']}{whose}: {' instead of '.join(texts)}{where}"
                factors.append((_factor(*means), difference))
    return f", most in {max(factors, key=itemgetter(0))[1]}" if factors else ""


def _mean(entry: dict[str, Any]) -> float:
    return math.inf if entry["mean"] is None else float(entry["mean"])


def _factor(one: float, other: float) -> float:
    """Give the larger over the smaller one; nothing is a multiple of 0, so that a pair with a 0 has the least rank."""
    low, high = sorted((abs(one), abs(other)))
    return high / low if 0 < low < math.inf else 0.0


def _beside(others: Sequence[str], first: str) -> str:
    named = " and ".join(others) if len(others) <= MOST_NAMED else f"{len(others)} implementations"
    return f"{named} beside {first}"


def _stands(standings: Counter[str]) -> str:
    of = plural(standings.total(), "number")
    if not standings:
        return "nothing to compare"
    neither = standings["more"] + standings["less"]
    parts = (("better", standings["better"]), ("worse", standings["worse"]), ("otherwise", neither))
    counted = [f"{word} in {count}" for word, count in parts if count]
    return f"{', '.join(counted)} of {of}" if counted else f"no difference shown in {of}"
