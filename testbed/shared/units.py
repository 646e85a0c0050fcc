"""The unit of what an expression measures, where its words tell."""

import ast
from typing import Final

from analysis.judge.statement import is_share
from analysis.run import Run
from analysis.series import Instants, Series
from analysis.words import SAME, units
from testbed.shared.metrics import METRICS

# of products' own measures, by the ends of their names
_OF_NAMES: Final = {"ms": "ms", "s": "s", "pkts": "packets", "bps": "bit/s", "bytes": "bytes"}
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
        elif (its_own := units(Series).get(node.attr) or units(Instants).get(node.attr)) == SAME:
            node = node.value
        else:
            return its_own or ""
    if not isinstance(node, ast.Name):
        return ""
    return units(Run).get(node.id, _OF_NAMES.get(node.id.rpartition("_")[2], ""))


def _of_comparison(phase: str, arguments: list[ast.expr]) -> str:
    named = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    return next((metric.unit for metric in METRICS if metric.phase == phase and metric.name in named), "")
