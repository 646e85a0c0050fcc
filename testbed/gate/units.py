"""The unit of what an expression measures, where its words tell."""

import ast
from typing import Final

from testbed.compare.metrics import METRICS

_SUFFIXES: Final = {"ms": "ms", "s": "s", "pkts": "packets", "bps": "bit/s", "bytes": "bytes"}
_SAME: Final = ("at", "mean", "std", "min", "max", "percentile", "window")  # words of a series that keep its unit
_SECONDS: Final = ("ended", "start", "duration", "first", "time_of_max", "first_time_above", "first_time_below")


def unit(expression: str) -> str:
    """Return the unit of one word, such as `queue_ms.mean()`; an empty text for anything else."""
    node = ast.parse(expression.strip(), mode="eval").body
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and (compared_unit := _of_comparison(node.func.id, node.args)):
                return compared_unit
            node = node.func
        elif node.attr in _SECONDS:
            return "s"
        elif node.attr in _SAME:
            node = node.value
        else:
            return ""
    if not isinstance(node, ast.Name):
        return ""
    return "s" if node.id in _SECONDS else _SUFFIXES.get(node.id.rpartition("_")[2], "")


def _of_comparison(phase: str, arguments: list[ast.expr]) -> str:
    named = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    return next((metric.unit for metric in METRICS if metric.phase == phase and metric.name in named), "")
