"""Captures at the sender of what a packet script says, without a run: each packet at the beginning of its range."""

from pathlib import Path

from scenarios.utp_script import KINDS, read
from tests.analysis.synthetic import NS, ORIGIN_NS, Made, pcap, utp_frame, vouch, write
from tests.analysis.utp_model import RECEIVER, SENDER

CONNECTION = 7


def captured(root: Path, text: str) -> Path:
    """Write a run folder with that capture; the script plays the sender, and numbers count as they are."""
    records, last = [], 0.0
    for line in read(text).lines:
        last = line.begin + (last if line.relative else 0.0)
        forward = line.packet is not None
        ends = (SENDER, RECEIVER, 40001, 5001) if forward else (RECEIVER, SENDER, 5001, 40001)
        if line.packet:
            kind, fields = line.packet.kind, line.packet.fields
        else:
            assert line.pattern
            kind, fields = line.pattern.kind, {name: value[0] for name, _, value in line.pattern.conditions}
        data = utp_frame(
            *ends,
            kind=KINDS.index(kind),
            seq=fields.get("seq", 1),
            ack=fields.get("ack", 0),
            time_us=round(last * 1e6),
            connection=CONNECTION + (forward and kind != "SYN"),
            payload=fields.get("bytes", 0),
        )
        records.append((ORIGIN_NS + round(last * NS), data))
    folder = write(root, Made([], duration=last + 1, flows=("utp",), changes={"captures": ["sender"]}))
    for path in (folder / "pcap").iterdir():
        path.unlink()
    (folder / "pcap" / "sender.s1-eth0.pcap").write_bytes(pcap(records))
    vouch(folder)
    return folder
