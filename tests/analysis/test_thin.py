import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.figures.thin import thin
from analysis.series import Series


@given(st.lists(st.integers(0, 9), min_size=2, max_size=400), st.integers(1, 50))
def test_nothing_that_stands_out_disappears(values: list[int], buckets: int) -> None:
    series = Series(np.arange(len(values), dtype=float), np.array(values, float), float(len(values)))
    points = thin(series, 0, series.end, buckets)
    assert [t for t, _ in points] == sorted(t for t, _ in points)
    assert points[0] == (0, values[0])
    assert points[-1][0] == series.end
    assert {min(values), max(values)} <= {value for _, value in points}
    assert len(points) <= 4 * buckets + 1


def test_a_flat_stretch_keeps_both_of_its_ends() -> None:
    series = Series(np.arange(100.0), np.where(np.arange(100) < 90, 1.0, 5.0), 100.0)
    assert thin(series, 0, 100, 100) == [(0, 1), (89, 1), (90, 5), (99, 5), (100, 5)]
