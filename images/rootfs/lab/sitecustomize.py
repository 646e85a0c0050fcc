# SPDX-License-Identifier: MIT
"""Loaded by every Python of the lab: notes which module a program that ends for want of it did not find.

The output of programs on Mininet's hosts often goes where nobody looks; `testbed exec` names the module at the end.
"""

import sys
from contextlib import suppress
from types import TracebackType

_NOTES = "/run/testbed/missing"
_show = sys.excepthook


def _note(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, ModuleNotFoundError) and error.name:
        with suppress(OSError), open(_NOTES, "a") as notes:  # noqa: PTH123 - pathlib takes long to import
            notes.write(f"module {error.name}\n")
    _show(kind, error, trace)


sys.excepthook = _note
