import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.figures import plot
from analysis.figures.bands import band, strokes
from analysis.series import Series


def series(values: list[int], start: float = 0.0) -> Series:
    return Series(start + np.arange(len(values), dtype=float), np.array(values, float), start + len(values))


@given(st.lists(st.integers(0, 9), min_size=2, max_size=400), st.integers(1, 50))
def test_nothing_that_stands_out_disappears(values: list[int], count: int) -> None:
    made = band(series(values), (), 0, len(values), count)
    assert (made.low.min(), made.high.max()) == (min(values), max(values))
    assert ((made.low <= made.middle) & (made.middle <= made.high)).all()


def test_the_middle_is_the_median_over_time() -> None:
    # 1 for 0.9 s of the first ten, as often as 100 for 0.1 s: samples do not count, time does
    often = Series(np.sort([*np.arange(10.0), *(np.arange(10) + 0.9)]), np.tile([1.0, 100.0], 10), 10)
    made = band(often, (), 0, 10, 1)
    assert (made.low[0], made.middle[0], made.high[0]) == (1, 1, 100)


def test_a_value_holds_until_the_next() -> None:
    made = band(Series(np.array([0.0, 7.5]), np.array([3.0, 5.0]), 10), (), 0, 10, 10)
    assert made.middle.tolist() == [3] * 8 + [5] * 2
    assert made.high.tolist() == [3] * 7 + [5] * 3


def test_nothing_is_drawn_before_a_late_flow_begins() -> None:
    made = band(series([4] * 5, start=5), (), 0, 10, 10)
    assert np.isnan(made.middle[:5]).all()
    assert made.middle[5:].tolist() == [4] * 5


def test_nothing_is_drawn_after_a_flow_has_ended() -> None:
    stopped = Series(np.arange(5.0), np.full(5, 4.0), 5)
    made = band(stopped, (), 0, 10, 10)
    assert made.middle[:5].tolist() == [4] * 5
    assert np.isnan(made.middle[5:]).all()
    rows = plot.rows([plot.PlotLine("a", "#000000", made)])
    assert [row["t"] for row in rows] == [0, 5]  # where it begins and where it ends
    hints = [row["n0"] for row in plot.hover(plot.Plot("x", (0, 10), [plot.PlotLine("a", "#000000", made)], 5))]
    assert hints == ["4", "4", "ended"]
    assert strokes(stopped, 0, 10, 10) == [(0, 5, 4)]
    assert stopped.plus(series([1] * 10)).values.tolist() == [5] * 5 + [1] * 5


def test_the_range_is_that_of_all_seeds_and_the_middle_that_of_the_one_shown() -> None:
    made = band(series([5] * 10), [series([3] * 10), series([9] * 8, start=2)], 0, 10, 5)
    assert made.middle.tolist() == [5] * 5
    assert made.low.tolist() == [3] * 5
    assert made.high.tolist() == [5, 9, 9, 9, 9]


@pytest.mark.parametrize("by", [2, 5, 10])
def test_joined_intervals_keep_their_range(by: int) -> None:
    fine = band(series([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], start=1), (), 0, 10, 10)
    made = fine.coarser(by)
    assert made.edges.tolist() == fine.edges[::by].tolist()
    assert made.high.tolist() == [np.nanmax(part) for part in fine.high.reshape(-1, by)]
    assert made.low.tolist() == [np.nanmin(part) for part in fine.low.reshape(-1, by)]


def test_a_value_that_goes_on_is_one_stroke() -> None:
    sizes = Series(np.array([0.0, 4.5, 4.6, 8.0]), np.array([3.0, 5.0, 3.0, 5.0]), 10)
    assert strokes(sizes, 0, 10, 10) == [(0, 8, 3), (4, 5, 5), (8, 10, 5)]
