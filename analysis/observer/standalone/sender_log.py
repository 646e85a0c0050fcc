"""A sender's own log (qlog) as a flow beside those of captures."""

from typing import Final

import numpy as np
import polars as pl

from analysis.observer.flight import Flight
from analysis.observer.logs.qlog import Connection
from analysis.observer.standalone.captures import Captured
from analysis.observer.standalone.flows import CapturedFlow
from analysis.observer.standalone.observed import FlowView
from analysis.observer.standalone.tap import TapGuess, TapPlace

ROUND_TRIPS: Final = (
    "delays of data are those of the round trip, less what the receiver says that it waited: queues of answers count, "
    "too"
)
NO_DATE: Final = "it does not say when it began"


def views(connections: list[Connection]) -> list[FlowView]:
    """Give the flows of a log; there is at least one."""
    began_ns = [one.began_ns for one in connections if one.began_ns is not None]
    origin_ns = min(began_ns, default=0)
    captured = Captured(
        connections[0].path,
        origin_ns,
        origin_ns + max(round(one.lasts_s * 1e9) for one in connections),
        sum(len(one.seen.sent.times) for one in connections),
        np.empty(0, "V16"),
        {},
        [] if began_ns else [NO_DATE],
    )
    return [_view(captured, one) for one in connections]


def _view(captured: Captured, connection: Connection) -> FlowView:
    flight = Flight(connection.seen)
    remarks = [ROUND_TRIPS] if len(connection.seen.forward.values) else ["it has no acknowledgement of data"]
    data = pl.DataFrame({"payload_bytes": connection.seen.sent.payload_bytes})
    flow = CapturedFlow(
        captured, connection.seen.protocol, connection.sender, connection.receiver, data, data.clear(), remarks
    )
    trips = flight.round_trips.values
    because = [f"the log of {connection.program or 'the sender'} (qlog)"]
    tap = TapGuess(TapPlace.SENDER, 0.0, float(trips.min()) if len(trips) else None, because, None)
    return FlowView(flow, tap, flight, flight, None)
