"""Who is it? The kind of a sender's controller, of modelled senders and of real ones."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import comb
from pathlib import Path

import numpy as np
import pytest

from analysis.capture.columns import write_columns
from analysis.observer import kind, limits, signals, supported
from analysis.observer.description import facts
from analysis.observer.flight import Flight
from analysis.observer.judgement import SenderKind
from analysis.run import Run
from analysis.series import NotMeasuredError
from engine.run import execute, run_folder
from scenarios.resolve import expand, resolve
from tests.analysis.synthetic import vouch
from tests.analysis.test_observer import conversation, observed
from tests.analysis.utp_model import PAYLOAD, Model
from tests.tools.controllers.__main__ import CASES
from tests.tools.controllers.judge import Told, summary, write

LOSSES = tuple(range(400, 9000, 700))
AT_FIRST = (*range(100, 900, 60), *range(1500, 60000, 650))
SOON = tuple(range(150, 30000, 500))
BEFORE_ITS_SHAPE_SHOWS = tuple(range(150, 30000, 400))
OFTEN = tuple(range(200, 16000, 450))
SCENARIO = """\
experiment: known
title: Controllers of the kernel
topology: {name: dumbbell, pairs: 1}
bottleneck: {rate: 10mbit, buffer: 60p}
delay: {forward: 25ms, backward: 25ms}
matrix: {client: [tcp-bbr, tcp-cubic, tcp-reno, tcp-vegas, tcp-ledbatpp]}
flows: [{name: it, implementation: "${client}", from: s1, to: d1}]
duration: 30s
captures: [sender]
"""
DISTURBED = """\
experiment: disturbed
title: BBR beside a call, with losses
topology: {name: dumbbell, pairs: 2}
bottleneck: {rate: 4mbit, buffer: 80p}
delay: {forward: 40ms, backward: 20ms}
flows:
  - {name: it, implementation: tcp-bbr, from: s1, to: d1}
  - {name: call, implementation: udp-cbr, from: s2, to: d2}
events: [{at: 0s, on: path, loss: {forward: 0.2%}}]
duration: 30s
captures: [sender]
"""


@pytest.mark.parametrize(
    ("model", "is_kind", "like"),
    [
        (Model(), SenderKind.DELAY_BASED, "LEDBAT"),
        (Model(lost=LOSSES), SenderKind.DELAY_BASED, "LEDBAT"),
        # a target that it never reaches, since something is lost before
        (Model(target=0.2, lost=LOSSES), SenderKind.DELAY_BASED, "LEDBAT"),
        # nine round-trip times from loss to loss, which disturb half of them
        (Model(one_way=0.01, target=0.1, gain=6.0, lost=SOON), SenderKind.DELAY_BASED, "LEDBAT"),
        (Model(target=1e9, gain=1.0, lost=LOSSES), SenderKind.LOSS_BASED, "Reno"),
        # nothing is lost, and the window grows on through 250 ms of queue
        (Model(duration=60, target=1e9, gain=1.0), SenderKind.LOSS_BASED, None),
        (Model(window_bytes=30 * PAYLOAD), SenderKind.WINDOW_LIMITED, None),
        # a window of its own, which never moves
        (Model(gain=0.0, start_window=20.0), SenderKind.WINDOW_LIMITED, None),
    ],
)
def test_senders_whose_rule_is_known(tmp_path: Path, model: Model, is_kind: SenderKind, like: str | None) -> None:
    judgement = kind.judge(observed(tmp_path, model))
    assert (judgement.kind, judgement.like) == (is_kind, like)
    assert judgement.confidence > 0.6


@pytest.mark.parametrize(
    "model",
    [
        # lost at 11 ms, where a target of 100 ms and none at all look alike
        Model(duration=20, one_way=0.01, target=0.1, gain=1.0, lost=OFTEN),
        # lost at 52 ms, though a start that was too fast once filled 562 ms
        Model(one_way=0.01, target=0.1, gain=6.0, start_window=600.0, lost=AT_FIRST),
    ],
)
def test_losses_before_the_queue_is_full_hide_the_controller(tmp_path: Path, model: Model) -> None:
    with pytest.raises(NotMeasuredError, match="as behind a managed queue"):
        kind.judge(observed(tmp_path, model))


def test_growth_by_delay_that_losses_end_too_soon_is_not_called_loss_based(tmp_path: Path) -> None:
    model = Model(one_way=0.01, target=0.1, gain=6.0, lost=BEFORE_ITS_SHAPE_SHOWS)
    with pytest.raises(NotMeasuredError, match="losses end each stretch before its shape differs"):
        kind.judge(observed(tmp_path, model))


def test_losses_that_cut_the_window_of_every_controller_tell_none(tmp_path: Path) -> None:
    """Between them, growth that probably follows the delay lasts for three rounds."""
    model = Model(one_way=0.01, target=0.1, gain=4.0, lost=tuple(range(150, 30000, 300)))
    with pytest.raises(NotMeasuredError, match="as they cut that of every controller"):
        kind.judge(observed(tmp_path, model))


def test_a_sender_that_may_answer_to_marks_is_not_judged(tmp_path: Path) -> None:
    seen = observed(tmp_path, Model()).conversation
    with pytest.raises(NotMeasuredError, match="the queue marked 3 packets"):
        kind.judge(Flight(replace(seen, marked_pkts=3)))


def test_an_application_that_keeps_a_rate() -> None:
    """A packet every 40 ms over a round-trip time of 100 ms: two or three are in flight, and none waits for answers."""
    sent = [(0.04 * n, n, 1000) for n in range(600)]
    judgement = kind.judge(Flight(conversation(sent, [(at + 0.1, n + 1) for at, n, _ in sent])))
    assert judgement.kind is SenderKind.APPLICATION_LIMITED


@pytest.mark.parametrize("last", [600, 1000])
def test_pieces_that_leave_when_answers_come(last: int) -> None:
    """Four packets every 40 ms over a round-trip time of 160 ms, after a burst: only one that is not full tells."""
    sent = [(0.04 * max(n // 4, 3), n, last if n % 4 == 3 else 1000) for n in range(2400)]
    flight = Flight(replace(conversation(sent, [(at + 0.16, n + 1) for at, n, _ in sent]), protocol="tcp"))
    assert (kind.judge(flight).kind is SenderKind.APPLICATION_LIMITED) is (last == 600)


@pytest.mark.parametrize(
    ("windows", "told"),
    [
        ([20, 20, 24, 22, 20, 20, 20, 20] * 2, True),  # BBR
        ([*range(48, 64), 62, 47] * 2, False),  # growth, and cut by delay
        ([24, 25, 26, 23, 16, 18, 19, 20, 21, 22, 23, 23, 24, 25, 26, 20], False),  # a packet a round, as fLEDBAT
        ([1, 1, 1, 2, 1, 3, 1, 1] * 2, False),  # single packets
        ([78, 73, 68, 62, 56, 51, 45, 39, 34, 30, 25, 21, 15, 8, 3, 2], False),
    ],
)
def test_a_pulse_rises_at_once(windows: list[int], told: bool) -> None:
    assert signals.has_pulse(np.array(windows[:16], float)) is told


def by_rounds(rounds: list[tuple[int, float]]) -> Flight:
    """Of each round the packets in flight and the round-trip time, s; all of a round leave when the last one ends."""
    sent, answers, at, number = [], [], 0.0, 0
    for window, trip in rounds:
        packets = [(at + 1e-5 * n, number + n, 1000) for n in range(window)]
        sent += packets
        answers += [(when + trip, n + 1) for when, n, _ in packets]
        at, number = at + trip + 1e-3, number + window
    return Flight(conversation(sent, answers))


@pytest.mark.parametrize(("dip_s", "declines"), [(0.1, 0), (0.3, 1)])
def test_a_window_that_sinks_where_nothing_waits_answers_to_no_delay(dip_s: float, declines: int) -> None:
    """What a lost packet leaves in flight, for instance, after the rounds in which it was sent again."""
    flight = by_rounds([*((20, 0.2) for _ in range(40)), *((window, dip_s) for window in (24, 24, 16, 16, 16))])
    assert len(signals.Signals(flight, limits.limits(flight)).declines) == declines


@pytest.mark.parametrize(
    ("rounds", "after", "is_kind"),
    [
        (100, [], SenderKind.RATE_BASED),
        (94, range(16, 22), SenderKind.RATE_BASED),  # beside others: half of the window at once
        (80, [], SenderKind.DELAY_BASED),
    ],
)
def test_who_stops_at_four_packets_every_ten_seconds_is_bbr(
    rounds: int, after: Iterable[int], is_kind: SenderKind
) -> None:
    between = [(30 + n % 3, 0.1) for n in range(rounds)]
    flight = by_rounds([*between, (4, 0.1), (4, 0.1), *((n, 0.1) for n in after)] * 3 + between[:20])
    assert kind.judge(flight).kind is is_kind


def test_losses_that_cut_the_window_are_answered_however_many_they_are(tmp_path: Path) -> None:
    """What is sent again in every other round holds the window in a narrow range."""
    flight = observed(tmp_path, Model(duration=20, one_way=0.015, target=0.1, gain=2, lost=tuple(range(60, 20000, 30))))
    with pytest.raises(NotMeasuredError, match="as they cut that of every controller"):
        kind.judge(flight)


def test_over_quic_neither_delay_nor_an_application_is_told(tmp_path: Path) -> None:
    seen = observed(tmp_path, Model()).conversation
    with pytest.raises(NotMeasuredError, match="over QUIC, BBR's later versions look like this"):
        kind.judge(Flight(replace(seen, protocol="udp")))
    sent = [(0.5 * (n // 10) + 1e-4 * (n % 10), n, 1000) for n in range(600)]
    in_tens = conversation(sent, [(at + 0.1, n + 1) for at, n, _ in sent])
    assert kind.judge(Flight(in_tens)).kind is SenderKind.APPLICATION_LIMITED
    with pytest.raises(NotMeasuredError, match="by the receiver's limit, which is encrypted"):
        kind.judge(Flight(replace(in_tens, protocol="udp")))


def test_a_window_that_sank_once_may_be_chance() -> None:
    with pytest.raises(NotMeasuredError, match="may be chance"):
        kind.judge(by_rounds([*[(20, 0.2)] * 40, *[(24, 0.3)] * 2, *[(16, 0.3)] * 3]))


@pytest.mark.parametrize(
    ("model", "most", "says"),
    [
        (
            Model(duration=60),
            supported.SUPPORTED_GROWTH,
            "in unseen networks, judgements by such evidence support no more than 0.91",
        ),
        # of senders that the receiver limits, the unseen networks had hardly any
        (
            Model(window_bytes=30 * PAYLOAD),
            supported.UNSUPPORTED,
            "unseen networks had too few judgements by such evidence to support 0.76",
        ),
    ],
)
def test_no_judgement_is_surer_than_unseen_networks_support(
    tmp_path: Path, model: Model, most: float, says: str
) -> None:
    judgement = kind.judge(observed(tmp_path, model))
    assert judgement.confidence == most
    assert judgement.because[-1] == says


@pytest.mark.parametrize(
    ("right", "of", "supported"),
    [(81, 83, supported.SUPPORTED_LOSS), (53, 54, supported.SUPPORTED_GROWTH), (24, 24, supported.SUPPORTED)],
)
def test_what_unseen_networks_support_is_the_end_of_an_interval(right: int, of: int, supported: float) -> None:
    """At a smaller part of right judgements, so many would be right in less than a case of twenty."""
    as_many = [
        sum(comb(of, n) * part**n * (1 - part) ** (of - n) for n in range(right, of + 1))
        for part in (supported, supported + 0.01)
    ]
    assert as_many[0] < 0.05 < as_many[1]


def test_a_packet_at_a_time_may_be_the_application_or_a_controller() -> None:
    sent = [(0.5 * n, n, 1000) for n in range(60)]
    with pytest.raises(NotMeasuredError, match="as small as any controller lets it become"):
        kind.judge(Flight(conversation(sent, [(at + 0.1, n + 1) for at, n, _ in sent])))


def test_too_few_packets_are_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotMeasuredError, match="round-trip times; at least 30 are needed"):
        kind.judge(observed(tmp_path, Model(duration=1.0)))


def test_controllers_of_the_kernel(tmp_path: Path) -> None:
    scenario = tmp_path / "trial" / "known.yaml"
    scenario.parent.mkdir()
    scenario.write_text(SCENARIO)
    told = {}
    for cell in expand(scenario, "complete"):
        execute(resolve(cell, 1), tmp_path)
        folder = run_folder(tmp_path, cell, 1)
        write_columns(folder)
        judgement = kind.judge(Run(folder).flight("it"))
        told[cell.name.removeprefix("client=")] = judgement.kind, judgement.like
    assert told == {
        "tcp-bbr": (SenderKind.RATE_BASED, "BBR"),
        "tcp-cubic": (SenderKind.LOSS_BASED, "CUBIC"),
        "tcp-reno": (SenderKind.LOSS_BASED, "Reno"),
        "tcp-vegas": (SenderKind.DELAY_BASED, "Vegas"),
        "tcp-ledbatpp": (SenderKind.DELAY_BASED, "LEDBAT++"),
    }


@pytest.mark.parametrize(
    ("point", "told"),
    [
        ("case=one-product,client=tcp-illinois", "a controller that answers to both, such as Illinois"),
        ("case=one-product,client=tcp-htcp", (SenderKind.LOSS_BASED, None)),
        ("case=one-product,client=tcp-rledbat", (SenderKind.WINDOW_LIMITED, "rLEDBAT")),
        ("case=deep,client=tcp-cdg", (SenderKind.DELAY_BASED, None)),
        ("case=four,client=tcp-vegas", (SenderKind.DELAY_BASED, "Vegas")),
        ("case=policer,client=tcp-westwood", "a policer lets 3.8 Mbit/s of payload pass"),
    ],
)
def test_controls_that_are_called_by_no_other_name(
    tmp_path: Path, point: str, told: str | tuple[SenderKind, str]
) -> None:
    [cell] = [cell for cell in expand(CASES / "derived-hybrids.yaml", "complete") if cell.name == point]
    execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)
    write_columns(folder)
    flight = Run(folder).seen_flight("it")
    if isinstance(told, str):
        with pytest.raises(NotMeasuredError, match=told):
            kind.judge(flight)
    else:
        judgement = kind.judge(flight)
        assert (judgement.kind, judgement.like) == told
    assert any("a policer lets 3.8 Mbit/s" in fact for fact in facts(flight)) is ("policer" in point)


def test_losses_that_cut_no_window_tell_a_measured_rate(program: Callable[[str], None], tmp_path: Path) -> None:
    program("udp-cbr")
    scenario = tmp_path / "trial" / "disturbed.yaml"
    scenario.parent.mkdir()
    scenario.write_text(DISTURBED)
    [cell] = expand(scenario, "complete")
    execute(resolve(cell, 1), tmp_path)
    folder = run_folder(tmp_path, cell, 1)
    write_columns(folder)
    judgement = kind.judge(Run(folder).flight("it"))
    assert (judgement.kind, judgement.like) == (SenderKind.RATE_BASED, "BBR")
    assert "losses left it as it was" in judgement.because[0]


def test_the_matrix_counts_what_was_told() -> None:
    def told(implementation: str, is_kind: SenderKind, is_like: str, told_kind: str, told_like: str) -> Told:
        return Told(False, implementation, "run", "it", is_kind.value, is_like, told_kind, told_like, 0.9, ["a reason"])

    table = summary(
        [
            told("a", SenderKind.LOSS_BASED, "CUBIC", "loss-based", "Reno"),
            told("a", SenderKind.LOSS_BASED, "CUBIC", "loss-based", "CUBIC"),
            told("b", SenderKind.DELAY_BASED, "other", "delay-based", "LEDBAT"),
            told("b", SenderKind.DELAY_BASED, "other", "undecided", "other"),
        ]
    )
    assert (table["flows"], table["right"], table["implementations"]) == (4, 3, 2)
    assert table["counts"]["delay-based"] == {**dict.fromkeys(table["counts"], 0), "undecided": 1, "delay-based": 1}
    assert table["alike"] == {"flows": 2, "right": 1}
    assert np.isclose(table["mean_confidence"]["wrong"], 0.9)


def test_what_failed_is_told_with_its_experiment(tmp_path: Path) -> None:
    """Also where nothing else ran: experiments have cases of the same names."""
    for experiment in ("kinds-judged", "kinds-derived"):
        folder = tmp_path / "runs" / "controllers" / experiment / "case=busy" / "failed-seed-1"
        folder.mkdir(parents=True)
        (folder / "summary.json").write_text('{"status": "failed", "error": "out of luck"}')
        vouch(folder)
    (tmp_path / "truth.yaml").write_text("families: {}\nimplementations: {}\ncontrols: {}\nnot_judged: []\n")
    said = write(tmp_path, tmp_path / "truth.yaml").splitlines()
    assert said == [
        f"failed, and left out: {experiment}, case=busy: out of luck"
        for experiment in ("kinds-derived", "kinds-judged")
    ]


def test_growth_that_is_the_same_in_each_round_is_that_of_reno() -> None:
    line = np.arange(20.0)
    assert signals.steady(line / 2) < 1e-9
    assert signals.steady(3 * line) > 1000  # more a round than Reno may
    assert signals.steady(np.sqrt(100 * line)) > 1
