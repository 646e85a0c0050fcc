"""The colour and the name of a line: by its protocol, and its place among the flows of that protocol.

Every colour has a contrast of at least 3:1 against both grounds, white and nearly black, so that a protocol looks the
same on either; tests/analysis/test_grammar.py computes that, and how far apart colours that meet in a figure stay for
colour-blind readers. The palette was searched by computer for the largest of those smallest distances.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from analysis.documents import Fields
from analysis.run_json import OTHER, Flow

LEDBAT: Final = "LEDBAT"
TCP: Final = "TCP"
TOGETHER_S: Final = 1.0  # flows that start this close to each other start together
# by protocol: its first flow in the order of their starts, its second (a late-comer), and so on
COLOURS: Final[dict[str, tuple[str, ...]]] = {
    TCP: ("#f95801", "#b2471c"),
    LEDBAT: ("#2694f3", "#9744a9", "#337262", "#6c7800", "#e460b4"),
    "LEDBAT++": ("#854cba",),
    "TCP-LP": ("#307672",),
    "Vegas": ("#bc392a",),
    "TCP Nice": ("#8e9478",),
    "constant rate": ("#b63569",),
    "QUIC": ("#bf67bc",),
    "DNS": ("#8a6d3b",),
    "queue": ("#70757d",),  # nobody's own
}
PAPER: Final = "#7e9568"  # what the paper prints, with its tolerance

# Families without a colour of their own have that of their transport, and its name.
_TRANSPORTS: Final = {"tcp": (TCP, TCP), "utp": (LEDBAT, "uTP"), "udp": ("constant rate", "UDP")}


@dataclass(frozen=True)
class Role:
    """How a line is drawn, and called."""

    label: str
    colour: str


def protocol(flow: Flow) -> str:
    """Give the protocol whose colour a flow has: that of its family or, if that has none, of its transport."""
    return flow.family if flow.family in COLOURS else _TRANSPORTS[flow.transport][0]


def name(flow: Flow) -> str:
    """Give what the line of a flow is called: its family or its transport; where the family is unknown, itself.

    What stands for a client that is gone is called its surrogate. LEDBAT over uTP, as of libutp, says so.
    """
    if flow.surrogate_of:
        return f"{flow.surrogate_of} (surrogate)"
    if flow.family == OTHER:
        return flow.implementation
    over = _TRANSPORTS[flow.transport][1]
    if flow.family not in COLOURS:
        return over
    return f"{flow.family} ({over})" if flow.transport == "utp" else flow.family


def colour(protocol: str, place: int = 0) -> str:
    """Colour of a protocol's flow, by its place; where there are more flows than colours, they come again."""
    colours = COLOURS[protocol]
    return colours[place % len(colours)]


def of_flows(flows: Sequence[Flow]) -> dict[str, Role]:
    """Give each flow its role, by its name.

    Names tell flows of one protocol and direction apart, or numbers where names end with one.
    """
    kinds = {flow.name: (name(flow), flow.backward) for flow in flows}
    several, same = Counter(kinds.values()), Counter(called for called, _ in kinds.values())
    seen: Counter[str] = Counter()
    roles = {}
    for flow in _in_order(flows):
        called, backward = kinds[flow.name]
        label = f"{called}, reverse" if backward and same[called] > 1 else called
        if several[called, backward] > 1:
            number = re.search(r"\d+$", flow.name)
            # "LEDBAT" beside "LEDBAT, late"
            label += f" {number[0]}" if number else f", {flow.name}" * (flow.name.lower() != called.lower())
        spoken = protocol(flow)
        roles[flow.name] = Role(label, colour(spoken, seen[spoken]))
        seen[spoken] += 1
    return roles


def _in_order(flows: Sequence[Flow]) -> list[Flow]:
    """Sort flows by their starts; those that start together keep their order.

    Their exact starts are drawn by the seed, and a flow must not have one colour in a cell and another beside it.
    """
    begins, starts = -math.inf, dict[str, float]()
    for flow in sorted(flows, key=lambda flow: flow.start_s):
        begins = begins if flow.start_s - begins < TOGETHER_S else flow.start_s
        starts[flow.name] = begins
    return sorted(flows, key=lambda flow: starts[flow.name])


def by_flow(flows: Sequence[Flow]) -> dict[str, Role]:
    """Give each flow its colour, and its own name: for figures whose titles say what it runs."""
    return {flow: replace(role, label=flow) for flow, role in of_flows(flows).items()}


# names of controls in figures, by the protocol whose colour they have
_CALLED: Final = {
    **{name: name for name in COLOURS},
    **dict.fromkeys(("CUBIC", "Reno", "BBR", "4CP"), TCP),
    **dict.fromkeys(("fLEDBAT", "uTP", "libutp", "libtorrent", "Transmission"), LEDBAT),
}


_LONGEST_FIRST: Final = sorted(_CALLED, key=len, reverse=True)
_WORDS: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, _LONGEST_FIRST))})(?![\w+-])")


def colour_of_name(*names: str) -> str:
    """Colour of the first name that begins with a protocol, or with a control or client of it, or names only one.

    Grey for others.
    """
    for name in names:
        if begins := _WORDS.match(name):
            return colour(_CALLED[begins[0]])
    for name in names:
        protocols = {_CALLED[word] for word in _WORDS.findall(name)}
        if len(protocols) == 1:
            return colour(protocols.pop())
    return colour("queue")


def declared(document: Fields, field: str) -> str:
    """Colour of the role that a figure's declaration names, such as `TCP` or `LEDBAT 2`."""
    role = document.get(field, str)
    protocol, _, place = role.rpartition(" ")
    name = protocol if place.isdigit() else role
    if name not in COLOURS:
        allowed = f"one of {', '.join(COLOURS)}, with a number for a later flow"
        raise document.error(document.name(field), role, allowed)
    return colour(name, int(place) - 1 if place.isdigit() else 0)
