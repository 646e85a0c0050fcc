"""What a file is that holds no packets, and what a user does with it."""

import re
from itertools import pairwise
from typing import Final

PCAP: Final = "allowed: pcap and pcapng, plain or packed by gzip, bzip2 or xz"
EDITCAP: Final = "editcap -F pcap FILE NEW makes pcap of it"
TCPDUMP: Final = (
    "allowed: a capture of the packets (pcap or pcapng), as `tcpdump -i INTERFACE -s 160 -w FILE` writes it"
)
MAGICS: Final[dict[bytes, tuple[str, str]]] = {
    b"\x28\xb5\x2f\xfd": ("packed by zstd", "unzstd FILE unpacks it"),
    b"\x04\x22\x4d\x18": ("packed by lz4", "unlz4 FILE unpacks it"),
    b"PK\x03\x04": ("an archive", "unzip FILE unpacks it"),
    b"snoop\0\0\0": ("a capture by snoop", EDITCAP),
    b"\x34\xcd\xb2\xa1": ("a capture in a variant of pcap", EDITCAP),
    b"\xa1\xb2\xcd\x34": ("a capture in a variant of pcap", EDITCAP),
    b"RTSS": ("a capture by Network Instruments", EDITCAP),
    b"TRSNIFF data": ("a capture by Sniffer", EDITCAP),
    b"GMBU": ("a capture by Microsoft's Network Monitor", EDITCAP),
    b"PAR1": ("a Parquet table", "observe the run folder that holds it"),
    b"d8:announce": ("a torrent", "it holds no packets; `testbed run` carries out scenarios with BitTorrent"),
}
TEXTS: Final[tuple[tuple[str, str], ...]] = (  # what a text begins with, and what to say
    (
        r"time_s,rate_bps\r?\n",
        "found steps of a rate; a scenario takes them: rate_traces: [{on: bottleneck, file: FILE}]",
    ),
    (
        r"(?:#.*\n)*[-+dr] [\d.e+-]+ /NodeList/",
        "found an ASCII trace of ns-3; allowed: its captures, which EnablePcapAll writes of the same packets",
    ),
    (
        r"[-+dr] [\d.]+ \d+ \d+ \w+ \d+ \S{7} \d+ ",
        "found a trace of ns-2, whose packets have no headers; allowed: captures (ns-3 writes them: EnablePcapAll)",
    ),
    (r"\d\d:\d\d:\d\d\.\d+ (?:IP6?|ARP)\b", f"found packets as tcpdump prints them; {TCPDUMP}"),
    (r"(?:Netid|State|ESTAB|tcp +ESTAB)\b", f"found what ss prints of sockets; {TCPDUMP}"),
    (
        r"(?:Connecting to host|-{20,}\r?\nServer listening)",
        "found what iperf3 prints; allowed: its JSON, by `iperf3 -J`",
    ),
    (r"PING ", f"found what ping prints; {TCPDUMP}"),
    (r"(?:#.*\n)*(?:experiment|title|topology): ", "found a scenario; `testbed run FILE` carries it out"),
)


def told(begins: bytes) -> str | None:
    """Say what a file is by its first bytes, what is allowed, and what to do; None if it may be a capture."""
    return named(begins) or (f"found text; {TCPDUMP}" if _text(begins) else None)


def named(begins: bytes) -> str | None:
    """Say the same of a file whose kind is known."""
    for magic, (what, way) in MAGICS.items():
        if begins.startswith(magic):
            return f"found {what}; {PCAP}; {way}"
    if begins.lstrip()[:1] in (b"{", b"["):
        return "found JSON; allowed: JSON of iperf3 (-J), flent or qlog, or a capture (pcap or pcapng)"
    text = _text(begins)
    if _is_mahimahi(text):
        return (
            "found a trace of Mahimahi, in which each line is a ms in which 1500 bytes may leave; a scenario takes it: "
            "rate_traces: [{on: bottleneck, file: FILE}]"
        )
    for pattern, said in TEXTS:
        if re.match(pattern, text):
            return said
    return None


def _text(begins: bytes) -> str:
    """The text that a file begins with; empty if it is none."""
    text = begins.decode("ascii", "replace")
    is_text = any(map(str.isalnum, text)) and all(one.isprintable() or one in "\t\r\n" for one in text)
    return text if is_text else ""


def _is_mahimahi(text: str) -> bool:
    """Whether lines are whole milliseconds that never fall; the last line may be cut."""
    lines = text.split("\n")
    lines = [line.strip() for line in (lines[:-1] or lines)]
    return bool(lines) and all(map(str.isdecimal, lines)) and all(int(a) <= int(b) for a, b in pairwise(lines))
