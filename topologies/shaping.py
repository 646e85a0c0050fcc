"""What an interface does to the packets it sends: rate with a queue, or delay. Never both on one interface.

One netem qdisc with rate and delay (Mininet's ``TCLink``) holds packets that wait for the link and packets that travel
in one queue, so its limit means neither a buffer nor a bandwidth-delay product, and jitter cannot reorder.
"""

from dataclasses import dataclass

FIFO_HANDLE = "10"
"""Major number of the qdisc that holds the waiting packets of a `Bottleneck`."""

_ETHERNET_HEADER_BYTES = 14


@dataclass(frozen=True)
class Bottleneck:
    """A link of `rate_bps` behind a drop-tail FIFO of `buffer_pkts` waiting packets.

    The rate counts IP bytes, as papers do: the Ethernet header is taken out by a size table. HTB hands a packet to the
    wire at the start of its transmission, so the packet under transmission does not count as waiting (as in ns-2),
    and the buckets hold one byte, so an idle link lets one packet pass at once and not two.
    """

    rate_bps: int
    buffer_pkts: int

    def add(self, interface: str) -> list[str]:
        """Lines for ``tc -batch`` that put it on `interface`."""
        return [
            f"qdisc add dev {interface} root handle 1: stab overhead -{_ETHERNET_HEADER_BYTES} htb default 1",
            f"class add dev {interface} {self._htb_class()}",
            f"qdisc add dev {interface} parent 1:1 {self._fifo()}",
        ]

    def change(self, interface: str) -> list[str]:
        """Lines for ``tc -batch`` that turn another `Bottleneck` on `interface` into this one, in place."""
        return [f"class change dev {interface} {self._htb_class()}", f"qdisc change dev {interface} {self._fifo()}"]

    def _htb_class(self) -> str:
        return f"parent 1: classid 1:1 htb rate {self.rate_bps}bit burst 1b cburst 1b quantum 1514"

    def _fifo(self) -> str:
        return f"handle {FIFO_HANDLE}: pfifo limit {self.buffer_pkts}"


@dataclass(frozen=True)
class Propagation:
    """Travel time of a link; jitter (uniform, +-) may reorder, as on a path of parallel queues."""

    delay_ns: int
    jitter_ns: int = 0
    loss_ppm: int = 0

    # packets under way, not a buffer: must never be what drops
    _LIMIT_PKTS = 1_000_000

    def add(self, interface: str) -> list[str]:
        """Lines for ``tc -batch`` that put it on `interface`."""
        return [f"qdisc add dev {interface} root handle 20: {self._netem()}"]

    def change(self, interface: str) -> list[str]:
        """Lines for ``tc -batch`` that turn another `Propagation` on `interface` into this one, in place."""
        return [f"qdisc change dev {interface} root handle 20: {self._netem()}"]

    def _netem(self) -> str:
        jitter = f" {self.jitter_ns}ns" if self.jitter_ns else ""
        loss = f" loss {self.loss_ppm / 10_000:.4f}%" if self.loss_ppm else ""
        return f"netem limit {self._LIMIT_PKTS} delay {self.delay_ns}ns{jitter}{loss}"


Shaping = Bottleneck | Propagation
