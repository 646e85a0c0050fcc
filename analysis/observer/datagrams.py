"""A stream over UDP, such as QUIC, as its sender sees it, though its acknowledgements are encrypted.

When each packet was sent and when it arrived is known where both hosts, or both sides of the bottleneck, are captured.
The rest follows from what receivers of such protocols do (RFC 9000 section 13.2):

- What comes back acknowledges all that had arrived when it left.
- A packet counts as lost once one that was sent three packets later is acknowledged (RFC 9002 section 6.1.1). No packet
  is sent twice; the next one that is sent takes the place of the lost one, and so its number in this account.

Not known are the receiver's window, and answers that acknowledge less than has come.
"""

from collections import deque
from typing import Final

import numpy as np
import polars as pl

from analysis.bottleneck import IDENTITY
from analysis.observer.conversation import UDP, Answers, Conversation, DataPackets, Ints, Samples
from analysis.run_json import NS, Flow, Settings
from analysis.series import Floats, NotMeasuredError

PROTOCOL: Final = "udp"
PLACE: Final = "both hosts"
REORDERED_PKTS: Final = 3  # RFC 9002 section 6.1.1
LARGEST_ANSWER: Final = 0.5  # bytes that come back, as part of those that go; more is a conversation of equals


def load(settings: Settings, packets: pl.LazyFrame, flow: Flow, end: float, marked_pkts: int) -> Conversation:
    """Take a flow over UDP out of the packets of a run that ended at `end`, s, whose queue marked so many packets.

    Raises NotMeasuredError when its packets were not captured at both ends, or nothing answers them.
    """
    own = packets.filter((pl.col("flow") == flow.name) & (pl.col("proto") == UDP) & (pl.col("payload_bytes") > 0))
    columns = ("tap", "time_ns", "forward", "ip_length", *IDENTITY)
    seen = own.select(*dict.fromkeys(columns)).collect().sort("time_ns", maintain_order=True)
    there, back = _passed(settings, flow, seen, forward=True), _passed(settings, flow, seen, forward=False)
    back = back.filter(pl.col("came_s").is_not_null()).sort("came_s", maintain_order=True)
    if not len(there) or not len(back):
        raise NotMeasuredError(f"flow {flow.name} is over UDP, and no answers of its receiver were captured")
    payload = there["payload_bytes"].cast(pl.Int64).to_numpy()
    if back["payload_bytes"].cast(pl.Int64).to_numpy().sum() > LARGEST_ANSWER * payload.sum():
        raise NotMeasuredError(
            f"flow {flow.name} is over UDP and sends as much both ways: what are answers is not known"
        )
    sent_s = there["left_s"].to_numpy()
    came_s = there["came_s"].fill_null(np.inf).to_numpy()
    numbers, acked, newest = accounted(sent_s, came_s, back["left_s"].to_numpy(), back["came_s"].to_numpy())
    sent = DataPackets(sent_s, numbers, numbers + 1, payload, there["ip_length"].cast(pl.Int64).to_numpy())
    heard_s = back["came_s"].to_numpy()
    unknown = np.full(len(heard_s), np.inf)
    acknowledges = newest >= 0
    return Conversation(
        protocol=PROTOCOL,
        version=None,
        place=PLACE,
        end=end,
        sent=sent,
        answers=Answers(heard_s, acked, np.zeros(len(heard_s), np.uint64), unknown),
        forward=Samples(heard_s[acknowledges], (came_s - sent_s)[newest[acknowledges]]),
        backward=Samples(heard_s, heard_s - back["left_s"].to_numpy()),
        connections=1,
        marked_pkts=marked_pkts,
    )


def accounted(sent_s: Floats, came_s: Floats, answered_s: Floats, heard_s: Floats) -> tuple[Ints, Ints, Ints]:
    """Number packets by what their sender knows: sent and arrived (infinite: lost) at these instants, by time sent.

    `answered_s` and `heard_s` are when answers left the receiver and reached the sender, by the latter. Returns each
    packet's number, and of each answer the first number that is still missing and the packet that came last before it
    (-1: none).
    """
    order = np.argsort(came_s, kind="stable")
    come = np.searchsorted(came_s[order], np.maximum.accumulate(answered_s), side="right").tolist()
    arrivals = order.tolist()
    numbers = np.zeros(len(sent_s), np.int64)
    acked = np.zeros(len(heard_s), np.int64)
    newest = np.full(len(heard_s), -1, np.int64)
    missing: deque[int] = deque()  # numbers of lost packets, to be sent again
    has_come, number_has_come = [False] * len(sent_s), [False] * (len(sent_s) + 1)
    fresh = known = first_missing = furthest = looked = 0
    before = np.searchsorted(sent_s, heard_s, side="left").tolist()  # packets that were sent before each answer
    sent = 0
    for answer, number_come in enumerate(come):
        for packet in range(sent, before[answer]):
            if missing:
                numbers[packet] = missing.popleft()
            else:
                numbers[packet] = fresh
                fresh += 1
        sent = max(sent, before[answer])
        for packet in arrivals[known:number_come]:
            has_come[packet] = number_has_come[numbers[packet]] = True
            furthest = max(furthest, packet)
        if number_come > known:
            newest[answer] = arrivals[number_come - 1]
        known = max(known, number_come)
        for packet in range(looked, furthest - REORDERED_PKTS + 1):
            if not has_come[packet]:
                missing.append(int(numbers[packet]))
        looked = max(looked, furthest - REORDERED_PKTS + 1)
        while number_has_come[first_missing]:
            first_missing += 1
        acked[answer] = first_missing
    for packet in range(sent, len(sent_s)):
        numbers[packet] = missing.popleft() if missing else fresh
        fresh = max(fresh, int(numbers[packet]) + 1)
    return numbers, acked, newest


def _passed(settings: Settings, flow: Flow, seen: pl.DataFrame, *, forward: bool) -> pl.DataFrame:
    """Packets of one direction by time: when each left its host, and came to the other (null: it was lost), s."""
    taps = {"sender", "receiver"}, {"bottleneck-in", "bottleneck-out"}
    if taps[0] <= set(settings.captures):
        near, far = ("receiver", "sender") if flow.backward else ("sender", "receiver")
        left, came = (near, far) if forward else (far, near)
        wait_s = 0.0
    elif taps[1] <= set(settings.captures) and not flow.backward and not settings.changes_s:
        # no packet waits between a host and the nearer side of the bottleneck; the delays lie behind it
        left, came = ("bottleneck-in", "bottleneck-out") if forward else ("bottleneck-out", "bottleneck-out")
        wait_s = settings.forward_s if forward else settings.backward_s
    else:
        raise NotMeasuredError(
            f"flow {flow.name} is over UDP: what its sender sees needs captures at both hosts, or "
            "of flows towards a d host whose path no event changes, on both sides of the bottleneck"
        )
    of_way = seen.filter(pl.col("forward") == forward)
    turn = pl.int_range(pl.len()).over(IDENTITY).alias("turn")  # packets that look the same are taken in their order
    leaving, coming = (of_way.filter(pl.col("tap") == tap).with_columns(turn) for tap in (left, came))
    both = leaving.join(
        coming.select("turn", *IDENTITY, "time_ns"),
        on=["turn", *IDENTITY],
        how="left",
        suffix="_came",
        maintain_order="left",
    )
    return both.select(
        "payload_bytes",
        "ip_length",
        left_s=pl.col("time_ns") / NS,
        came_s=pl.col("time_ns_came") / NS + wait_s,
    )
