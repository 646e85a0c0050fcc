"""Names that reach the command lines of other programs, such as apt and pip, and what each may be.

No such name begins like an option, holds a blank or a comma, or leads out of its folder: no program can take it for
anything but a name. JSON schemas refer to a kind of name by the keyword `name` (scenarios/schema.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_PYPI = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_PYTHON_VERSION = "[A-Za-z0-9][A-Za-z0-9.+!_-]*"


@dataclass(frozen=True)
class NameKind:
    """A kind of name: the pattern that all of it matches, and what it is, in words."""

    expression: str
    meaning: str

    @cached_property
    def pattern(self) -> str:
        """The expression for JSON Schema, which searches; `$` would let a line feed follow."""
        return rf"\A(?:{self.expression})\Z"

    def allows(self, name: object) -> bool:
        """Tell whether it is a name of this kind."""
        return isinstance(name, str) and re.search(self.pattern, name) is not None

    def refusal(self, name: object) -> str | None:
        """Say what was found and what is allowed; None for a name of this kind."""
        return None if self.allows(name) else f"found {name!r}; allowed: {self.meaning}"


KINDS = {
    "debian package": NameKind("[a-z0-9][a-z0-9+.-]*[a-z0-9+]", "the name of a Debian package, such as libssl-dev"),
    "debian version": NameKind(
        "[A-Za-z0-9][A-Za-z0-9.+:~-]*", "the version of a Debian package, such as 1:4.1.3+dfsg-2"
    ),
    "debian suite": NameKind("[a-z][a-z0-9-]*", "the name of a Debian release, such as trixie"),
    "docker image": NameKind("[A-Za-z0-9][A-Za-z0-9._/:@-]*", "the name of a container image, such as client:1.2"),
    "registry package": NameKind(
        "(?:@[A-Za-z0-9][A-Za-z0-9._~-]*/)?[A-Za-z0-9][A-Za-z0-9._~-]*",
        "the name of a package on PyPI or npm, such as libtorrent or @scope/utp",
    ),
    "registry version": NameKind(_PYTHON_VERSION, "one version of a package, such as 2.0.7"),
    "python release": NameKind(
        f"{_PYPI}=={_PYTHON_VERSION}", "a Python package with its version, such as flask==3.1.2"
    ),
    "implementation": NameKind("[A-Za-z0-9][A-Za-z0-9._-]*", "letters, digits and . _ -, the first a letter or digit"),
    "kernel name": NameKind("[A-Za-z0-9_]+", "letters, digits and _"),
    "sysctl": NameKind("net(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)+", "a path below /proc/sys, such as net/ipv4/tcp_rmem"),
    "file": NameKind(
        "[A-Za-z0-9_][A-Za-z0-9._+@-]*(?:/[A-Za-z0-9_][A-Za-z0-9._+@-]*)*",
        "a file in or below this folder, with letters, digits and . _ + @ - in its path",
    ),
    "sha256": NameKind("[0-9a-f]{64}", "a SHA-256 in hexadecimal"),
}
