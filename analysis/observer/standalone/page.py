"""The page of observed captures, and its pictures."""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from analysis.figures import roles, style
from analysis.figures.roles import Role
from analysis.observer import delay
from analysis.observer.conversation import Samples
from analysis.observer.description import ENCRYPTED
from analysis.observer.picture import stacked
from analysis.observer.standalone.captures import told
from analysis.observer.standalone.observed import Observed, bins, throughput
from analysis.report.evidence import link
from analysis.report.formats import number
from analysis.report.rendering import write_page
from analysis.series import Series

TEMPLATE: Final = Path(__file__).with_name("templates") / "captures.html"
FLOW, FORWARD, BACKWARD = "data", "of data", "of answers"


def pictures(observed: Observed) -> dict[str, str]:
    """Give the SVG of a flow, by the end of its name, for wide pages and for phones.

    It shows throughput, delays, packets in flight and round-trip times over time.
    """
    best = observed.seen[0]
    conversation = best.best.conversation
    edges = bins(conversation)
    begin, end = float(edges[0]), float(edges[-1])
    if conversation.end > begin:
        end = min(end, conversation.end)
    rate = throughput(best.passed.conversation, edges) / 1e6
    panels = {"throughput [Mbit/s]": {FLOW: Series(edges[:-1], rate, end)}}
    waiting = delay.queuing(conversation.forward)
    panels |= _panel("queuing delay seen [ms]", {FLOW: waiting}, end)
    if best.sent is not None:
        panels["in flight [packets]"] = {FLOW: best.sent.packets}
        panels |= _panel("round-trip time [ms]", {FLOW: best.sent.round_trips}, end)
    for pair in observed.pairs[:1]:
        panels |= _panel("queuing between captures [ms]", {FORWARD: pair.forward, BACKWARD: pair.backward}, end)
    names = {FLOW: 0, FORWARD: 0, BACKWARD: 1}
    protocol = roles.TCP if conversation.protocol == "tcp" else roles.LEDBAT
    look = {name: Role(name, roles.colour(protocol, place)) for name, place in names.items()}
    return {suffix: stacked(panels, look, (begin, end), width) for suffix, width in style.WIDTHS.items()}


def _panel(title: str, lines: dict[str, Samples], end: float) -> dict[str, dict[str, Series]]:
    """A panel of samples in ms; none when there are none."""
    drawn = {
        name: Series(samples.times[inside], 1e3 * samples.values[inside], end)
        for name, samples in lines.items()
        if (inside := samples.times < end).any()
    }
    return {title: drawn} if drawn else {}


def write(document: dict[str, Any], into: Path, refresh_s: int | None = None) -> None:
    """Write index.html; with `refresh_s` browsers load it again and again."""
    files = [capture["file"] for capture in document["captures"]]
    values = document | {
        "refresh_s": refresh_s,
        "title": title(document["flows"]),
        "told": told,
        "encrypted": ENCRYPTED if any(one["udp_pkts_that_are_not_utp"] for one in document["captures"]) else None,
        "names": (names := short_names(files)),
        "links": [link(names[file], Path(file), into) for file in files],
        "again": shlex.join(["testbed", "observe", *files, "--into", str(into)]),
    }
    write_page(into / "index.html", TEMPLATE, values)


def short_names(files: Sequence[str]) -> dict[str, str]:
    """Name each file by the shortest end of its path that no other one has."""
    paths = {file: Path(file).parts for file in files}
    names = {}
    for file, parts in paths.items():
        ends = (parts[-length:] for length in range(1, len(parts) + 1))
        own = next((end for end in ends if sum(other[-len(end) :] == end for other in paths.values()) == 1), parts)
        names[file] = str(Path(*own))
    return names


def title(flows: Sequence[dict[str, Any]]) -> str:
    """Say what the captures tell of the controllers, by the best view of each flow."""
    judged = [flow["seen_in"][0]["controller"] for flow in flows]
    if len(judged) == 1 and "kind" in judged[0]:
        [one] = judged
        like = f", like {one['like']}" if one["like"] else ""
        return f"The sender's controller: {one['kind']}{like} (confidence {number(one['confidence'], 2)})"
    kinds = Counter(controller.get("kind", "not observed") for controller in judged)
    by_kind = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    return f"The senders' controllers: {by_kind}" if kinds else "No flow tells anything about its sender"
