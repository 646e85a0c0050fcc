"""What shells say when they do not find a program, in a script's output and in the files that it leaves."""

import re
from collections.abc import Iterator

_NAME = r"(?P<name>[\w.+-]+|/\S*(?:bin|lib|libexec)/\S+)"
_SAID = (
    re.compile(rf"^\S*sh: \d+: {_NAME}: not found$", re.MULTILINE),  # dash
    re.compile(r"^bash: (?:line \d+: )?(?P<name>/\S*(?:bin|lib|libexec)/\S+): No such file", re.MULTILINE),
)


def commands(text: str) -> Iterator[str]:
    """Yield `command <name>` for each program that a shell did not find."""
    for pattern in _SAID:
        yield from (f"command {match['name']}" for match in pattern.finditer(text))
