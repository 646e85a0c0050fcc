"""Mistakes in C, made mechanically: each change of one token, or of one statement, in the body of a function."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FUNCTION: Final = re.compile(
    r"^(?P<head>\w[^;{}#=]*?\b(?P<name>\w+)\((?P<parameters>[^{}]*?)\))\n\{\n(?P<body>.*?)^\}\n", re.M | re.S
)
# comments, strings, lines for the preprocessor and what only the compiler sees are no code
_NO_CODE: Final = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|^#[^\n]*|BUILD_BUG_ON[^;]*;', re.M | re.S)
TOKENS: Final = (
    (r"(?<=[\w)\]] )\+(?= )", "-"),
    (r"(?<=[\w)\]] )-(?= )", "+"),
    (r"(?<=[\w)\]] )\*(?= )", "/"),
    (r"(?<=[\w)\]] )/(?= )", "*"),
    (r"(?<= )%(?= )", "/"),
    (r"(?<= )>>(?= )", "<<"),
    (r"(?<= )<<(?= )", ">>"),
    (r"(?<= )<(?= )", "<="),
    (r"(?<= )<=(?= )", "<"),
    (r"(?<= )>(?= )", ">="),
    (r"(?<= )>=(?= )", ">"),
    (r"(?<= )==(?= )", "!="),
    (r"(?<= )!=(?= )", "=="),
    (r"(?<= )&&(?=\s)", "||"),
    (r"(?<= )\|\|(?=\s)", "&&"),
    (r"(?<=[ (])!(?=[\w(])", ""),
    (r"\+\+", "--"),
    (r"--", "++"),
    (r"(?<= )\+=(?= )", "-="),
    (r"(?<= )-=(?= )", "+="),
    (r"(?<= )\*=(?= )", "+="),
    (r"\bmin(?=(?:_t)?\()", "max"),
    (r"\bmax(?=(?:_t)?\()", "min"),
    (r"\bbefore(?=\()", "after"),
    (r"\bafter(?=\()", "before"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"(?<=[ (\[-])0(?=[;,) ])", "1"),
    (r"(?<=[ (\[])1(?=[;,)\] ])", "2"),
    (r"(?<=[ (\[])2(?=[;,)\] ])", "3"),
    (r"(?<=[ (\[])3(?=[;,)\] ])", "2"),
)
_STATEMENT: Final = re.compile(
    r"(?P<before>(?:^|(?<=\)\n)|(?<=else\n)|(?<=[;{}]\n)|(?<=:\n))\t+)"
    r"(?P<text>(?!return\b|break\b|const\b|struct\b|static\b|u\d\d\b|s\d\d\b|bool\b|int\b|char\b|unsigned\b|if\b|while\b"
    r"|for\b|switch\b|case\b|else\b|do\b|BUILD_BUG|loff_t|size_t)[\w*(][^;{}]*);",
    re.M,
)
_CONDITION: Final = re.compile(
    r"\b(?P<word>if|while) \((?P<text>(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*)\)"
)
_RETURN: Final = re.compile(r"\breturn (?P<text>[^;]+);")


@dataclass(frozen=True)
class Mutation:
    """A function's text with a mistake: where it is in the file, and what stands there instead."""

    file: str
    function: str
    line: int
    old: str
    new: str
    text: str


def of(file: str, text: str, left_out: frozenset[str]) -> Iterator[Mutation]:
    """Yield all mistakes in a file's functions, in their order."""
    for function in FUNCTION.finditer(text):
        if function["name"] in left_out:
            continue
        first = function.start("body")
        for start, end, new in sorted(set(_places(function["body"]))):
            old = function["body"][start:end]
            whole = text[function.start() : first + start] + new + text[first + end : function.end()]
            line = text.count("\n", 0, first + start) + 1
            yield Mutation(file, function["name"], line, " ".join(old.split()), new, whole)


def _places(body: str) -> Iterator[tuple[int, int, str]]:
    code = _NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), body)
    for pattern, new in TOKENS:
        for match in re.finditer(pattern, code):
            yield match.start(), match.end(), new
    for match in _STATEMENT.finditer(code):
        yield match.start("text"), match.end("text"), ""
    for match in _CONDITION.finditer(code):
        if match["word"] == "if":
            yield match.start("text"), match.end("text"), "true"
        yield match.start("text"), match.end("text"), "false"
    for match in _RETURN.finditer(code):
        if match["text"] not in ("0", "false", "NULL"):
            yield match.start("text"), match.end("text"), "0"
