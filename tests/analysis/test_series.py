import math

import numpy as np
import pytest

from analysis.series import Instants, NeverHappenedError, NotMeasuredError, Series

STEPS = Series(np.array([0.0, 1.0, 4.0]), np.array([2.0, 6.0, 1.0]), 5.0)  # 2 for 1 s, 6 for 3 s, 1 for 1 s


def test_means_are_weighted_by_time() -> None:
    assert STEPS.mean() == pytest.approx((2 + 18 + 1) / 5)
    assert STEPS.mean(0.5, 2.5) == pytest.approx((1 + 9) / 2)
    assert STEPS.std(0, 2) == pytest.approx(2)
    assert (STEPS.min(0, 3), STEPS.max(4, 5)) == (2, 1)


def test_percentiles_are_weighted_by_time() -> None:
    # ascending: 1 for 1 s, 2 for 1 s, 6 for 3 s
    assert [STEPS.percentile(percent) for percent in (0, 20, 40, 41, 95, 100)] == [1, 1, 2, 6, 6, 6]
    assert STEPS.percentile(95, 0, 1) == 2


def test_the_value_holds_until_the_next_sample() -> None:
    assert [STEPS.at(t) for t in (0, 0.99, 1, 3.99, 5)] == [2, 2, 6, 6, 1]
    assert STEPS.window(2, 3).times.tolist() == [2]


def test_crossings() -> None:
    assert STEPS.first_time_above(6) == 1
    assert STEPS.first_time_above(2) == 0
    assert STEPS.first_time_below(1, 2) == 4
    assert STEPS.first_time_above(6, 2.5) == 2.5
    assert STEPS.first_time_above(7) == math.inf
    assert STEPS.first_time_above(1, math.inf) == math.inf
    assert math.isnan(STEPS.at(math.inf))


def test_peaks_and_their_instants() -> None:
    assert STEPS.time_of_max() == 2.5  # the middle of the stretch from 1 s to 4 s
    assert STEPS.peaks([1, 5]) == [2, 6]


def test_slope_of_a_straight_line() -> None:
    times = np.arange(0, 10, 0.01)
    assert Series(times, 3 * times + 1, 10).slope(2, 8) == pytest.approx(3)


def test_sum_of_two() -> None:
    late = Series(np.array([2.0]), np.array([10.0]), 5.0)
    assert [STEPS.plus(late).at(t) for t in (0, 1.5, 3, 4.5)] == [2, 6, 16, 11]


def test_what_was_not_recorded_is_not_invented() -> None:
    with pytest.raises(NotMeasuredError, match="asked for 6 s, but the run ends at 5 s"):
        STEPS.mean(0, 6)
    with pytest.raises(NotMeasuredError, match="ends before it begins"):
        STEPS.mean(3, 2)
    with pytest.raises(NeverHappenedError):
        STEPS.mean(0, math.inf)
    with pytest.raises(NotMeasuredError, match="nothing was recorded"):
        Series(np.array([]), np.array([]), 1)


def test_instants() -> None:
    drops = Instants(np.array([1.0, 1.1, 1.5, 4.0]), 5)
    assert drops.count() == 4
    assert drops.count(1.05, 2) == 2
    assert (drops.first(), drops.first(2), drops.first(4.5)) == (1, 4, math.inf)
    assert drops.episodes() == [1, 4]
    assert drops.episodes(0.2) == [1, 1.5, 4]
    assert drops.episodes(1, 3) == [1]


def test_how_much_of_an_interval_is_near_an_instant() -> None:
    drops = Instants(np.array([1.0, 1.1, 1.5, 4.0]), 5)
    assert drops.covered(0.25, 0, 5) == pytest.approx((0.6 + 0.4 + 0.5) / 5)  # what two of them reach counts once
    assert drops.covered(0.25, 1, 1.2) == 1
    assert drops.covered(0.25, 2, 3) == 0
    assert Instants(np.array([]), 5).covered(1) == 0
    with pytest.raises(NotMeasuredError, match="asked for 6 s, but the run ends at 5 s"):
        drops.covered(0.1, 0, 6)
    with pytest.raises(NotMeasuredError, match="has no length"):
        drops.covered(0.1, 2, 2)
