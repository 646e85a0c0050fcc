"""Evaluates the expressions of claims: arithmetic, comparisons, lists, and the words of the vocabulary.

An expression may come from anybody, in an archive for example. So there is a list of what it may consist of
(`analysis.claims.syntax`), nothing else is evaluated, and what it may take is bounded: the numbers, texts and lists
that it makes, and the steps, the processor time and the memory of its evaluation.

`never` stands for an instant that did not come. It is later than any other, also after finite terms or a change of
units. What else arithmetic could make of it is no number, and not measured. No comparison with a value at such an
instant (NaN) holds.
"""

import ast
import inspect
import math
import operator
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final, NoReturn

from analysis.claims import kinds, syntax
from analysis.claims.comparisons import NO_VALUE, SIGNS, NoNumberError, compare
from analysis.claims.syntax import ELSEWHERE, LONGEST, NEVER, PLAIN
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadExpressionError
from analysis.run import Run
from analysis.series import Instants, NeverHappenedError, NotMeasuredError, Series
from analysis.watchdog import resident_bytes
from analysis.words import words

TOO_LARGE: Final = "makes a number that is too large"
LARGEST: Final = 2**53  # of whole numbers: floats, which hold all results, know no larger one exactly
MOST_STEPS: Final = 1_000_000  # of an evaluation; the longest of the papers' claims takes some thousands
MOST_CPU_S: Final = 600.0  # of an evaluation, with the tables that it reads; a mean over a hundred seeds takes a minute
MOST_MEMORY_BYTES: Final = 2 << 30  # of the process that evaluates; the largest of the papers' claims takes 0.8 GB
_MUCH: Final = 1000  # parts of a value from which on it is worth a look at the memory


def trend(places: Sequence[float], numbers: Sequence[float]) -> float:
    """Return the slope of the straight line of least squares through numbers at places, in units of both."""
    middle, centre = fmean(places), fmean(numbers)
    steps = [place - middle for place in places]
    rises = (step * (number - centre) for step, number in zip(steps, numbers, strict=True))
    return math.fsum(rises) / math.fsum(step**2 for step in steps)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "len": len,
    "max": max,
    "min": min,
    "sum": sum,
    "trend": trend,
}

KNOWN: Final = frozenset((*PLAIN, *ELSEWHERE, *words(Run)))
WORDS_OF: Final[dict[type, frozenset[str]]] = {kind: frozenset(words(kind)) for kind in (Run, Series, Instants)}
ALL_ATTRIBUTES: Final = frozenset(name for names in WORDS_OF.values() for name in names)

_SIGNS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_ARITHMETIC: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def problem(expression: str, defined: Collection[str], wanted: str | None = None) -> str | None:
    """Say what is wrong with an expression, as far as that shows without a run.

    It may use the words `defined`; `wanted` is the kind that it must have as a whole.
    """
    wrong = syntax.problem(expression, KNOWN.union(defined), ALL_ATTRIBUTES)
    return wrong or kinds.problem(expression, kinds.Scope(others=defined), wanted)


def evaluate(expression: str, vocabulary: Vocabulary) -> Any:
    """Evaluate an expression.

    Raises NotMeasuredError and NeverHappenedError for what the data cannot tell, BadInputError for an expression that
    makes no sense.
    """
    try:
        return _Evaluation(vocabulary).of(syntax.parsed(expression))
    except ZeroDivisionError as error:
        raise NotMeasuredError(f"{expression}: division by zero") from error
    except IndexError as error:
        # the expression names the third loss of two, say
        raise NeverHappenedError from error
    except NotMeasuredError as error:
        raise NotMeasuredError(f"{expression}: {error}") if isinstance(error, NoNumberError) else error from error
    except MemoryError:
        raise BadExpressionError(expression, "wants more memory than it may have") from None
    except RecursionError:
        raise BadExpressionError(expression, kinds.TOO_DEEP) from None
    except OverflowError:
        raise BadExpressionError(expression, "makes a number larger than any that a computer holds") from None
    except BadExpressionError:
        raise  # of a word that it uses
    except ValueError as error:
        raise BadExpressionError(expression, str(error)) from error
    except (TypeError, KeyError, AttributeError) as error:
        defect = f"a word failed ({type(error).__name__}: {error}), which is a defect of the testbed"
        raise BadExpressionError(expression, defect) from error


def arithmetic(expression: str, names: Mapping[str, float]) -> float:
    """Evaluate an expression of numbers and these names. Raises as `evaluate` does."""

    def find(experiment: str, cell: str) -> NoReturn:
        raise ValueError(f"found {experiment!r} and {cell!r}; allowed: numbers, {', '.join(names)}")

    vocabulary = Vocabulary(None, "", find, dict.fromkeys(names, ""))
    vocabulary.defined |= names
    return float(evaluate(expression, vocabulary))


class _Evaluation:
    """One evaluation, with the names that its comprehensions have bound and the steps that it has taken.

    Its methods raise ValueError for what makes no sense.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._bound: dict[str, Any] = {}
        self._steps = 0
        self._until_s = time.thread_time() + MOST_CPU_S
        self._without_value = 0  # comparisons with what has no value (NaN), which do not hold

    def of(self, node: ast.expr) -> Any:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise ValueError(f"takes more than {MOST_STEPS:,} steps")
        if time.thread_time() > self._until_s:
            raise ValueError(f"takes more than {MOST_CPU_S:g} s of processor time")
        value = self._of(node)
        if _is_much(value) and resident_bytes() > MOST_MEMORY_BYTES:
            raise ValueError(f"takes more than {MOST_MEMORY_BYTES >> 30} GiB of memory")
        return value

    def _of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._name(name)
            case ast.BinOp(left=left, op=op, right=right):
                return self._arithmetic(type(op), self.of(left), self.of(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._arithmetic(ast.Sub, 0, self.of(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return _number(self.of(operand))
            case ast.UnaryOp(operand=operand):
                before = self._without_value
                truth = _truth(self.of(operand))
                if self._without_value > before:  # else `not` would make a statement of what is not known
                    raise NeverHappenedError
                return not truth
            case ast.BoolOp(op=ast.And(), values=values):
                return all(_truth(self.of(value)) for value in values)
            case ast.BoolOp(values=values):
                return any(_truth(self.of(value)) for value in values)
            case ast.Compare():
                return self._compare(node)
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return [self.of(element) for element in elements]
            case ast.ListComp() | ast.GeneratorExp():
                return list(self._comprehension(node.elt, node.generators))
            case ast.Subscript(value=value, slice=index):
                return self._item(self.of(value), index)
            case ast.Attribute(value=value, attr=name):
                return self._attribute(self.of(value), name)
            case ast.Call(func=function, args=arguments, keywords=keywords):
                called = self._called(function)
                given = [self.of(argument) for argument in arguments]
                return _value(_call(called, given, {str(word.arg): self.of(word.value) for word in keywords}))
            case _:
                raise ValueError(f"found {ast.unparse(node)!r}, which no expression may contain")

    def _name(self, name: str) -> Any:
        if name in self._bound:
            return self._bound[name]
        if name == NEVER:
            return math.inf
        if name in self._vocabulary.definitions:
            return self._vocabulary.value(name, evaluate)
        try:
            return _value(self._vocabulary.name(name))
        except KeyError:
            raise ValueError(f"{name!r} is not defined here") from None

    def _called(self, function: ast.expr) -> Callable[..., Any]:
        if isinstance(function, ast.Name):
            known = FUNCTIONS | self._vocabulary.functions
            if function.id not in known:
                raise ValueError(f"{function.id!r} is not defined here")
            return known[function.id]
        assert isinstance(function, ast.Attribute)  # noqa: S101 (the syntax allows no other)
        called = self._attribute(self.of(function.value), function.attr)
        if not callable(called):
            raise ValueError(f"{function.attr!r} takes no arguments")
        return called  # type: ignore[no-any-return]  # a word

    def _attribute(self, value: object, name: str) -> Any:
        if name not in WORDS_OF.get(type(value), ()):
            raise ValueError(f"{kind_of(value)} has no {name!r}")
        return getattr(value, name)

    def _compare(self, node: ast.Compare) -> bool:
        left = self.of(node.left)
        sides = [node.left, *node.comparators]
        for before, op, side in zip(sides, node.ops, node.comparators, strict=False):
            right = self.of(side)
            if not self._holds(left, _SIGNS[type(op)], right, _is_never(before) or _is_never(side)):
                return False
            left = right
        return True

    def _holds(self, left: Any, sign: str, right: Any, by_name: bool) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return SIGNS[sign](left, right)  # type: ignore[arg-type]  # texts have an order, too
        if math.isnan(_number(left)) or math.isnan(_number(right)):
            self._without_value += 1
            return False
        return compare(left, sign, right, by_name=by_name)

    def _arithmetic(self, op: type[ast.operator], left: Any, right: Any) -> Any:
        if op is ast.Add and isinstance(left, str | list) and type(left) is type(right):
            joined: str | list[Any] = operator.add(left, right)
            if len(joined) > LONGEST:
                raise ValueError(f"makes {kind_of(left)} of more than {LONGEST} parts")
            return joined
        _number(left), _number(right)
        if (op is ast.Pow and math.isinf(left)) or (math.isinf(right) and op not in (ast.Add, ast.Mult)):
            raise NoNumberError("it never happened, so there is no difference, ratio or power of it")
        result = _ARITHMETIC[op](left, right)
        if isinstance(result, complex):
            raise ValueError("found a complex number; allowed: a real number")
        if math.isnan(result) or result == -math.inf:
            raise NoNumberError(NO_VALUE)
        if math.isinf(result) and math.isfinite(left) and math.isfinite(right):
            raise ValueError(TOO_LARGE)
        if isinstance(result, int) and abs(result) > LARGEST:
            raise ValueError(f"makes a whole number above {LARGEST:,}")
        return result

    def _comprehension(self, element: ast.expr, generators: list[ast.comprehension]) -> Iterator[Any]:
        if not generators:
            yield self.of(element)
            return
        generator, *inner = generators
        assert isinstance(generator.target, ast.Name)  # noqa: S101 (the syntax allows no other)
        name = generator.target.id
        outer = self._bound
        try:
            for value in _list(self.of(generator.iter)):
                self._bound = {**outer, name: value}
                if all(_truth(self.of(condition)) for condition in generator.ifs):
                    yield from self._comprehension(element, inner)
        finally:
            self._bound = outer

    def _item(self, value: object, index: ast.expr) -> Any:
        if isinstance(index, ast.Slice):
            bounds = [None if each is None else _whole(self.of(each)) for each in (index.lower, index.upper)]
            return _list(value)[slice(*bounds)]
        return _list(value)[_whole(self.of(index))]


def _call(called: Callable[..., Any], given: list[Any], named: dict[str, Any]) -> Any:
    if called in FUNCTIONS.values():
        if named:
            raise ValueError(f"{_name_of(called)} takes no named arguments")
        _check_of_function(called, given)
        return _checked_result(called(*given), given)
    parameters = _parameters(called)
    try:
        arguments = inspect.Signature(list(parameters.values())).bind(*given, **named).arguments
    except TypeError:
        allowed = f"{_name_of(called)}({', '.join(parameters)})"
        raise ValueError(f"{_name_of(called)}: found other arguments; allowed: {allowed}") from None
    for name, value in arguments.items():
        if problem := _wrong(name, parameters[name].annotation, value):
            raise ValueError(f"{_name_of(called)}: {name}: {problem}")
    return called(**arguments)


def _name_of(called: Callable[..., Any]) -> str:
    return getattr(called, "__name__", "a word")


def _parameters(called: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    function = getattr(called, "__func__", called)
    return {name: each for name, each in kinds.signature(function).parameters.items() if name != "self"}


def _wrong(name: str, kind: Any, value: object) -> str | None:
    """Say what is wrong with an argument; None if nothing is, as far as its name and type tell."""
    if kind in (str, str | None):
        return None if isinstance(value, str) else f"found {kind_of(value)}; allowed: a text in quotes"
    if kind in (float, int, float | None, int | None):
        if not _is_number(value):
            return f"found {kind_of(value)}; allowed: a number"
        assert isinstance(value, int | float)  # noqa: S101
        return kinds.outside(name, value)
    if kind == Sequence[float] and not (isinstance(value, list) and all(map(_is_number, value))):
        return f"found {kind_of(value)}; allowed: a list of numbers"
    return None


def _checked_result(result: Any, given: list[Any]) -> Any:
    """Refuse a number that a function made too large: infinity is what never happened, and only what is given did."""
    if isinstance(result, float) and math.isnan(result):
        raise NoNumberError(NO_VALUE)
    if isinstance(result, float) and math.isinf(result) and math.inf not in _numbers_in(given):
        raise ValueError(TOO_LARGE)
    return result


def _numbers_in(given: list[Any]) -> list[Any]:
    """List what arguments are, and what those that are lists have."""
    return [number for each in given for number in (each if isinstance(each, list) else [each])]


def _check_of_function(called: Callable[..., Any], given: list[Any]) -> None:
    """Refuse arguments that make no sense for one of FUNCTIONS; lists have elements, numbers are numbers."""
    if called is abs:
        _number(given[0] if len(given) == 1 else None)
    elif called is len:
        _list(given[0] if len(given) == 1 else None)
    elif called in (all, any):
        for each in _list(given[0] if len(given) == 1 else None):
            _truth(each)
    elif called is trend:
        if len(given) != 2:
            raise ValueError("trend takes two lists of numbers")
        lists = [[_number(each) for each in _list(argument)] for argument in given]
        if not any(lists):
            raise NoNumberError(NO_VALUE)
        if len(lists[0]) != len(lists[1]):
            raise ValueError(f"trend: found {len(lists[0])} places and {len(lists[1])} numbers; allowed: as many")
    else:
        listed = given if len(given) > 1 else _list(given[0] if given else None)
        if any(math.isnan(_number(each)) for each in listed):
            raise NoNumberError(NO_VALUE)  # Python's order of numbers has no place for NaN
        if not listed and called is not sum:
            raise NeverHappenedError


def _value(value: object) -> Any:
    """Return what a word gave; numbers as Python's own."""
    return value.item() if hasattr(value, "item") and not isinstance(value, list | Series | Instants | Run) else value


def _is_much(value: object) -> bool:
    """Whether a value may take much memory. A run does, too, but its tables are read once."""
    return isinstance(value, Series | Instants) or (isinstance(value, list) and len(value) > _MUCH)


def _is_never(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == NEVER


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any) -> Any:
    return value if _is_number(value) else _refuse(value, "a number")


def _truth(value: Any) -> bool:
    return value if isinstance(value, bool) else _refuse(value, "true or false")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else _refuse(value, "a list")


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else _refuse(value, "a whole number")


def _refuse(value: object, allowed: str) -> NoReturn:
    raise ValueError(f"found {kind_of(value)}; allowed: {allowed}")


def kind_of(value: object) -> str:
    """Name a value for a message."""
    kinds: dict[type, str] = {Series: "a series", Instants: "instants", Run: "a run", list: "a list", str: "a text"}
    if type(value) in kinds:
        return kinds[type(value)]
    return "a word without its arguments" if callable(value) else repr(value)
