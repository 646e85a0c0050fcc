"""A run's captures as one pcapng file for Wireshark: taps and hosts have their names, packets say what happened.

Packets stand in the order of their times, and keep the times of the captures.
"""

import heapq
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_interface
from pathlib import Path
from typing import IO, Final

import polars as pl

from analysis import bottleneck, run_json
from analysis.capture import columns, packed, pcap
from analysis.capture.addresses import RunAddresses
from analysis.capture.owners import Owners
from analysis.capture.records import Content, Record, records
from analysis.documents import Fields, read_made
from analysis.errors import BadInputError
from analysis.files import whole
from analysis.run_json import NS, Settings
from common import sums

ALONG: Final = ("sender", "bottleneck-in", "bottleneck-out", "receiver")  # of packets at one instant
DROPPED: Final = "dropped: the bottleneck's queue did not let it pass"
BY: Final = "LEDBAT testbed"
SECTION, INTERFACE, NAMES, PACKET = 0x0A0D0D0A, 1, 4, 6  # types of blocks
END, COMMENT, NAME, DESCRIPTION, USER_APPLICATION, RESOLUTION = 0, 1, 2, 3, 4, 9  # options
OF_VERSION: Final = {4: 1, 6: 2}  # records of names
NANOSECONDS: Final = b"\x09"


@dataclass(frozen=True)
class WrittenPcapng:
    """What a file has."""

    pkts: int
    places: list[str]  # its interfaces
    comments: int


def write(folder: Path, file: Path) -> WrittenPcapng:
    """Write all packets that a run folder has into a pcapng file.

    Raises BadInputError where it has none, DamagedError where they are not as the run left them.
    """
    run = run_json.load(folder)
    captures = [sums.checked(folder, str(path.relative_to(folder))) for path in packed.kept(folder)]
    if not captures:
        raise BadInputError(f"{folder}: found no captures; allowed: a run with packets, as `testbed run` leaves it")
    captures.sort(key=lambda path: (_along(path), path.name))
    places = [packed.place(path) for path in captures]
    about = _dropped(run, captures)
    happened = sorted(_happened(run, folder))
    pkts = comments = 0
    with ExitStack() as stack, whole(file) as temporary, temporary.open("wb") as out:
        contents = [stack.enter_context(pcap.unpacked(path)) for path in captures]
        _begin(out, run, read_made(folder, "run.json"), places)
        rows = (_numbered(place, content) for place, content in enumerate(contents))
        for record, place, number in heapq.merge(*rows, key=lambda row: row[0].time_ns):
            said = []
            while happened and happened[0][0] <= record.time_ns:
                said.append(happened.pop(0)[1])
            said += about.get((place, number), [])
            _packet(out, record, place, contents[place], said)
            pkts += 1
            comments += len(said)
    return WrittenPcapng(pkts, places, comments)


def _along(path: Path) -> int:
    tap = packed.place(path).partition(".")[0]
    return ALONG.index(tap) if tap in ALONG else len(ALONG)


def _happened(run: Settings, folder: Path) -> Iterator[tuple[int, str]]:
    """Yield instants since the epoch, and what happened then."""
    yield run.origin_ns, "0 s: the scenario's zero"
    for flow in run.flows:
        ends = f"{flow.implementation}, {flow.ends['sender']} to {flow.ends['receiver']}"
        yield run.origin_ns + round(flow.start_s * NS), f"{flow.start_s:g} s: {flow.name} starts ({ends})"
    events = pl.read_csv(sums.checked(folder, "traces/events.csv"), schema={"time_ns": pl.Int64, "what": pl.String})
    for time_ns, what in events.iter_rows():
        yield run.origin_ns + time_ns, f"{time_ns / NS:g} s: {what}"


def _dropped(run: Settings, captures: list[Path]) -> dict[tuple[int, int], list[str]]:
    """Find the packets that came to the bottleneck and did not leave it, by place and number."""
    owners = Owners(run.flows, RunAddresses(run.ip))
    tables = []
    for place, path in enumerate(captures):
        if _along(path) in (1, 2):
            chunks = columns.chunks(path, owners.addresses)
            packets = pl.concat([chunk.packets for chunk in chunks]).with_row_index("number")
            tables.append(columns.labelled(packets, path, run, owners).with_columns(place=pl.lit(place)))
    passed = pl.concat(tables) if tables else pl.DataFrame()
    if not tables or set(passed["tap"].unique()) != {"bottleneck-in", "bottleneck-out"}:
        return {}
    lost = bottleneck.passages(passed.lazy(), run.destinations).filter("dropped")
    left = Counter(lost.select("flow", "time_ns").iter_rows())
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    there = passed.filter((pl.col("tap") == "bottleneck-in") & pl.col("time_ns").is_in(lost["time_ns"].implode()))
    # of several at one instant, the last ones found no room
    for flow, time_ns, place, number in there.select("flow", "time_ns", "place", "number").reverse().iter_rows():
        if left[flow, time_ns]:
            left[flow, time_ns] -= 1
            found[place, number].append(DROPPED)
    return found


def _numbered(place: int, content: Content) -> Iterator[tuple[Record, int, int]]:
    for number, record in enumerate(records(content)):
        yield record, place, number


def _begin(out: IO[bytes], run: Settings, document: Fields, places: list[str]) -> None:
    """Write what stands before the packets."""
    what = f"{run.study}/{run.experiment}/{run.cell}/seed-{run.seed}: {run.title}"
    section = struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)
    _block(out, SECTION, section + _options((COMMENT, what.encode()), (USER_APPLICATION, BY.encode())))
    network = document.child("network")
    for place in places:
        tap, _, interface = place.partition(".")
        known = (network.maybe("taps", dict) or {}).get(tap) or [{}]
        named = interface or str(known[0].get("interface", ""))
        described = ((DESCRIPTION, named.encode()),) if named else ()
        options = _options((NAME, place.encode()), *described, (RESOLUTION, NANOSECONDS))
        _block(out, INTERFACE, struct.pack("<HHI", 1, 0, 0) + options)
    records = b"".join(
        _option(OF_VERSION[address.version], address.packed + host.encode() + b"\0")
        for host, address in _addresses(network)
    )
    _block(out, NAMES, records + bytes(4))


def _addresses(network: Fields) -> Iterator[tuple[str, IPv4Address | IPv6Address]]:
    """Yield all addresses of the network, with the names of their hosts and routers."""
    seen = set()
    for link in network.maybe("links", list) or []:
        for end in link:
            for written in end.get("addresses", ()):
                address = ip_interface(written).ip
                if address not in seen:
                    seen.add(address)
                    yield str(end["node"]), address


def _packet(out: IO[bytes], record: Record, place: int, content: Content, comments: list[str]) -> None:
    data = content[record.begins : record.begins + record.kept_bytes]
    head = (place, record.time_ns >> 32, record.time_ns & 0xFFFFFFFF, record.kept_bytes, record.wire_bytes)
    options = _options(*((COMMENT, comment.encode()) for comment in comments)) if comments else b""
    _block(out, PACKET, struct.pack("<IIIII", *head) + data + bytes(-len(data) % 4) + options)


def _block(out: IO[bytes], kind: int, body: bytes) -> None:
    length = struct.pack("<I", len(body) + 12)
    out.write(struct.pack("<I", kind) + length + body + length)


def _options(*options: tuple[int, bytes]) -> bytes:
    return b"".join(_option(*option) for option in options) + struct.pack("<HH", END, 0)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
