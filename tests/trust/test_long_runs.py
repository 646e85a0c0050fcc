"""Runs in a row leave nothing; `make trial NAME=long-runs` does ten thousand of them."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.trust.long_runs import long_run


def test_runs_in_a_row_leave_nothing(tmp_path: Path) -> None:
    # in a process of its own: the memory of this one depends on the tests before
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
        before, after, gained_kib = fresh.submit(long_run, 6, tmp_path).result()
    # other programs of this host come and go there
    own = ("children", "descriptors", "CPUs claimed")
    assert {name: after[name] for name in own} == {name: before[name] for name in own}
    assert gained_kib < 1024
