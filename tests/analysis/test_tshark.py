"""The dissection of uTP against another program's: what tshark 4.0.17 says of data/utp.pcap is in data/utp.csv.

The capture holds packets of a libutp flow that begins, loses packets and ends, and some made by hand for what libutp
does not send (the older header, several extensions).
"""

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from analysis.capture import pcap
from tests.analysis.synthetic import pcap as classic
from tests.analysis.tunnels import LINKS, PADDED_WIFI, TUNNELS

DATA = Path(__file__).with_name("data")
FIELDS = (
    *("ver", "type", "flags", "connection_id", "timestamp_sec", "timestamp_us", "timestamp_diff_us", "wnd_size"),
    *("seq_nr", "ack_nr", "extension_bitmask"),
)
COMMAND = (
    *("tshark", "-n", "-r", "utp.pcap", "-d", "udp.port==5001,bt-utp", "-o", "bt-utp.enable_version0:TRUE"),
    *("-T", "fields", "-E", "header=y", "-E", "separator=,", "-E", "aggregator=;"),
    *(word for field in FIELDS for word in ("-e", f"bt-utp.{field}")),
)


def test_the_dissection_agrees_with_tshark() -> None:
    with (DATA / "utp.csv").open() as file:
        theirs = list(csv.DictReader(file))
    ours = pcap.read(DATA / "utp.pcap").packets.rows(named=True)
    assert len(theirs) == len(ours) == 68
    for packet, row in zip(ours, theirs, strict=True):
        assert packet["utp_header_bytes"] > 0
        said = {field: row[f"bt-utp.{field}"] for field in FIELDS}
        old = said["ver"] != "1"
        assert packet["utp_version"] == (0 if old else 1)
        assert packet["utp_type"] == int(said["flags" if old else "type"])
        seconds = int(said["timestamp_sec"] or 0)
        assert packet["tsval"] == (seconds * 1_000_000 + int(said["timestamp_us"])) % 2**32
        # the older header counts its window in packets of 350 bytes
        assert packet["utp_window_bytes"] == int(said["wnd_size"]) * (350 if old else 1)
        for name, field in (("utp_connection", "connection_id"), ("utp_difference_us", "timestamp_diff_us")):
            assert packet[name] == int(said[field])
        # of the older header tshark gives both numbers twice, the second time from behind it, where extensions are
        seq, ack = (said[field].partition(";")[0] for field in ("seq_nr", "ack_nr"))
        assert (packet["seq"], packet["ack"]) == (int(seq), int(ack))
        if old:
            continue
        masks = [bytes.fromhex(mask) for mask in said["extension_bitmask"].split(";") if mask]
        kinds = [kind for kind in (1, 2) if packet["utp_extensions"] >> (kind - 1) & 1]
        assert len(masks) == len(kinds)
        assert packet["utp_sack"] == (int.from_bytes(masks[0][:8], "little") if 1 in kinds else 0)


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_it_reads_the_same_in_tunnels(tmp_path: Path) -> None:
    """Except what version 4.0 did not read, or takes for something else."""
    path = tmp_path / "a.pcap"
    others = ("length 0 of IPv6", "MPLS with a frame", "VXLAN at Linux's port")
    files = [(1, [data for name, data in TUNNELS.items() if name not in others])]
    for link, frames in [*files, *((link, [data]) for link, data in LINKS.items()), (127, [PADDED_WIFI])]:
        path.write_bytes(classic(list(enumerate(frames)), link=link))
        fields = [word for field in ("dstport", "seq_raw", "len") for word in ("-e", f"tcp.{field}")]
        command = ["tshark", "-n", "-r", str(path), "-T", "fields", *fields]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        [chunk] = pcap.read_wide(path)
        ours = zip(*(chunk.columns[name].tolist() for name in ("dport", "seq", "payload_bytes")), strict=True)
        assert [line.split("\t") for line in said.splitlines()] == [[str(value) for value in row] for row in ours]


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed; what it said is in the repository")
def test_tshark_still_says_so() -> None:
    said = subprocess.run(COMMAND, cwd=DATA, check=True, capture_output=True, text=True).stdout
    assert re.sub(r"\r", "", said) == (DATA / "utp.csv").read_text()
