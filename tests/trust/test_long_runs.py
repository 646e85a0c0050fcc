"""Runs in a row leave nothing; `make long-runs` does ten thousand of them."""

from pathlib import Path

from tests.trust.long_runs import long_run


def test_runs_in_a_row_leave_nothing(tmp_path: Path) -> None:
    before, after, gained_kib = long_run(6, tmp_path)
    # other programs of this host come and go there
    own = ("children", "descriptors", "CPUs claimed")
    assert {name: after[name] for name in own} == {name: before[name] for name in own}
    assert gained_kib < 1024
