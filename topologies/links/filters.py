"""What a link refuses to carry: packets that are too long, and packets beyond a policed rate.

Filters act before the packet is delayed, so what they drop takes no place on the link. They count Ethernet frames: a
full packet of 1500 bytes has 1514.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar

from topologies.links.base import ETHERNET_HEADER_BYTES, Parts
from topologies.links.netem import ImpairedLink
from topologies.links.tc import FILTER, QDISC, Answer, attributes_of, bucket_ticks
from topologies.packets import PACKET_BYTES

CHANGEABLE = ("black_hole", "policed", "policed_burst")
"""Fields that an event may change in place, without their units."""

ANY_LENGTH_BYTES = PACKET_BYTES
"""The longest packet of all links here, so a packet of this length is never too long."""

_BLACK_HOLE, _POLICER = 1, 2
_CLSACT = 0xFFFF0000  # ffff:
# linux/pkt_cls.h
_MATCHALL_ACTIONS, _ACTION_OPTIONS, _POLICE, _POLICE_RATE64 = 2, 2, 1, 8


@dataclass(frozen=True)
class FilteredLink(ImpairedLink):
    """A link that silently drops packets longer than `black_hole_bytes`, and what exceeds `policed_bps`.

    The policer is a token bucket of `policed_burst_bytes` without a queue; 0 bit/s: there is none.
    """

    black_hole_bytes: int = ANY_LENGTH_BYTES
    policed_bps: int = 0
    policed_burst_bytes: int = 0

    ASKED: ClassVar = (*ImpairedLink.ASKED, (QDISC, _CLSACT), (FILTER, _BLACK_HOLE), (FILTER, _POLICER))

    def change(self, interface: str) -> list[str]:
        """Return the lines for ``tc -batch`` that turn another link on `interface` into this one, in place."""
        policing = f"rate {self.policed_bps}bit burst {self.policed_burst_bytes}" if self.policed_bps else "mtu 65535"
        longest = f"mtu {self.black_hole_bytes + ETHERNET_HEADER_BYTES}"
        filters = (_filter(interface, _BLACK_HOLE, longest), _filter(interface, _POLICER, policing))
        # `replace` lets a clsact be that is there
        place = (f"qdisc replace dev {interface} clsact", f"filter del dev {interface} egress")
        return [*super().change(interface), *place, *filters]

    def values(self) -> Parts:
        """Return what `read` must find when this is in force."""
        burst = bucket_ticks(self.policed_burst_bytes, self.policed_bps) if self.policed_bps else 0
        policer = {"policed_bps": self.policed_bps // 8 * 8, "policed_burst_ticks": burst}
        return {**super().values(), "black_hole_bytes": self.black_hole_bytes, **policer}

    def parts(self, answer: Answer) -> Parts:
        """Return what an answer to `ASKED` tells, and `refused_pkts`, the packets that the filters have dropped."""
        if answer.kind == "clsact":
            return {"refused_pkts": answer.dropped_pkts}
        if answer.kind != "matchall":
            return super().parts(answer)
        [action] = attributes_of(attributes_of(answer.options)[_MATCHALL_ACTIONS]).values()
        police = attributes_of(attributes_of(action)[_ACTION_OPTIONS])
        _, _, _, burst, frame_bytes, _, bytes_ps = struct.unpack_from("=IiIII8sI", police[_POLICE])
        if answer.handle == _BLACK_HOLE:
            return {"black_hole_bytes": frame_bytes - ETHERNET_HEADER_BYTES}
        return {"policed_bps": 8 * bytes_ps, "policed_burst_ticks": burst}


def _filter(interface: str, priority: int, limit: str) -> str:
    where = f"dev {interface} egress protocol all prio {priority} handle {priority}"
    return f"filter add {where} matchall action police {limit} conform-exceed drop/continue"
