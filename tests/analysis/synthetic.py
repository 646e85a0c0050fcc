"""Run folders built by hand, packet by packet, so that every metric can be worked out on paper."""

import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import sums

NS = 1_000_000_000
ORIGIN_NS = 1_700_000_000 * NS
PACKET = 1500


def frame(
    src: int, dst: int, sport: int, dport: int, seq: int, ip_id: int, length: int = PACKET, tsval: int = 7
) -> bytes:
    """First 66 bytes of an Ethernet frame with IPv4, TCP and timestamps; `length` is the IP total length."""
    ethernet = bytes(12) + b"\x08\x00"
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, length, ip_id, 0x4000, 64, 6, 0, src, dst)
    tcp = struct.pack(">HHIIBBHHH", sport, dport, seq, 1, 8 << 4, 0x10, 512, 0, 0)
    return ethernet + ip + tcp + b"\x01\x01\x08\x0a" + struct.pack(">II", tsval, 9)


def utp_frame(
    src: int,
    dst: int,
    sport: int,
    dport: int,
    *,
    kind: int,
    seq: int,
    ack: int,
    time_us: int,
    difference_us: int = 0,
    window_bytes: int = 1 << 20,
    connection: int = 1,
    extension: int = 0,
    chain: bytes = b"",
    payload: int = 0,
    version: int = 1,
    snap: int = 96,
) -> bytes:
    """First bytes of an Ethernet frame with IPv4, UDP and uTP (BEP 29, or for version 0 the older header)."""
    if version == 0:
        clock = divmod(time_us, 1_000_000)
        fields = (connection, *clock, difference_us, window_bytes // 350 % 256, extension, kind, seq, ack)
        utp = struct.pack(">IIIIBBBHH", *fields)
    else:
        new = (kind << 4 | version, extension, connection, time_us, difference_us, window_bytes, seq, ack)
        utp = struct.pack(">BBHIIIHH", *new)
    utp += chain
    length = 28 + len(utp) + payload
    ip = struct.pack(">BBHHHBBHII", 0x45, 0, length, 0, 0x4000, 64, 17, 0, src, dst)
    udp = struct.pack(">HHHH", sport, dport, length - 20, 0)
    return (bytes(12) + b"\x08\x00" + ip + udp + utp + bytes(payload))[:snap]


def pcap(records: list[tuple[int, bytes]], *, order: str = "<", nanoseconds: bool = True, link: int = 1) -> bytes:
    """A pcap file; times in ns since the epoch."""
    magic, tick = (0xA1B23C4D, 1) if nanoseconds else (0xA1B2C3D4, 1000)
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 96, link)]
    for time_ns, data in records:
        parts.append(struct.pack(order + "IIII", time_ns // NS, time_ns % NS // tick, len(data), len(data)) + data)
    return b"".join(parts)


def pcapng(
    records: list[tuple[int, bytes]], *, order: str = "<", resolution: int = 9, offset_s: int = 0, link: int = 1
) -> bytes:
    """A pcapng file of one interface, with a block that readers must skip; `resolution` as in its option."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        length = struct.pack(order + "I", len(body) + 12)
        return struct.pack(order + "I", kind) + length + body + length

    options = struct.pack(order + "HHB3xHHqI", 9, 1, resolution, 14, 8, offset_s, 0)
    parts = [
        block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(1, struct.pack(order + "HHI", link, 0, 0) + options),
        block(5, bytes(16)),
    ]
    ticks = 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    for time_ns, data in records:
        stamp = (time_ns - offset_s * NS) * ticks // NS
        sizes = (0, stamp >> 32, stamp & 0xFFFFFFFF, len(data), len(data))
        parts.append(block(6, struct.pack(order + "IIIII", *sizes) + data))
    return b"".join(parts)


def over_ipv6(data: bytes, extension: int | None = None) -> bytes:
    """The same frame over IPv6 between 2001:db8:: and the old addresses, optionally with an extension header."""
    ip = data[14:]
    length, hops, protocol = struct.unpack(">H", ip[2:4])[0], ip[8], ip[9]
    chain = b"" if extension is None else bytes([protocol]) + bytes(7)
    header = struct.pack(">IHBB", 6 << 28, length - 20 + len(chain), protocol if extension is None else extension, hops)
    ends = b"".join(bytes.fromhex("20010db8") + bytes(8) + address for address in (ip[12:16], ip[16:20]))
    return data[:12] + b"\x86\xdd" + header + ends + chain + ip[20:]


@dataclass
class Packet:
    """A data packet of flow number `flow`: when it arrives and when it leaves (None: dropped), s."""

    flow: int
    arrives: float
    leaves: float | None


@dataclass
class Made:
    """The contents of a run folder."""

    packets: list[Packet]
    duration: float = 10.0
    flows: tuple[str, ...] = ("tcp", "ledbat")
    experiment: str = "made-by-hand"
    cell: str = "single"
    seed: int = 1
    queue: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])
    cwnd: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    keep_captures: bool = True
    status: str = "ok"
    changes: dict[str, Any] = field(default_factory=dict)


def write(root: Path, made: Made) -> Path:
    """Write the run folder below `root` as the engine would; returns it."""
    folder = root / "made" / made.experiment / made.cell / f"seed-{made.seed}"
    for name in ("pcap", "traces", "logs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    run = {
        "format": 2,
        "study": "made",
        "experiment": made.experiment,
        "cell": made.cell,
        "cell_values": {},
        "seed": made.seed,
        "title": "Made by hand",
        "topology": {"name": "dumbbell", "pairs": 2},
        "bottleneck": {"rate_bps": 12_000_000, "buffer_pkts": 40},  # a full packet a millisecond
        "delay": {"forward_ns": 25_000_000, "backward_ns": 25_000_000},
        "tcp": {"ack": "every-packet", "initial_window_pkts": 1},
        "flows": [
            {
                "name": name,
                "implementation": f"tcp-{name}",
                "from": f"s{index}",
                "to": f"d{index}",
                "to_address": f"10.1.{index}.1",
                "port": 5000 + index,
                "direction": "forward",
                "start_ns": 0,
                "params": {"target_ns": 25_000_000} if "ledbat" in name else {},
            }
            for index, name in enumerate(made.flows, 1)
        ],
        "implementations": {
            f"tcp-{name}": {"family": "LEDBAT" if "ledbat" in name else "Reno", "transport": "tcp"}
            for name in made.flows
        },
        "network": {"queues": {"bottleneck": {"destinations": "10.1.0.0/16"}}},
        "events": [],
        "duration_ns": round(made.duration * NS),
        "sample_ns": 10_000_000,
        "captures": ["bottleneck-in", "bottleneck-out"],
        "keep_captures": made.keep_captures,
        "origin_ns": ORIGIN_NS,
        "provenance": {"commit": "0" * 40, "kernel": {"release": "7.3.4-testbed"}},
        **made.changes,
    }
    (folder / "run.json").write_text(json.dumps(run))
    taps: dict[str, list[tuple[int, bytes]]] = {f"bottleneck-in.r1-s{n}": [] for n in range(1, len(made.flows) + 1)}
    taps["bottleneck-out"] = []
    for number, packet in enumerate(made.packets):
        n = packet.flow + 1
        data = frame(0x0A000001 + (n << 8), 0x0A010001 + (n << 8), 40000 + n, 5001 + packet.flow, number, number)
        taps[f"bottleneck-in.r1-s{n}"].append((ORIGIN_NS + round(packet.arrives * NS), data))
        if packet.leaves is not None:
            taps["bottleneck-out"].append((ORIGIN_NS + round(packet.leaves * NS), data))
    for name, records in taps.items():
        (folder / "pcap" / f"{name}.pcap").write_bytes(pcap(sorted(records)))
    rows = [f"{round(t * NS)},{pkts},{pkts * PACKET},0,0,0\n" for t, pkts in made.queue]
    head = "time_ns,backlog_pkts,backlog_bytes,sent_pkts,sent_bytes,dropped_pkts\n"
    (folder / "traces" / "queue.csv").write_text(head + "".join(rows))
    head = (
        "time_ns,cwnd_pkts,ssthresh_pkts,srtt_us,rttvar_us,unacked_pkts,lost_pkts,retransmitted_pkts,bytes_acked,"
        "ca_state,base_delay_us,current_delay_us,queuing_delay_us\n"
    )
    for name in made.flows:
        delays = "100,200,100" if "ledbat" in name else ",,"
        samples = made.cwnd.get(name, [(0.0, 1.0)])
        rows = [f"{round(t * NS)},{pkts},10,50000,0,1,0,0,0,0,{delays}\n" for t, pkts in samples]
        (folder / "traces" / f"cwnd-{name}.csv").write_text(head + "".join(rows))
    (folder / "traces" / "events.csv").write_text("time_ns,what\n")
    summary: dict[str, Any] = {
        "status": made.status,
        "error": None,
        "virtual_s": made.duration,
        "wall_s": 0.5,
        "cpu_s": 0.4,
        "audit": {},
        "counters": {"queues": {"bottleneck": {"dropped_pkts": 4, "overflowed_pkts": 4, "marked_pkts": 0}}},
        "flows": {name: {} for name in made.flows},
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    vouch(folder)
    return folder


def vouch(folder: Path) -> None:
    """Write the sums of a folder as it is now."""
    sums.write(folder, sums.below(folder))


def plain() -> Made:
    """Two flows in 10 s: flow 0 has a packet every 2 ms from 0 s, flow 1 one every 8 ms; each waits 3 ms.

    At 5 s three packets of flow 0 and one of flow 1 are dropped.
    """
    packets = [Packet(0, t / 1000, t / 1000 + 0.003) for t in range(0, 9990, 2)]
    packets += [Packet(1, t / 1000 + 0.0005, t / 1000 + 0.0035) for t in range(0, 9990, 8)]
    packets += [Packet(0, 5.0001 + n / 10000, None) for n in range(3)] + [Packet(1, 5.0007, None)]
    return Made(sorted(packets, key=lambda packet: packet.arrives))


def end(run: Path, at_s: float, ending: str = "gave up", flow: int = 0) -> None:
    """Let the sender of a flow of a run folder, the first, which may fail, end so."""
    outcome = {"endpoint": "sender", "ending": ending, "at_ns": int(at_s * NS), "says": "sender exited with 1: no luck"}
    settings, summary = (json.loads((run / name).read_text()) for name in ("run.json", "summary.json"))
    settings["flows"][flow]["may_fail"] = True
    summary["flows"] = {settings["flows"][flow]["name"]: {"outcomes": [outcome]}}
    (run / "run.json").write_text(json.dumps(settings))
    (run / "summary.json").write_text(json.dumps(summary))
    sums.write(run, sums.below(run))
