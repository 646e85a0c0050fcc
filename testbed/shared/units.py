"""The unit of what an expression measures, where its words tell."""

import ast
from typing import Final

from analysis.judge.statement import is_share
from testbed.shared.metrics import METRICS

_SUFFIXES: Final = {"ms": "ms", "s": "s", "pkts": "packets", "bps": "bit/s", "bytes": "bytes"}
_NAMES: Final = {"throughput": "bit/s", "cwnd": "packets", "in_flight": "packets"}
_SAME: Final = ("at", "mean", "std", "min", "max", "percentile", "window")  # words of a series that keep its unit
_SECONDS: Final = ("ended", "start", "duration", "first", "time_of_max", "first_time_above", "first_time_below")
_SCALED: Final = {("bit/s", 1e-3): "kbit/s", ("bit/s", 1e-6): "Mbit/s", ("bit/s", 1e-9): "Gbit/s", ("s", 1e3): "ms"}


def unit(expression: str) -> str:
    """Return the unit of one word, such as `queue_ms.mean()`, also times a constant; nothing for anything else."""
    factor, node = 1.0, ast.parse(expression.strip(), mode="eval").body
    while isinstance(node, ast.BinOp):
        left, right = (side.value if isinstance(side, ast.Constant) else None for side in (node.left, node.right))
        if isinstance(node.op, ast.Mult) and isinstance(left, int | float):
            factor, node = factor * left, node.right
        elif isinstance(node.op, ast.Div) and isinstance(right, int | float) and right:
            factor, node = factor / right, node.left
        else:
            return ""
    if factor == 1:
        return _of_word(node)
    return "%" if factor == 100 and is_share(node) else _SCALED.get((_of_word(node), factor), "")


def _of_word(node: ast.expr) -> str:
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
    return "s" if node.id in _SECONDS else _NAMES.get(node.id, _SUFFIXES.get(node.id.rpartition("_")[2], ""))


def _of_comparison(phase: str, arguments: list[ast.expr]) -> str:
    named = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    return next((metric.unit for metric in METRICS if metric.phase == phase and metric.name in named), "")
