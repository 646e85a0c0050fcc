import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis.__main__ import main
from analysis.capture.columns import write_columns
from analysis.claims.expressions import evaluate
from analysis.claims.vocabulary import Vocabulary
from analysis.errors import BadInputError
from analysis.figures import panels
from analysis.observer import control, datagrams, delay, limits, sizes
from analysis.observer.conversation import Answers, Conversation, DataPackets, Samples, unwrapped
from analysis.observer.description import described, facts
from analysis.observer.flight import Flight, RetransmitCause
from analysis.observer.limits import Limit
from analysis.run import Run
from analysis.series import NotMeasuredError
from tests.analysis.synthetic import plain, write
from tests.analysis.utp_model import PAYLOAD, Model


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that lost two packets."""
    folder = Model(duration=14.0, lost=(300, 500)).run(tmp_path_factory.mktemp("busy"))
    write_columns(folder)
    return Run(folder)


def observed(tmp_path: Path, model: Model) -> Flight:
    folder = model.run(tmp_path)
    assert write_columns(folder) == []
    return Run(folder).flight("utp")


@pytest.mark.parametrize(("target", "gain"), [(0.06, 2.0), (0.025, 1.0)])
def test_target_and_gain_of_a_known_controller(tmp_path: Path, target: float, gain: float) -> None:
    flight = observed(tmp_path, Model(target=target, gain=gain))
    estimates = control.infer(flight, limits.limits(flight))
    assert estimates.target_ms is not None
    assert estimates.gain_pkts_per_rtt is not None
    # a packet more or less in the queue is a millisecond
    assert estimates.target_ms.value == pytest.approx(1e3 * target, abs=1)
    assert estimates.target_ms.low - 1 <= 1e3 * target <= estimates.target_ms.high + 1
    assert estimates.gain_pkts_per_rtt.value == pytest.approx(gain, rel=0.15)


def test_a_controller_that_ignores_delay_has_no_target(tmp_path: Path) -> None:
    flight = observed(tmp_path, Model(target=1e9, gain=1.0, lost=(400, 900, 1500, 2200, 3000, 4000, 5200, 6500)))
    estimates = control.infer(flight, limits.limits(flight))
    assert estimates.target_ms is None
    assert estimates.rounds > 100


def test_delays_rtt_and_flight_agree_with_what_happened(tmp_path: Path) -> None:
    model = Model()
    flight = observed(tmp_path, model)
    queuing = delay.queuing(flight.conversation.forward)
    waits = np.array([wait for _, wait in model.waits])[: len(queuing.values)]
    # through a receiver's clock that wraps, and microseconds
    assert queuing.values == pytest.approx(waits, abs=2e-6)
    assert flight.round_trips.values == pytest.approx(0.05 + waits, abs=1e-6)
    times, windows = np.array(model.windows[50:]).T
    # a sender sends whole packets, and its window reaches the next one before it sends
    assert np.abs(flight.packets.sampled(times) - np.floor(windows)).max() <= 1


def test_answers_are_counted_for_each_packet_of_data(tmp_path: Path) -> None:
    flight = observed(tmp_path, Model())
    sent = len(flight.conversation.sent.times)
    assert described(flight)["answers_per_data_pkt"] == pytest.approx(1, abs=0.02)
    twice = Flight(replace(flight.conversation, answer_pkts=2 * sent))
    assert "2 answers for each packet of data" in facts(twice)
    encrypted = Flight(replace(flight.conversation, answer_pkts=None))
    assert described(encrypted)["answers_per_data_pkt"] is None


def test_losses_are_found_and_put_down_to_their_cause(tmp_path: Path) -> None:
    model = Model(lost=(300, 301, 302, 1000, 2000))
    flight = observed(tmp_path, model)
    again = flight.retransmissions
    assert model.resent == 5
    assert {cause: again.count(cause) for cause in RetransmitCause} == {
        RetransmitCause.FAST: 5,
        RetransmitCause.TIMEOUT: 0,
        RetransmitCause.MTU_PROBE: 0,
    }
    assert flight.packets.max() <= max(window for _, window in model.windows) + 1


def test_receive_window_congestion_window_and_application(tmp_path: Path) -> None:
    model = Model(window_bytes=30 * PAYLOAD, target=0.1, send_until=20.0)
    flight = observed(tmp_path, model)
    limit = limits.limits(flight)
    # it grows by two packets a round-trip time, so the window of 30 is reached within a second
    assert limit.at(np.array([0.3, 5.0, 19.0])) == [Limit.CONGESTION_WINDOW, Limit.RECEIVE_WINDOW, Limit.RECEIVE_WINDOW]
    assert limit.share(Limit.RECEIVE_WINDOW) > 0.9
    with pytest.raises(NotMeasuredError, match="limited by the congestion window"):
        control.infer(flight, limit)


def conversation(sent: list[tuple[float, int, int]], acks: list[tuple[float, int]], end: float = 60.0) -> Conversation:
    """A uTP conversation: sent (s, number, payload), acks (s, first number that is still missing)."""
    times, first, payload = (np.array(column) for column in zip(*sent, strict=True))
    answers = Answers(
        np.array([t for t, _ in acks]),
        np.array([ack for _, ack in acks]),
        np.zeros(len(acks), np.uint64),
        np.full(len(acks), 1e6),
    )
    none = Samples(np.zeros(0), np.zeros(0))
    packets = DataPackets(times.astype(float), first, first + 1, payload, payload + 48)
    return Conversation("utp", 1, "sender", end, packets, answers, none, none, 1)


def test_a_timeout_and_what_follows_it() -> None:
    sent = [(0.1 * n, n, 1000) for n in range(10)]
    sent += [(2.5, 5, 1000), (2.6, 6, 1000), (2.7, 7, 1000)]  # nothing came since 0.55 s
    acks = [(0.05 + 0.1 * n, n + 1) for n in range(5)] + [(2.55, 6), (2.65, 7), (2.75, 10)]
    flight = Flight(conversation(sent, acks))
    assert flight.retransmissions.causes == [RetransmitCause.TIMEOUT] * 3
    assert flight.round_trips.values == pytest.approx([0.05] * 5)  # none of packets that were sent twice (Karn)


def test_a_lost_probe_of_the_path_is_no_congestion() -> None:
    sent = [(0.01 * n, n, 1000 if n != 20 else 1400) for n in range(30)] + [(0.36, 20, 1400)]
    acks = [(0.05 + 0.01 * n, n + 1) for n in range(20)] + [(0.05 + 0.01 * n, 20) for n in range(21, 30)] + [(0.41, 30)]
    assert Flight(conversation(sent, acks)).retransmissions.causes == [RetransmitCause.MTU_PROBE]


def test_packets_behind_the_end_of_a_conversation_do_not_make_it_short() -> None:
    sent = [(0.1 * n, n, 1000) for n in range(105)]
    acks = [(0.05 + 0.1 * n, n + 1) for n in range(99)]
    limit = limits.limits(Flight(conversation(sent, acks, end=10.0)))
    assert limit.edges[0] == 0
    assert limit.edges[-1] == 10
    assert len(limit.limits) == len(limit.edges) - 1 >= 99


def test_packet_sizes() -> None:
    sent = [(float(n), n, 300 if n < 5 else 1400) for n in range(10)] + [(9.5, 2, 300)]
    seen = conversation(sent, [(10.0, 10)])
    assert sizes.ladder(seen) == [(0.0, 348), (5.0, 1448)]
    assert sizes.counts(sizes.sizes(seen), 0, 10) == {348: 5, 1448: 5}
    assert sizes.header_share(seen) == pytest.approx(11 * 48 / (11 * 48 + 6 * 300 + 5 * 1400))


def test_base_delay_forgets_after_ten_minutes() -> None:
    times = np.arange(0, 900, 10.0)
    samples = Samples(times, np.where(times < 60, 0.01, 0.03))
    queuing = delay.queuing(samples)
    assert queuing.values[times == 590] == pytest.approx(0.02)
    assert queuing.values[times == 600] == pytest.approx(0)


def test_numbers_count_on_where_the_wire_begins_again() -> None:
    assert unwrapped(np.array([65534, 0, 65535, 3]), 16).tolist() == [65534, 65536, 65535, 65539]
    assert unwrapped(np.array([1]), 16, first=65530).tolist() == [65537]


def test_the_command_writes_numbers_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Model(duration=8.0).run(tmp_path, flows=("utp", "idle"))
    assert main(["observe", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "utp: delay-based, like LEDBAT (confidence 0.80): its window grows more slowly as the delay grows, up to 54 ms",
        "idle: cannot tell: flow idle sent no data that was captured at the sender",
        str(folder / "observation.svg"),
    ]
    flows = json.loads((folder / "observation.json").read_text())["flows"]
    assert flows["utp"]["transport"] == "utp"
    assert flows["utp"]["packet_sizes"]["counts"].keys() == {"1430"}
    assert flows["utp"]["rtt_ms"]["min"] == pytest.approx(50, abs=0.01)
    assert flows["idle"] == {"not_observed": "flow idle sent no data that was captured at the sender"}
    assert "<svg" in (folder / "observation.svg").read_text()[:200]


def test_who_observes_a_run_keeps_its_captures(tmp_path: Path) -> None:
    folder = write(tmp_path, replace(plain(), keep_captures=False))
    before = sorted((folder / "pcap").iterdir())
    assert before
    assert main(["observe", str(folder)]) == 0
    assert sorted((folder / "pcap").iterdir()) == before


def test_where_nothing_was_captured_is_said(tmp_path: Path) -> None:
    made = plain()
    made.changes = {"captures": ["bottleneck-out"]}
    folder = write(tmp_path, made)
    write_columns(folder)
    with pytest.raises(NotMeasuredError, match="the sender of flow tcp sees needs a capture at its host"):
        Run(folder).in_flight("tcp")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ('packet_sizes("utp")', [1430]),
        ('size_share("utp", 1430)', 1),
        ('size_share("utp", 1431, 1, 2)', 0),
        ('packet_bytes("utp").max()', 1430),
        ('header_share("utp")', pytest.approx(48 / 1430)),
        ('retransmissions("utp").count()', 2),
        ('0 < retransmission_rate("utp") < 0.001', True),
        ('receive_window_bytes("utp").min()', 1 << 20),
        ('rtt_ms("utp").min()', pytest.approx(50)),
        ('seen_delay_ms("utp").min()', 0),
        ('limited_by("utp", "receive-window")', 0),
        ('limited_by("utp", "congestion-window", 2, 7) > 0.9', True),
        ('58 < inferred_target_ms("utp") < 62', True),
        ('1.6 < inferred_gain("utp") < 2.4', True),
    ],
)
def test_words_of_claims(busy: Run, expression: str, value: object) -> None:
    vocabulary = Vocabulary(busy, "made-by-hand", lambda *_: busy, {})
    assert evaluate(expression, vocabulary) == value


def test_the_rate_at_a_sender_counts_each_packet_that_it_sends(busy: Run) -> None:
    sent = busy.flight("utp").conversation.sent
    assert busy.sent_rate("utp", 0.5).mean(0, 14) * 14 / 8 == pytest.approx(sent.ip_bytes.sum())
    assert busy.sent_rate("utp", 0.5).at(6) == pytest.approx(
        16 * sent.ip_bytes[(sent.times >= 6) & (sent.times < 6.5)].sum()
    )
    drawn = panels._named(0.5)["sent-rate"].lines(busy)["utp"]
    assert drawn.at(6) == pytest.approx(1e-6 * busy.sent_rate("utp", 0.5).at(6))


def test_a_target_that_no_delay_reached_is_none_that_claims_may_use(tmp_path: Path) -> None:
    folder = Model(duration=8.0, target=0.3).run(tmp_path)
    write_columns(folder)
    run = Run(folder)
    assert run.control("utp").extrapolated
    with pytest.raises(NotMeasuredError, match="never sank with delay"):
        evaluate('inferred_target_ms("utp")', Vocabulary(run, "made-by-hand", lambda *_: run, {}))


def test_a_limit_that_is_none_is_named(busy: Run) -> None:
    with pytest.raises(BadInputError, match="'moon' is not a valid Limit"):
        evaluate('limited_by("utp", "moon")', Vocabulary(busy, "made-by-hand", lambda *_: busy, {}))


def test_a_stream_over_udp_is_accounted_for_by_what_arrived() -> None:
    """Packet 2 of 8 is lost, and 5 overtakes 4; an answer leaves 0.1 s after each arrival, and takes 0.1 s."""
    sent_s = np.arange(8) / 10
    came_s = sent_s + 0.1
    came_s[2] = np.inf
    came_s[[4, 5]] = came_s[[5, 4]]
    answered_s = np.sort(came_s)[:-1] + 0.01
    numbers, acked, newest = datagrams.accounted(sent_s, came_s, answered_s, answered_s + 0.1)
    # 5 arrives at 0.5 s, so packet 2 counts as lost at 0.61 s, and the next packet, 7, takes its place
    assert numbers.tolist() == [0, 1, 2, 3, 4, 5, 6, 2]
    assert acked.tolist() == [1, 2, 2, 2, 2, 2, 7]
    assert newest.tolist() == [0, 1, 3, 5, 4, 6, 7]


def test_answers_of_a_stream_over_udp_may_be_overtaken_or_missing() -> None:
    sent_s = np.arange(4) / 10
    numbers, acked, newest = datagrams.accounted(sent_s, sent_s + 0.1, np.array([0.35, 0.15]), np.array([0.45, 0.5]))
    assert (numbers.tolist(), acked.tolist(), newest.tolist()) == ([0, 1, 2, 3], [3, 3], [2, -1])
