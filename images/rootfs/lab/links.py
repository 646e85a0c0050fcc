# SPDX-License-Identifier: MIT
"""Added to Mininet in the lab: what `testbed exec` asks of all links, TCP's memory, and which switches form loops.

Computing takes no virtual time, so a link without a rate would be infinitely fast, and a program that sends as fast as
it can would send forever. Each interface of such a link gets `tbf` with the rate of `--link-rate`. The program `tc` of
the lab (see `tc` beside this file) puts what a script calls the root below it.
"""

import ctypes
import fcntl
import json
import resource
import socket
import struct
import time
from collections import deque
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from mininet import quick

ORDER = Path("/run/testbed/links.json")
_RATED = Path("/run/testbed/rated")
_RETURNED = Path("/run/testbed/returned")  # a file for each interface whose own rate is gone; see tc beside this file
_INTERFACES = Path("/run/testbed/interfaces")
_LIMITS = Path("/run/testbed/limits")
LOOPS = Path("/run/testbed/loops.json")
_TCP_PAGES = Path("/proc/sys/net/ipv4/tcp_mem")
QUEUE_BYTES = 1_500_000
"""Of a link without a rate: a thousand packets, as many as a device of Linux holds by default."""
_BURST_BYTES = 1 << 17
_HANDLE, _ROOT = 0xFFFE0000, 0xFFFFFFFF
_NEW_QDISC, _KIND, _OPTIONS, _PARAMETERS, _BURST = 36, 1, 2, 1, 6
_ETHERNET = 1
_GET_INDEX, _ETHTOOL = 0x8933, 0x8946
_SEGMENTATION = (0x1F, 0x24, 0x2C)  # ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO
_SETTLES_S = 0.01


@cache
def _order() -> dict[str, Any]:
    with suppress(FileNotFoundError):
        return dict(json.loads(ORDER.read_text()))
    return {"rate_bps": 0, "offload": True}


def prepare(intf: Any, params: dict[str, Any]) -> None:
    """Give a new interface of a link what the order says of all; `params` are those that the script gave it."""
    if intf.link is None or type(intf).__name__ == "OVSIntf":
        return
    order = _order()
    with suppress(OSError):  # a script's own kind of link, whose interface is elsewhere
        if not order["offload"]:
            _keep_packets_apart(intf.node.pid, intf.name)
        if order["rate_bps"]:
            _let_tc_know(intf.name, order["rate_bps"])
            if not _is_rated(intf, params.get("bw")):
                _limit(intf.node.pid, intf.name, order["rate_bps"])


def _is_rated(intf: Any, bw: Any) -> bool:
    """Say whether an interface keeps the rate that its script gave it, in Mbit/s.

    A plain link of Mininet's has none, whatever `bw` says, and one of class TCLink leaves out what is above its bound.
    """
    most = getattr(intf, "bwParamMax", 0)
    return isinstance(bw, int | float) and 0 < bw <= most


def rated() -> bool:
    """Say whether a link has a rate that its script did not give it."""
    return _RATED.exists() or any(_RETURNED.glob("*"))


def _let_tc_know(name: str, rate_bps: int) -> None:
    """Leave word for `tc`: an interface of a link, and what its root is where the script leaves it without a rate."""
    if not _INTERFACES.exists():
        limits = f"rate {rate_bps}bit burst {_BURST_BYTES} limit {QUEUE_BYTES}"
        _LIMITS.write_text(f"limits='{limits}'\nqueue='bfifo limit {QUEUE_BYTES}'\n")
    with _INTERFACES.open("a") as names:
        names.write(f"{name}\n")


def _limit(process: int, name: str, rate_bps: int) -> None:
    with quick.socket_of(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        about = fcntl.ioctl(control, _GET_INDEX, quick.about_interface(name, b""))
    (index,) = struct.unpack_from("i", about, 16)
    rate = struct.pack("BBHhHI", 0, _ETHERNET, 0, 0, 0, rate_bps // 8)
    parameters = rate + bytes(len(rate)) + struct.pack("III", QUEUE_BYTES, 0, 0)
    burst = quick.attribute(_BURST, struct.pack("I", _BURST_BYTES))
    options = quick.attribute(_OPTIONS, quick.attribute(_PARAMETERS, parameters) + burst)
    body = struct.pack("BxHiIII", 0, 0, index, _HANDLE, _ROOT, 0) + quick.attribute(_KIND, b"tbf\0") + options
    quick.ask(process, _NEW_QDISC, quick.NEW, body)
    _RATED.touch()


def _keep_packets_apart(process: int, name: str) -> None:
    """Switch segmentation offload off, so that each packet of a TCP connection is one packet in every queue."""
    with quick.socket_of(process, socket.AF_INET, socket.SOCK_DGRAM) as control:
        for command in _SEGMENTATION:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0))
            fcntl.ioctl(control, _ETHTOOL, quick.about_interface(name, struct.pack("P", ctypes.addressof(value))))


def started(net: Any) -> None:
    """Let switches find their controllers before the script goes on, and note loops of switches.

    On a host this happens while programs start. Starting takes no virtual time, so a script's first packets would come
    too early, and be sent again after a second.
    """
    if net.controllers:
        time.sleep(_SETTLES_S)
    _let_tcp_hold_more()
    _note_loops(net)


def _let_tcp_hold_more() -> None:
    """Let the connections of all hosts together hold a third of the guest's memory before they have to save.

    The kernel gives TCP a share for one host of the guest's size. Beyond it windows fall to a few packets, so flows
    over long or deep links would be slower than on the hosts that the script describes, without a word.
    """
    with suppress(OSError, ValueError):  # the kernel of --real-time may be another
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        pages = int(fields["MemTotal"].split()[0]) * 1024 // resource.getpagesize() // 3
        if pages > int(_TCP_PAGES.read_text().split()[-1]):
            _TCP_PAGES.write_text(f"{pages} {pages} {pages + pages // 2}\n")


def _note_loops(net: Any) -> None:
    """Write down which switches form loops, and on which interfaces packets of hosts come to switches."""
    switches = {*net.switches}
    between = [link for link in net.links if {link.intf1.node, link.intf2.node} <= switches]
    ends = [intf for link in net.links for intf in (link.intf1, link.intf2)]
    inner = {intf for link in between for intf in (link.intf1, link.intf2)}
    loops = [loop for loop in _loops(between) if not any(getattr(node, "stp", False) for node in loop)]
    edge = [intf.name for intf in ends if intf.node in switches and intf not in inner]
    noted = {
        "loops": [[node.name for node in loop] for loop in loops],
        "inner": [intf.name for link in between for intf in (link.intf1, link.intf2)],
        "edge": edge,
    }
    if loops and LOOPS.parent.is_dir():
        LOOPS.write_text(json.dumps(noted))


def _loops(links: list[Any]) -> list[list[Any]]:
    """The loops that each further link closes in a tree of the others, as the nodes on their way."""
    tree: dict[Any, list[Any]] = {}
    loops = []
    for link in links:
        one, two = link.intf1.node, link.intf2.node
        path = _path(tree, one, two)
        if path:
            loops.append(path)
        else:
            tree.setdefault(one, []).append(two)
            tree.setdefault(two, []).append(one)
    return loops


def _path(tree: dict[Any, list[Any]], start: Any, end: Any) -> list[Any] | None:
    before = {start: start}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        if node is end:
            path = [end]
            while path[-1] is not start:
                path.append(before[path[-1]])
            return path
        for neighbour in tree.get(node, ()):
            if neighbour not in before:
                before[neighbour] = node
                waiting.append(neighbour)
    return None
