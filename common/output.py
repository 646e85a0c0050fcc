"""Ends a command quietly when the reader of its standard output goes away, as `| head` does."""

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

Arguments = ParamSpec("Arguments")


def ends_with_its_reader(main: Callable[Arguments, int]) -> Callable[Arguments, int]:
    """Make a command's `main` return 128 + SIGPIPE, which is what a shell reports for other programs."""

    @wraps(main)
    def wrapped(*arguments: Arguments.args, **named: Arguments.kwargs) -> int:
        try:
            try:
                return main(*arguments, **named)
            finally:
                if sys.stdout:  # None where it was closed before, as by `>&-`
                    sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
            return 128 + signal.SIGPIPE

    return wrapped
