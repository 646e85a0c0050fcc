"""Finds, without a run, what in an expression cannot be evaluated: words with wrong arguments, kinds that do not fit.

A kind is that of a value: a number, a text, a series. Where it only shows in a run, it is None, and anything fits.
"""

import ast
import inspect
import math
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from analysis.claims import syntax
from analysis.run import Run
from analysis.series import Instants, Series
from analysis.words import properties, words
from scenarios import implementations
from scenarios.errors import choices

NUMBER: Final = "a number"
TRUTH: Final = "true or false"
TEXT: Final = "a text"
LIST: Final = "a list"
SERIES: Final = "a series"
INSTANTS: Final = "instants"
RUN: Final = "a run"
BARE: Final = "a word without its arguments"

_GIVEN: Final[Mapping[Any, str]] = MappingProxyType(
    {float: NUMBER, int: NUMBER, bool: TRUTH, str: TEXT, Series: SERIES, Instants: INSTANTS}
)
_SIGNATURES: Final[WeakKeyDictionary[Callable[..., Any], inspect.Signature]] = WeakKeyDictionary()
_CLASSES: Final[Mapping[str, type]] = MappingProxyType({RUN: Run, SERIES: Series, INSTANTS: Instants})
_INSTANTS: Final = ("t", "t0", "t1", "after", "until")  # arguments of words
# what arguments of these names mean, in all words that have them: the smallest value, the largest, and in words
_RANGES: Final = {
    "percent": (0.0, 100.0, "0 to 100"),
    "part": (0.0, 1.0, "0 to 1"),
    "step": (0.001, sys.float_info.max, "0.001 s or more"),
    "gap": (0.0, math.inf, "0 s or more"),
}
# words that a flow answers whose implementation has this parameter
_ASKS: Final[Mapping[str, str]] = MappingProxyType({"call_mos": "rate"})
_PLAIN: Final[Mapping[str, str]] = MappingProxyType(
    {name: TRUTH if name in ("all", "any") else NUMBER for name in syntax.PLAIN - {syntax.NEVER}}
)


TOO_DEEP: Final = "uses words that use words, and so on, on too many levels"


@dataclass(frozen=True)
class Scope:
    """What an expression may name: defined words, and where known the flows of its runs and all cells.

    Each flow has the implementations that it runs in these cells; None stands for one that is not known.
    No instant of its runs is after `ends_s`. `others` are words whose meaning is not known here; they may be anything,
    and take any arguments. Without a cell of its own, an expression has the words of a run only behind `cell(...)` or
    `run(...)`.
    """

    definitions: Mapping[str, str] = field(default_factory=dict)
    others: Collection[str] = ()
    flows: Mapping[str, Collection[str | None]] | None = None
    cells: Collection[str] | None = None
    has_cell: bool = True
    ends_s: float = math.inf


def problem(expression: str, scope: Scope, wanted: str | None = None) -> str | None:
    """Say what no run could evaluate in an expression that `syntax.problem` lets pass; None if nothing is.

    `wanted` is the kind that it must have as a whole.
    """
    try:
        _fits(_Kinds(scope).of(syntax.parsed(expression)), wanted)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return TOO_DEEP
    return None


def _fits(found: str | None, allowed: str | None) -> None:
    if found is not None and allowed is not None and found != allowed:
        raise ValueError(f"{found} stands where only {allowed} can")


class _Kinds:
    """The kinds of an expression's parts, each found once: `known` has those of defined words."""

    def __init__(
        self, scope: Scope, bound: frozenset[str] = frozenset(), known: dict[str, str | None] | None = None
    ) -> None:
        self._scope = scope
        self._bound = bound
        self._known: dict[str, str | None] = {} if known is None else known

    def of(self, node: ast.expr) -> str | None:
        match node:
            case ast.Constant(value=value):
                return _GIVEN[type(value)]
            case ast.Name(id=name):
                return self._name(name)
            case ast.BinOp(left=left, op=op, right=right):
                kinds = self.of(left), self.of(right)
                if isinstance(op, ast.Add) and set(kinds) & {TEXT, LIST, None}:
                    return kinds[0] if kinds[0] == kinds[1] else None
                for kind in kinds:
                    _fits(kind, NUMBER)
                return NUMBER
            case ast.UnaryOp(op=op, operand=operand):
                wanted = TRUTH if isinstance(op, ast.Not) else NUMBER
                _fits(self.of(operand), wanted)
                return wanted
            case ast.BoolOp(values=values):
                self._all(values, TRUTH)
                return TRUTH
            case ast.Compare(left=left, comparators=others):
                sides = [self.of(side) for side in (left, *others)]
                if {*sides} - {TEXT, None}:
                    for side in sides:
                        _fits(side, NUMBER)
                return TRUTH
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                for element in elements:
                    self.of(element)
                return LIST
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                return self._comprehension(element, generators)
            case ast.Subscript(value=value, slice=index):
                _fits(self.of(value), LIST)
                return LIST if isinstance(index, ast.Slice) else None
            case ast.Attribute(value=value, attr=name):
                return self._member(self.of(value), name)
            case ast.Call():
                return self._call(node)
        return None

    def _all(self, nodes: Collection[ast.expr], kind: str) -> None:
        for node in nodes:
            _fits(self.of(node), kind)

    def _name(self, name: str) -> str | None:
        if name in self._bound or name in self._scope.others:
            return None
        if name == syntax.NEVER:
            return NUMBER
        if name in self._scope.definitions:
            if name not in self._known:
                inner = _Kinds(self._before(name), known=self._known)
                self._known[name] = inner.of(syntax.parsed(self._scope.definitions[name]))
            return self._known[name]
        if name in words(Run):
            self._needs_cell(name)
            return self._member(RUN, name)
        return BARE

    def _before(self, name: str) -> Scope:
        """Return the scope of a definition, which may use those above it."""
        above = list(self._scope.definitions)
        above = above[: above.index(name)]
        return replace(self._scope, definitions={each: self._scope.definitions[each] for each in above})

    def _needs_cell(self, name: str) -> None:
        if not self._scope.has_cell and self._scope.cells is not None:
            cells = choices(list(self._scope.cells))
            raise ValueError(f"{name!r} is of one cell; name it as the field `cell`, or by cell(...): {cells}")

    @staticmethod
    def _member(kind: str | None, name: str) -> str | None:
        if kind is None:
            return None
        owner = _CLASSES.get(kind)
        known = words(owner) if owner else {}
        if owner is None or name not in known:
            raise ValueError(f"{kind} has no {name!r}; {choices(list(known), name)}")
        return _given(known[name]) if name in properties(owner) else BARE

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> str:
        inner = self
        for generator in generators:
            _fits(inner.of(generator.iter), LIST)
            bound = inner._bound | {generator.target.id}  # type: ignore[attr-defined]
            inner = _Kinds(self._scope, bound, self._known)
            inner._all(generator.ifs, TRUTH)
        inner.of(element)
        return LIST

    def _call(self, node: ast.Call) -> str | None:
        given = [self.of(argument) for argument in node.args]
        named = {str(word.arg): self.of(word.value) for word in node.keywords}
        if isinstance(node.func, ast.Name):
            name = node.func.id
            if name in self._scope.others:
                return None
            if name in syntax.ELSEWHERE:
                return self._elsewhere(name, node)
            if name in _PLAIN:
                if named:
                    raise ValueError(f"{name} takes no named arguments")
                return _PLAIN[name]
            if name in self._bound or name in self._scope.definitions or name not in words(Run):
                raise ValueError(f"{name!r} takes no arguments")
            self._needs_cell(name)
            kind: str | None = RUN
        else:
            assert isinstance(node.func, ast.Attribute)  # noqa: S101 (the syntax allows no other)
            name, kind = node.func.attr, self.of(node.func.value)
        if kind is None:
            return None
        if self._member(kind, name) != BARE:
            raise ValueError(f"{name!r} takes no arguments")
        function = words(_CLASSES[kind])[name]
        bound = _bound(function, given, named)
        texts = [*node.args, *(word.value for word in node.keywords)]
        for parameter, text in zip(bound, texts, strict=True):
            value = text.value if isinstance(text, ast.Constant) else None
            if isinstance(value, int | float) and (wrong := outside(parameter, value)):
                raise ValueError(f"{name}: {parameter}: {wrong}")
        given_numbers = {
            parameter: text.value
            for parameter, text in zip(bound, texts, strict=True)
            if isinstance(text, ast.Constant) and isinstance(text.value, int | float)
        }
        if given_numbers.get("t1", math.inf) <= given_numbers.get("t0", -math.inf):
            raise ValueError(f"{name}: t1: {given_numbers['t1']:g} s is not after t0, {given_numbers['t0']:g} s")
        if self._is_own(node.func):
            for parameter, text in zip(bound, texts, strict=True):
                if parameter == "flow":
                    self._flow(name, text)
                elif parameter in _INSTANTS:
                    self._instant(f"{name}: {parameter}", text)
        return _given(function)

    def _is_own(self, called: ast.expr) -> bool:
        """Say whether the run that a word is asked of is one of the experiment's own."""
        while not isinstance(called, ast.Name):
            if not isinstance(called, ast.Attribute | ast.Call):
                return False
            called = called.func if isinstance(called, ast.Call) else called.value
        return called.id == "cell" or called.id in words(Run)

    def _instant(self, name: str, text: ast.expr) -> None:
        value = text.value if isinstance(text, ast.Constant) else None
        if isinstance(value, int | float) and value > self._scope.ends_s:
            raise ValueError(f"{name}: {value:g} s is after the end of the run, {self._scope.ends_s:g} s")

    def _flow(self, word: str, text: ast.expr) -> None:
        flows = self._scope.flows
        if flows is None or not isinstance(text, ast.Constant):
            return
        if text.value not in flows:
            raise ValueError(f"there is no flow {text.value!r}; its flows are {choices(list(flows), str(text.value))}")
        parameter, ran = _ASKS.get(word), {*flows[str(text.value)]}
        if parameter is None:
            return
        known = implementations.known()
        able = {name for name, about in known.items() if parameter in about.get("parameters", {})}
        if ran <= known.keys() - able:
            found = ", ".join(sorted(map(str, ran)))
            raise ValueError(
                f"{word}: found {text.value!r}, a flow of {found}, without a {parameter}; {choices(sorted(able))}"
            )

    def _elsewhere(self, name: str, node: ast.Call) -> str:
        first = node.args[0] if node.args else None
        text = first.value if isinstance(first, ast.Constant) else None
        if name == "mean_over_seeds":
            has_cell = self._scope.has_cell or len(node.args) > 1
            _fits(_Kinds(replace(self._scope, has_cell=has_cell)).of(syntax.parsed(str(text))), NUMBER)
            return NUMBER
        cells = self._scope.cells
        if name == "cell" and cells is not None and isinstance(text, str) and text not in cells:
            raise ValueError(f"there is no cell {text!r}; the cells are {choices(list(cells), text)}")
        return RUN


def outside(name: str, value: float) -> str | None:
    """Say which values an argument of this name may have, if this one is none of them."""
    least, most, allowed = _RANGES.get(name, (-math.inf, math.inf, ""))
    return None if least <= value <= most or not allowed else f"found {value:g}; allowed: {allowed}"


def _given(function: Callable[..., Any]) -> str | None:
    kind = signature(function).return_annotation
    return LIST if getattr(kind, "__origin__", None) is list else _GIVEN.get(kind)


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return a function's signature, which is kept no longer than the function: one that looks up cells has runs."""
    if function not in _SIGNATURES:
        _SIGNATURES[function] = inspect.signature(function, eval_str=True)
    return _SIGNATURES[function]


def _bound(function: Callable[..., Any], given: list[str | None], named: dict[str, str | None]) -> list[str]:
    """Return the names of the arguments in the order in which they are written.

    Raises ValueError for too many or too few, a name that there is not, or a kind that does not fit.
    """
    parameters = {name: each for name, each in signature(function).parameters.items() if name != "self"}
    written = [*list(parameters)[: len(given)], *named]
    missing = [name for name, each in parameters.items() if each.default is each.empty and name not in written]
    if len(given) > len(parameters) or len(set(written)) < len(written) or set(written) - {*parameters} or missing:
        wrong = f"lacks {', '.join(missing)}" if missing else "takes no other arguments"
        raise ValueError(f"{function.__name__}({', '.join(parameters)}) {wrong}")
    for name, kind in zip(written, [*given, *named.values()], strict=True):
        annotation = parameters[name].annotation
        wanted = TEXT if annotation in (str, str | None) else NUMBER if annotation in (float, float | None) else None
        if kind is not None and wanted is not None and kind != wanted:
            raise ValueError(f"{function.__name__}: {name}: {kind} stands where only {wanted} can")
    return written
