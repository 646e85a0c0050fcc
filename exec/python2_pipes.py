"""Pipes of programs that a script for Python 2 starts have text, as there, where one type was both text and bytes.

`exec.python2` puts a copy beside each converted file, which imports it; other files' pipes stay as they are.
"""

import subprocess
import sys
from typing import Any

_CHOICES = {"encoding", "errors", "text", "universal_newlines"}
_HOSTS_POPEN = {"popen", "_popen"}
_init = subprocess.Popen.__init__


def _init_with_text(self: Any, *arguments: Any, **named: Any) -> None:
    if not _CHOICES & named.keys() and _caller().get("python2_pipes") is sys.modules[__name__]:
        named |= {"encoding": "utf-8", "errors": "surrogateescape"}
    _init(self, *arguments, **named)


def _caller() -> dict[str, Any]:
    """The names of the file that starts a program by `subprocess`, or by `popen` of a host of Mininet."""
    frame = sys._getframe(2)
    while frame.f_back and _passes_on(frame.f_code.co_filename, frame.f_code.co_name):
        frame = frame.f_back
    return frame.f_globals


def _passes_on(file: str, function: str) -> bool:
    return file == subprocess.__file__ or (file.endswith("/mininet/node.py") and function in _HOSTS_POPEN)


subprocess.Popen.__init__ = _init_with_text  # type: ignore[method-assign]
