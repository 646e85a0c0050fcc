"""Rate traces: what files and generators become, and the messages when they are wrong."""

import random
from itertools import accumulate, pairwise
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios.cells import plan
from scenarios.rate_traces import TraceError, steps
from tests.trial import trial

STEP_NS = 100_000_000


def drawing(seed: int) -> random.Random:
    """A source of numbers."""
    return random.Random(seed)  # noqa: S311 (repeatable on purpose)


def of_file(tmp_path: Path, text: str, end_s: float = 1.0) -> list[tuple[int, int]]:
    """The steps of a file with this text, in ms and kbit/s."""
    (tmp_path / "trace").write_text(text)
    trace = {"file": "trace", "step_ns": STEP_NS}
    steps_made = steps(trace, tmp_path, round(end_s * 1e9), drawing(1))
    return [(at_ns // 1_000_000, rate_bps // 1000) for at_ns, rate_bps in steps_made]


def test_csv_lists_its_steps(tmp_path: Path) -> None:
    text = "time_s,rate_bps\n0,5000000\n0.25,2000000\n0.5,2000000\n3,1000000\n"
    assert of_file(tmp_path, text) == [(0, 5000), (250, 2000)]


def test_opportunities_of_mahimahi_become_rates_and_repeat(tmp_path: Path) -> None:
    # a packet of 1500 bytes every 10 ms, then for 100 ms every 5 ms, in turns of 200 ms
    lines = [*range(5, 100, 10), *range(100, 200, 5), 200]
    assert of_file(tmp_path, "\n".join(map(str, lines)), 0.4) == [(0, 1200), (100, 2400), (200, 1320), (300, 2400)]


def test_a_gap_has_one_packet_and_later_steps_make_up_for_it(tmp_path: Path) -> None:
    lines = [*range(0, 100, 10), *range(400, 500, 10), 500]
    # three steps without any, then 10 - 1
    assert of_file(tmp_path, "\n".join(map(str, lines)), 0.5) == [(0, 1200), (100, 40), (400, 1080)]


def test_a_link_slower_than_a_packet_a_step_has_its_rate(tmp_path: Path) -> None:
    # a packet every 300 ms
    assert of_file(tmp_path, "300", 30.0) == [(0, 40)]


@settings(deadline=None)
@given(st.lists(st.integers(0, 400), min_size=1, max_size=40), st.integers(1, 30))
def test_a_trace_never_sends_more_than_its_file_and_a_packet(gaps_ms: list[int], length: int) -> None:
    times_ms = list(accumulate(gaps_ms, initial=1))
    with TemporaryDirectory() as folder:
        made = of_file(Path(folder), "\n".join(map(str, times_ms)), length * 0.1)
    ends_ms = [at for at, _ in made[1:]] + [length * 100]
    sent = 0.0
    for (at_ms, rate_kbps), end_ms in zip(made, ends_ms, strict=True):
        sent += (end_ms - at_ms) * rate_kbps / 12_000
        turns = int(end_ms // times_ms[-1]) + 1
        may = sum(turn * times_ms[-1] + time < end_ms for turn in range(turns + 1) for time in times_ms)
        # rates are whole kbit/s here
        assert may - 0.1 * len(made) - 0.1 * length <= sent <= may + 1.01


def test_the_plan_names_the_files_of_traces(tmp_path: Path) -> None:
    text = (
        "experiment: traced\ntitle: Traced\ntopology: {name: dumbbell, pairs: 1}\n"
        "bottleneck: {rate: 8mbit, buffer: 40p}\ndelay: {forward: 5ms, backward: 5ms}\nduration: 1s\n"
        "flows: [{name: tcp, implementation: tcp-cubic, from: s1, to: d1}]\n"
        "rate_traces: [{on: bottleneck, file: lte.txt}, {on: bottleneck, like: wifi, mean: 5mbit}]\n"
    )
    scenario = trial(tmp_path, text)
    (scenario.parent / "lte.txt").write_text("10\n")
    assert plan([scenario], "complete")[0]["traces"] == [str(scenario.parent / "lte.txt")]


def test_a_cellular_link_wanders_evenly_around_its_mean() -> None:
    trace = {"like": "cellular", "mean_bps": 10_000_000, "step_ns": STEP_NS}
    rates = [rate for _, rate in steps(trace, Path(), 9_999 * 10**9, drawing(1))]
    assert mean(rates) == pytest.approx(10e6, rel=0.05)
    assert 120_000 <= min(rates) < 200_000 and 19.8e6 < max(rates) <= 20e6
    assert sorted(rates)[len(rates) // 4] == pytest.approx(5e6, rel=0.1)
    # 0.2 of 20 Mbit/s after a second, so 0.063 after a tenth
    changes = [abs(later - rate) for rate, later in pairwise(rates)]
    assert mean(changes) == pytest.approx(0.2 * 20e6 * 0.1**0.5 * 0.798, rel=0.05)


def test_a_wifi_link_has_its_mean_and_modes() -> None:
    trace = {"like": "wifi", "mean_bps": 10_000_000, "step_ns": STEP_NS}
    steps_made = steps(trace, Path(), 9_999 * 10**9, drawing(1))
    # weighted by how long each rate lasts
    lasting = pairwise(steps_made)
    total = sum((until - at) * rate for (at, rate), (until, _) in lasting)
    assert total / steps_made[-1][0] == pytest.approx(10e6, rel=0.05)
    assert len({rate for _, rate in steps_made}) <= 16


def test_the_same_source_gives_the_same_trace() -> None:
    trace = {"like": "cellular", "mean_bps": 10_000_000, "step_ns": STEP_NS}
    first, same, different = (steps(trace, Path(), 10**10, drawing(seed)) for seed in (1, 1, 2))
    assert first == same != different


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; allowed: a trace of Mahimahi, or CSV with the header time_s,rate_bps"),
        (
            f"1\n{'9' * 5000}\n",
            f"line 2 is '{'9' * 40}...'; allowed: whole milliseconds, or time_s,rate_bps in the first",
        ),
        ("1\ntwo\n", "line 2 is 'two'; allowed: whole milliseconds, or time_s,rate_bps in the first line"),
        ("5\n4\n", "times from 5 to 4 ms; allowed: times that never fall"),
        ("0\n", "times from 0 to 0 ms; allowed: times that never fall, and end above 0"),
        ("time_s,rate_bps\n", "no line below the header; allowed: at least one"),
        ("1\n\x1f5\n", "line 2 is '\\x1f5'; allowed: whole milliseconds, or time_s,rate_bps in the first line"),
        ("time_s,rate_bps\n0,1_000_000\n", "line 2 is '0,1_000_000'; allowed: two numbers: seconds, bits a second"),
        ("time_s,rate_bps\n0,\x1f1000\n", "line 2 is '0,\\x1f1000'; allowed: two numbers: seconds, bits a second"),
        ("time_s,rate_bps\n0;1\n", "line 2 is '0;1'; allowed: two numbers: seconds, bits a second"),
        ("time_s,rate_bps\n1,5e6\n", "line 2 has the time 1; allowed: times that begin at 0 and increase"),
        ("time_s,rate_bps\n0,5e6\n0,4e6\n", "line 3 has the time 0; allowed: times that begin at 0 and increase"),
        ("time_s,rate_bps\n0,0\n", "line 2 has the rate 0; allowed: 1000 to 1000000000; for a link that stands still"),
    ],
)
def test_a_bad_trace_is_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(TraceError) as raised:
        of_file(tmp_path, text)
    assert message in str(raised.value)


def test_too_many_steps_are_refused_at_once() -> None:
    trace = {"like": "wifi", "mean_bps": 10_000_000, "step_ns": 10_000_000}
    with pytest.raises(TraceError, match="more than 100000 steps in a run; allowed: a longer step"):
        steps(trace, Path(), 10**13, drawing(1))
