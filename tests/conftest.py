"""For all tests: each one ends, and programs that it starts can be interrupted, however pytest was started."""

import faulthandler
import functools
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

import pytest

from engine import images
from images import lock, programs
from images.cache import Store, default_root

LIMIT_S = 900.0
"""Of a test with its fixtures; the longest build programs. Those of tests/reach take longer."""
REACH_LIMIT_S = 7200.0
LONGEST_FIRST = ("testbed", "workflows", "engine", "trust", "tcp_ledbat", "exec", "hunt", "analysis")
"""Folders of tests, in the order in which they begin."""
HUNG_S = 60.0
"""What a test that hangs in native code, which no alarm interrupts, has in addition; its process ends then."""


class TooLongError(BaseException):
    """A test did not end in time; no `except Exception` in the tested code catches this."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let golden texts be written anew."""
    parser.addoption("--update", action="store_true", help="write golden texts anew instead of comparing them")


def pytest_configure() -> None:
    """Let the programs that tests start have the signals' default effects.

    A shell without job control starts background jobs with SIGINT and SIGQUIT ignored, `nohup` with SIGHUP ignored, and
    programs inherit that. They do not inherit handlers: with one that does nothing, pytest stays deaf and they are not.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the folders whose files take longest, so that no process is left with one of them at the end."""
    items.sort(key=lambda item: LONGEST_FIRST.index(name) if (name := item.path.parent.name) in LONGEST_FIRST else 9)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a test that takes too long: the alarm interrupts what it waits for, and its fixtures clean up."""
    limit_s = REACH_LIMIT_S if "reach" in item.path.parts else LIMIT_S

    def end(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise TooLongError(f"{item.nodeid} took more than {limit_s:.0f} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    faulthandler.dump_traceback_later(limit_s + HUNG_S, exit=True)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module", autouse=True)
def asked() -> Iterator[set[str]]:
    """The programs that a file's tests asked for; others count as not built, as in a clean checkout."""
    names: set[str] = set()
    find = images.program.__wrapped__

    @functools.cache
    def if_asked(name: str) -> images.Program:
        assert name in names, f"nothing builds {name} for this test: take the fixture `program`"
        return find(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "program", if_asked)
        yield names


@pytest.fixture(scope="module")
def program(asked: set[str]) -> Callable[[str], None]:
    """Builds a program under test, if necessary, into the cache that runs use. A test builds what it needs itself."""

    def build(name: str) -> None:
        asked.add(name)
        store = Store(default_root())
        lock.renewing(store, print, lambda: programs.build(store, print, name))
        images.program.cache_clear()

    return build
