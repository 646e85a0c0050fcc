"""What limits a sender by what passed a tap anywhere: silences in which nothing was on its way, and full windows."""

import numpy as np
import pytest

from analysis.observer import pauses
from analysis.observer.conversation import Answers, Conversation, DataPackets, Samples
from analysis.observer.description import PassedTap, facts
from analysis.observer.flight import Flight

FULL = 1000


def _passed(sent: list[tuple[float, int]], answers: list[tuple[float, int, float]]) -> Flight:
    """A TCP flow of full packets, by instant and number; and answers: instant, packets acknowledged, window."""
    at, first = np.array([t for t, _ in sent]), FULL * np.array([number for _, number in sent])
    size = np.full(len(sent), FULL)
    times, acked = np.array([t for t, _, _ in answers]), FULL * np.array([number for _, number, _ in answers])
    window = np.array([window for _, _, window in answers])
    nothing = Samples(np.zeros(0), np.zeros(0))
    came = Answers(times, acked, np.zeros(len(times), np.uint64), window, window == 0)
    data = DataPackets(at, first, first + FULL, size, size + 40)
    return Flight(Conversation("tcp", None, "tap", 100.0, data, came, nothing, nothing, 1))


def _requests(window: float = np.inf) -> Flight:
    """Five bursts of four packets, two seconds apart, each acknowledged 20 ms later."""
    sent = [(2.0 * burst + 0.001 * number, 4 * burst + number) for burst in range(5) for number in range(4)]
    return _passed(sent, [(2.0 * burst + 0.023, 4 * burst + 4, window) for burst in range(5)])


@pytest.mark.parametrize(("loop_s", "share"), [(0.0, 0.988), (0.1, 0.938), (1.0, 0.488), (3.0, 0.0)])
def test_silences_after_everything_was_acknowledged_are_the_applications(loop_s: float, share: float) -> None:
    assert pauses.without_data(_requests(), loop_s) == pytest.approx(share, abs=0.001)


@pytest.mark.parametrize("window", [0, FULL - 1])
def test_a_closed_window_is_not_the_applications(window: float) -> None:
    assert pauses.without_data(_requests(window), 0.0) == 0


def test_a_sender_that_always_has_something_on_its_way_never_pauses() -> None:
    flight = _passed([(0.1 * n, n) for n in range(50)], [(0.1 * n + 0.15, n + 1, 1e6) for n in range(50)])
    assert pauses.without_data(flight, 0.0) == 0
    assert pauses.with_a_full_window(flight) == 0


def test_what_is_sent_again_after_a_silence_did_not_wait_for_an_application() -> None:
    flight = _passed([(0.0, 0), (0.1, 1), (5.0, 0), (5.1, 2)], [(0.05, 1, 1e6), (5.05, 2, 1e6)])
    assert pauses.without_data(flight, 0.0) == pytest.approx(0.1 / 5.1, abs=0.001)


def test_a_full_window_is_told_wherever_it_passes() -> None:
    """Two packets fill a window of 2,500 bytes; the answer, which opens it, comes half a second later."""
    sent = [(t + 0.001 * n, 2 * int(t) + n) for t in range(20) for n in range(2)]
    answers = [(t + 0.501, 2 * t + 2, 2500.0) for t in range(-1, 20)]
    assert pauses.with_a_full_window(_passed(sent, answers)) == pytest.approx(0.5, abs=0.01)
    assert pauses.with_a_full_window(_passed(sent, answers[::5])) == 0  # data beyond the window: answers are missing


@pytest.mark.parametrize(
    ("to_sender_s", "is_at_sender", "says"),
    [
        (0.0, True, "its application limits it: nothing was on its way in 99% of the time"),
        (
            0.05,
            False,
            "its application limits it, or what it sent then was lost before this tap: nothing was on its way in 94% "
            "of the time",
        ),
        (None, False, "nothing was on its way in 49% of the time"),
    ],
)
def test_facts_say_who_limits_it(to_sender_s: float | None, is_at_sender: bool, says: str) -> None:
    flight = _requests()
    told = facts(flight, PassedTap(flight, to_sender_s, is_at_sender=is_at_sender), is_senders=False)
    assert told[:2] == ["20 kB in 8 s (0.02 Mbit/s)", says]
