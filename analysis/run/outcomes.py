"""How the endpoints of a flow ended, and which connections they opened."""

import math
import re
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from analysis.errors import BadInputError
from analysis.run.folder import WHERE, RunFolder, keep
from analysis.run_json import NS
from analysis.series import Instants, NotMeasuredError
from analysis.words import word
from scenarios.run_files import DIED, ENDINGS, GAVE_UP, HUNG, INCOMPLETE, REFUSED

CORRUPTED: Final = "corrupted"  # an end of another kind, in whose words a receiver says that a byte was wrong
ENDS: Final = (*ENDINGS, CORRUPTED)
_VERBS: Final[Mapping[str, str]] = MappingProxyType({CORRUPTED: "got wrong bytes", INCOMPLETE: "was incomplete"})
_OF_FLOW: Final = re.compile("flow ([^:]+): ")  # begins the sentence of a run that failed by a flow
_OF_CORRUPTION: Final = "wrong byte"
_HUNG: Final = " still ran "  # one that hung is killed, and has the exit status of one that died
_SAID_OF: Final[Mapping[str, str]] = MappingProxyType(
    {" ended by itself ": GAVE_UP, "receiver got no byte": INCOMPLETE, "but its receiver has ": INCOMPLETE}
)
"""Words of the guest that tell a kind of end where no exit status does."""
_NOT_SUPPORTED: Final = 127  # exit status of an endpoint for a role or a parameter that it does not have
_TCP, _UTP = "tcp", "utp"
_SYN_OF_TCP: Final = 2
_SYN_OF_UTP: Final = 4
_ACK: Final = 16


@dataclass(frozen=True)
class Outcome:
    """An endpoint that was not done: its role, how it ended, when, and in its own words why."""

    endpoint: str
    ending: str
    at_s: float
    says: str

    def __str__(self) -> str:
        when = "" if self.ending == INCOMPLETE else f" at {self.at_s:.3f} s"  # only after the end is that known
        return f"{self.verb}{when}: {self.says}"

    @property
    def verb(self) -> str:
        """What the flow did, for a sentence."""
        return verb_of(self.kind)

    @property
    def kind(self) -> str:
        """One of ENDS."""
        return CORRUPTED if self.is_of(CORRUPTED) else self.ending

    def is_of(self, how: str) -> bool:
        """Whether it ended so; an empty text stands for any end."""
        return how in ("", self.ending) or (how == CORRUPTED and _OF_CORRUPTION in self.says)

    def is_before(self, at_s: float) -> bool:
        """Whether the endpoint did not do its part until an instant; who is incomplete never did."""
        return self.at_s < at_s or self.ending == INCOMPLETE


def verb_of(kind: str) -> str:
    """Give what a flow did that ended so, for a sentence."""
    return _VERBS.get(kind, kind)


def failed_flow(why: str, flows: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    """Return the flow of which the sentence of a failed run speaks, and the kind of its end; empty where unknown.

    `flows` are those of the run's summary, with their endpoints' exit statuses.
    """
    found = _OF_FLOW.match(why)
    if not found:
        return "", ""
    flow = flows.get(found[1]) or {}
    return found[1], kind_of_failure(why, [flow.get(f"{role}_exit") for role in ("sender", "receiver")])


def with_kind(why: str, flows: Mapping[str, Mapping[str, Any]]) -> str:
    """Let the sentence of a failed run begin with how its flow ended, where that is known."""
    name, kind = failed_flow(why, flows)
    return f"flow {name} {verb_of(kind)}: {why.removeprefix(f'flow {name}: ')}" if kind else why


def kind_of_failure(why: str, exits: Iterable[int | None]) -> str:
    """Tell the kind of end from the sentence of a failed run and its endpoints' exit statuses; empty if none shows it.

    An endpoint that got SIGTERM may end by it.
    """
    if _OF_CORRUPTION in why:
        return CORRUPTED
    if _HUNG in why:
        return HUNG
    status = next((status for status in exits if status not in (None, 0, -signal.SIGTERM)), 0)
    if not status:
        return next((kind for words, kind in _SAID_OF.items() if words in why), "")
    return DIED if status < 0 else REFUSED if status == _NOT_SUPPORTED else GAVE_UP


class OutcomeWords(RunFolder):
    """The words of a run about the ends of endpoints, and about connections."""

    def outcomes(self, flow: str) -> list[Outcome]:
        """List the endpoints of a flow that were not done, in the order of their ends."""
        known = self.flow(flow)
        ends = self.summary.child("flows").child(known.name).children("outcomes") if known.may_fail else []
        listed = [
            Outcome(end.get("endpoint", str), end.get("ending", str), end.get("at_ns", int) / NS, end.get("says", str))
            for end in ends
        ]
        return sorted(listed, key=lambda outcome: outcome.at_s)

    @word("s")
    def ended(self, flow: str, how: str = "") -> float:
        """Instant, s, at which an endpoint of a flow with `may_fail` ended as it should not; `never` if none did.

        With `how` only an end of that kind counts: "died", "gave up", "refused", "hung", "incomplete", or "corrupted"
        where a receiver found a wrong byte.
        """
        if how and how not in ENDS:
            raise BadInputError(f"ended({flow!r}, {how!r}): found {how!r}; allowed: {', '.join(ENDS)}")
        return min((outcome.at_s for outcome in self.outcomes(flow) if outcome.is_of(how)), default=math.inf)

    @word()
    def connections(self, flow: str) -> Instants:
        """Instants at which a flow opened a connection: SYNs of TCP and uTP, else the first packet from each port."""
        return Instants(self._opened_s(flow), self.ends_s)

    @word()
    def reconnections(self, flow: str) -> Instants:
        """Instants at which a flow opened a connection after its first one."""
        return Instants(self._opened_s(flow)[1:], self.ends_s)

    @keep
    def _opened_s(self, flow: str) -> NDArray[np.float64]:
        known = self.flow(flow)
        taps = ("receiver" if known.backward else "sender", *WHERE)
        tap = next((tap for tap in taps if tap in self.settings.captures), None)
        if tap is None:
            raise NotMeasuredError(f"the connections of flow {flow} need a capture at {' or '.join(taps)}")
        packets = self.packets(60)
        if known.transport == _UTP:
            opening = packets.with_row_index("packet").join(
                self.table("utp").filter(pl.col("utp_type") == _SYN_OF_UTP), on="packet"
            )
            each = ["forward", "sport", "utp_connection"]
        elif known.transport == _TCP:
            opening = packets.filter(pl.col("flags") & (_SYN_OF_TCP | _ACK) == _SYN_OF_TCP)
            each = ["forward", "sport", "seq"]
        else:
            opening, each = packets.filter("forward"), ["sport"]
        of_flow = (pl.col("flow") == known.name) & (pl.col("tap") == tap)
        opened = opening.filter(of_flow).group_by(each).agg(pl.col("time_ns").min()).sort("time_ns").collect()
        opened_s: NDArray[np.float64] = opened["time_ns"].to_numpy() / NS
        return opened_s
