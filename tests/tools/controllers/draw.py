"""Networks that nobody chose: queues, neighbours and controls drawn from a seed, of which the observer has seen none.

A set is drawn once, and its seed is committed before its first run. What a set taught is no longer unseen: what is
mended for it is judged by a set of another seed.
"""

import json
import math
from collections.abc import Sequence
from random import Random
from typing import Any, Final

NETWORKS: Final = 120
"""Each has a control under test and up to three neighbours, of which those with a known control are judged, too."""
SECONDS: Final = 40

# whether a window or an application limits a sender would depend on the network drawn, so no such sender is here
CONTROLS: Final[Sequence[tuple[str, dict[str, str]]]] = (
    *((name, {}) for name in ("tcp-reno", "tcp-cubic", "tcp-bbr", "tcp-vegas", "tcp-ledbat", "tcp-ledbatpp")),
    *((name, {}) for name in ("tcp-nice", "tcp-aimd", "tcp-tahoe", "tcp-ledbat-icccn", "tcp-fledbat")),
    *((name, {}) for name in ("libutp", "transmission-4", "libtorrent-2.0", "librqbit-utp", "utp-native", "utp-crate")),
    *(("quinn", {"control": control}) for control in ("cubic", "newreno")),
    ("picoquic", {"control": "bbr"}),
    *(("ngtcp2", {"control": control}) for control in ("reno", "cubic")),
    ("quic-go", {}),
)
FURTHER: Final[Sequence[tuple[str, dict[str, str]]]] = tuple(
    (f"tcp-{name}", {})
    for name in ("bic", "cdg", "dctcp", "htcp", "illinois", "nv", "westwood", "yeah", "4cp", "lp", "rledbat")
)
"""The rest of the guest's controls, which sets have from this seed on; earlier ones are drawn as they were."""
FURTHER_FROM: Final = 10
QUEUES: Final = ("fifo", "fifo", "fifo", "fifo", "bfifo", "codel", "fq_codel", "pie", "fq_pie", "cake")
NEIGHBOURS: Final[tuple[dict[str, Any], ...]] = (
    {"implementation": "udp-cbr", "params": {"rate": "64kbit"}},
    {"implementation": "udp-cbr", "params": {"rate": "1mbit"}},
    {"implementation": "tcp-reno"},
    {"implementation": "tcp-cubic"},
    {"implementation": "tcp-vegas"},
    {"implementation": "tcp-bbr"},
    {"implementation": "tcp-ledbat"},
    {"implementation": "tcp-ledbatpp"},
    {"implementation": "libutp"},
    {"implementation": "quinn", "params": {"control": "newreno"}},
    {"implementation": "web", "params": {"load": "500kbit"}},
)


def drawn(seed: int) -> str:
    """Return the scenario with a case for each network, the same for the same seed."""
    random = Random(seed)  # noqa: S311  # nothing to guess
    known = CONTROLS if seed < FURTHER_FROM else (*CONTROLS, *FURTHER)
    controls = [known[number % len(known)] for number in range(NETWORKS)]
    random.shuffle(controls)
    cases = {f"network-{number}": _network(random, *control) for number, control in enumerate(controls, 1)}
    first = next(iter(cases.values()))
    scenario = {
        "experiment": f"kinds-drawn-{seed}",
        "title": "Controls beside drawn neighbours in drawn networks",
        "topology": {"name": "dumbbell", "pairs": 4},
        **{field: first[field] for field in ("bottleneck", "delay", "flows")},
        "duration": f"{SECONDS}s",
        "captures": ["sender", "receiver"],
        "cases": cases,
    }
    return json.dumps(scenario, indent=1)  # which is YAML, too


def _network(random: Random, control: str, params: dict[str, str]) -> dict[str, Any]:
    rate_kbit = round(_between(random, 1500, 12000), -2)
    forward_ms, backward_ms = (round(_between(random, 5, 80)) for _ in range(2))
    flight_pkts = rate_kbit * (forward_ms + backward_ms) / 12000
    queue = random.choice(QUEUES)
    deep = _between(random, 0.5, 5) if "fifo" in queue else 10
    bottleneck = {"rate": f"{rate_kbit:g}kbit", "buffer": f"{max(20, round(deep * flight_pkts))}p", "queue": queue}
    under_test: dict[str, Any] = {"name": "it", "implementation": control, "from": "s1", "to": "d1"}
    under_test |= {"params": params} if params else {}
    beside = random.sample(NEIGHBOURS, random.choice((0, 1, 2, 3, 3, 3)))
    flows = [
        {"name": f"beside-{number}", "from": f"s{number}", "to": f"d{number}", **neighbour}
        for number, neighbour in enumerate(beside, 2)
    ]
    network = {
        "bottleneck": bottleneck,
        "delay": {"forward": f"{forward_ms}ms", "backward": f"{backward_ms}ms"},
        "flows": [under_test, *flows],
    }
    path: dict[str, Any] = {}
    if random.random() < 0.2:
        path["loss"] = {"forward": f"{round(1e4 * _between(random, 0.02, 0.2))}ppm"}
    if random.random() < 0.1:
        path |= {"jitter": {"forward": f"{random.randint(1, 3)}ms"}, "keep_order": {"forward": True}}
    return network | ({"events": [{"at": "0s", "on": "path", **path}]} if path else {})


def _between(random: Random, least: float, most: float) -> float:
    """Draw evenly on a logarithmic scale."""
    return math.exp(random.uniform(math.log(least), math.log(most)))
