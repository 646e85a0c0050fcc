"""Name, unit and bound of the number beside a statement: "largest share: 30.1 %; it must be below 20 %"."""

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from analysis.report.formats import DIGITS, with_unit
from analysis.units import unit_of
from common.counts import plural

_EXTREMES: Final = {"max": "largest ", "min": "smallest "}
_OPERATORS: Final = {ast.Lt: "below", ast.LtE: "at most", ast.Gt: "above", ast.GtE: "at least"}
_MIRRORED: Final = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@dataclass(frozen=True)
class NamedQuantity:
    """What a word of claims gives: its name, the unit that pages show, and the factor from the word's unit to that."""

    name: str
    unit: str = ""
    factor: float = 1.0
    never: str = "never"  # what stands for infinity


_QUANTITIES: Final = {
    "share": NamedQuantity("share", "%", 100),
    "utilization": NamedQuantity("link used", "%", 100),
    "jain": NamedQuantity("Jain's index"),
    "throughput": NamedQuantity("throughput", "Mbit/s", 1e-6),
    "video_bps": NamedQuantity("rate of the film", "Mbit/s", 1e-6),
    "loss_rate": NamedQuantity("packets dropped", "%", 100),
    "retransmission_rate": NamedQuantity("packets sent again", "%", 100),
    "queue_share": NamedQuantity("part of the queue", "%", 100),
    "queue_ms": NamedQuantity("queue", "ms"),
    "queue_pkts": NamedQuantity("queue", "packets"),
    "cwnd": NamedQuantity("window", "packets"),
    "waited_ms": NamedQuantity("wait in the queue", "ms"),
    "srtt_ms": NamedQuantity("smoothed round-trip time", "ms"),
    "rtt_ms": NamedQuantity("round-trip time", "ms"),
    "queuing_delay_ms": NamedQuantity("estimated queue", "ms"),
    "base_delay_ms": NamedQuantity("base delay", "ms"),
    "packet_delay_ms": NamedQuantity("delay of packets", "ms", never="none, as packets never arrived"),
    "call_mos": NamedQuantity("mean opinion score"),
    "object_s": NamedQuantity("time for an object", "s", never="none, as it never came"),
    "stalled_s": NamedQuantity("time that the film stands still", "s"),
    "drops": NamedQuantity("drops", "packets"),
}
INSTANTS: Final = frozenset(("first_time_above", "first_time_below", "time_of_max", "first"))
# numbers without a unit that papers print, by their metric
_BARE_NAMES: Final = {
    "jain_fairness": "Jain's index",
    "loss_rate": "part of the packets dropped",
    "loss_rate_max": "part of the packets dropped",
    "link_utilization": "throughput over capacity",
    "normalized_throughput_limit": "throughput over capacity",
    "normalized_throughput_max": "throughput over capacity",
    "beta_fixed": "decrease factor",
    "beta_mdvar": "decrease factor",
    "bytes_tcp / bytes_ledbat": "bytes of TCP over those of LEDBAT",
    "queue_owned_per_flow / queue_total": "part of the queue of a flow",
    "receive_window_linux / windows": "receive window of Linux over that of Windows",
}
# what papers print with a unit, where the metric says nothing to a reader
_NAMES: Final = {
    "base_history_minutes_max": "longest base history",
    "base_history_minutes_min": "shortest base history",
    "bdp_bytes": "bandwidth-delay product",
    "bdp_pkts": "bandwidth-delay product",
    "completion_first_flow": "end of the first flow",
    "completion_last_flow": "end of the last flow",
    "completion_second_flow": "end of the second flow",
    "cwnd_change_per_rtt": "change of the window in a round trip",
    "duration_second_flow": "duration of the second flow",
    "eta(Fig.2a) - eta(Fig.2b)": "link used in Fig. 2(a), less that in Fig. 2(b)",
    "eta(TCP+LEDBAT)/eta(2 TCP) - 1": "how much better than two TCP flows",
    "eta(TCP+LEDBAT)/eta(TCP alone) - 1": "how much better than TCP alone",
    "extra_delay_to_overflow": "from the target to a full buffer",
    "extra_subtraction": "taken off beside the factor",
    "max_increase": "fastest increase of the window",
    "min_decrease": "slowest decrease of the window",
    "min_window": "smallest window",
    "n_max": "entries of the base history",
    "n_min": "fewest entries of the base history",
    "next_queue_step": "next step of the queue",
    "persistence_range_max": "how long it is unfair at most",
    "persistence_range_min": "how long it is unfair at least",
    "queue_bytes": "queue",
    "queue_needed_by_second": "queue that the late-comer needs",
    "queue_steady": "steady queue",
    "queue_step_size": "step of the queue",
    "second_flow_base_delay_error": "error of the second flow's base delay",
    "start_second_flow": "start of the second flow",
    "t_update": "time of an entry of the base history",
    "target_pkts": "target",
    "tcp_cwnd_after_first_loss": "TCP's window after its first loss",
    "tcp_retransmissions": "packets that TCP sends again",
    "time_first_at_min_window": "first flow at its smallest window",
    "time_first_loss": "first loss",
    "time_first_tcp_loss": "TCP's first loss",
    "time_ledbat_growth_stops": "end of LEDBAT's growth",
    "time_ledbat_reaches_min_window": "LEDBAT at its smallest window",
    "time_ledbat_shrink_ends": "LEDBAT back at its smallest window",
    "time_of_min_window": "window at its smallest",
    "time_queue_reaches_target": "queue at its target",
    "two_targets_pkts": "two targets",
    "wasted_uplink": "uplink left unused",
    "window_change_per_rtt": "change of the window in a round trip",
}
_STATISTICS: Final = {
    "mean": "mean ",
    "max": "highest ",
    "min": "lowest ",
    "std": "standard deviation of the ",
    "slope": "slope of the ",
    "percentile": "percentile of the ",
}


def quantity(claim: Mapping[str, Any]) -> NamedQuantity:
    """Give what a claim's `measure` is; by the claim's own name and unit where it is no single word's number."""
    own = NamedQuantity(claim.get("number") or str(claim["metric"]).replace("_", " "), str(claim.get("unit") or ""))
    if claim.get("number") or claim.get("unit") or not claim.get("measure"):
        return own
    extreme, node = "", ast.parse(claim["measure"].strip(), mode="eval").body
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _EXTREMES:
        extreme, node = _EXTREMES[node.func.id], node.args[0]
    if isinstance(node, ast.ListComp):
        node = node.elt
    elif isinstance(node, ast.List) and node.elts:
        node = node.elts[0]
    statistic, word = _described(node)
    if word in INSTANTS:
        return NamedQuantity(f"{extreme}instant".replace("largest", "latest").replace("smallest", "earliest"), "s")
    if word not in _QUANTITIES or statistic == _STATISTICS["slope"]:
        return own
    known = _QUANTITIES[word]
    return replace(known, name=extreme + statistic + known.name)


def bare_name(claim: Mapping[str, Any]) -> str:
    """Give the name of a number without a unit, which says nothing alone: 0.7; nothing for others."""
    if unit_of(claim.get("unit")) or claim.get("held"):  # `named` has it
        return ""
    return claim.get("number") or _BARE_NAMES.get(claim["metric"], "")


def axis_name(claim: Mapping[str, Any]) -> str:
    """Give the name of what an axis of a claim's numbers shows."""
    return bare_name(claim) or claim.get("number") or _NAMES.get(claim["metric"]) or quantity(claim).name


def _described(node: ast.AST) -> tuple[str, str]:
    """Give the statistic and the word of a run that a node is: `queue_ms.mean(40)` is the mean of queue_ms."""
    if isinstance(node, ast.Call):
        statistic, word = _described(node.func)
        if statistic == _STATISTICS["percentile"] and node.args and isinstance(node.args[0], ast.Constant):
            statistic = f"{ast.unparse(node.args[0])} % {statistic}"
        return statistic, word
    if isinstance(node, ast.Name):
        return "", node.id
    if isinstance(node, ast.Attribute):
        if node.attr in _QUANTITIES or node.attr in INSTANTS:
            return "", node.attr
        return _STATISTICS.get(node.attr, ""), _described(node.value)[1]
    return "", ""


def bound(claim: Mapping[str, Any]) -> str:
    """Give what the number must be: "below 20 %"; nothing where the statement compares with no single number."""
    if not claim.get("holds"):
        return ""
    nodes = ast.walk(ast.parse(claim["holds"].strip(), mode="eval"))
    compared = [node for node in nodes if isinstance(node, ast.Compare)]
    bounds = {text for node in compared if (text := _bound(node, claim))}
    return bounds.pop() if len(compared) == len(bounds) == 1 else ""


def _bound(node: ast.Compare, claim: Mapping[str, Any]) -> str:
    if len(node.ops) != 1 or type(node.ops[0]) not in _OPERATORS:
        return ""
    kind, sides = type(node.ops[0]), (node.left, node.comparators[0])
    if isinstance(sides[0], ast.Constant):
        kind, sides = _MIRRORED[kind], (sides[1], sides[0])
    of, limit = quantity(claim), sides[1]
    if not isinstance(limit, ast.Constant) or not isinstance(limit.value, int | float):
        return ""
    measured = ast.parse(str(claim.get("measure") or "None").strip(), mode="eval").body
    if ast.dump(sides[0]) != ast.dump(measured):
        # that of one of several cells, or the same in another unit
        statistic, word = _described(sides[0])
        if word not in _QUANTITIES or not of.name.endswith(statistic + _QUANTITIES[word].name):
            return ""
        of = _QUANTITIES[word]
    value = limit.value * of.factor
    # a bound is exact: it has the digits that it needs, up to three
    digits = next((digits for digits in (1, 2) if math.isclose(float(f"{value:.{digits}g}"), value)), DIGITS)
    return f"{_OPERATORS[kind]} {with_unit(value, of.unit, digits)}"


def named(claim: Mapping[str, Any]) -> str:
    """Give the number that is shown beside a statement, with its name, its unit and its bound."""
    measured = claim.get("measured")
    if not measured:
        return ""
    of = quantity(claim)
    value = of.never if measured["mean"] is None else with_unit(measured["mean"] * of.factor, of.unit)
    spread = ""
    if measured["seeds"] > 1 and measured["minimum"] is not None:
        ends = [with_unit(measured[end] * of.factor, "") for end in ("minimum", "maximum")]
        seeds = plural(measured["seeds"], "seed")
        spread = f" (mean of {seeds}; {' to '.join(ends)})" if ends[0] != ends[1] else ""
    must = "" if claim.get("not_testable") else bound(claim)  # what is not judged is not compared
    return f"{of.name}: {value}{spread}" + (f"; it must be {must}" if must else "")
