"""Which program wrote a file, if it is no capture."""

import json
from pathlib import Path
from typing import Any, Final

from analysis.capture import pcap
from analysis.errors import BadInputError
from analysis.observer.logs import flent, iperf3, mahimahi, qlog
from analysis.observer.logs.log import Log

MOST_BYTES: Final = 1 << 28  # unpacked; what Python makes of JSON takes some ten times its room
_BEFORE: Final = b" \t\r\n\x1e\xef\xbb\xbf"  # of the first brace: a record's mark (RFC 7464), and that of UTF-8


def read(path: Path) -> Log | list[qlog.Connection] | None:
    """Read what a program measured; None of what is no such file, and so may be a capture.

    Raises BadInputError for JSON that none of these programs writes, and for damaged files of theirs.
    """
    begins = pcap.beginning(path)
    if begins.startswith(mahimahi.BEGINS):
        return mahimahi.read(path, _text(path))
    if begins.lstrip(_BEFORE)[:1] != b"{":
        return None
    documents = _documents(path, _text(path))
    first = documents[0]
    if qlog.FIELDS & first.keys() or "traces" in first:
        return qlog.read(path, documents)
    if {"x_values", "results"} <= first.keys():
        return flent.read(path, first)
    if first.get("event") == "start" and isinstance(first.get("data"), dict):
        return iperf3.read(path, iperf3.joined(documents))
    if {"start", "intervals"} <= first.keys():
        return iperf3.read(path, first)
    found = ", ".join(sorted(first)[:4]) or "nothing"
    raise BadInputError(
        f"{path}: found JSON with {found}; allowed: JSON of iperf3 (-J), flent or qlog, or a capture (pcap or pcapng)"
    )


def _text(path: Path) -> str:
    with pcap.unpacked(path) as data:
        if len(data) > MOST_BYTES:
            raise BadInputError(f"{path}: found {len(data)} bytes; allowed of such files: {MOST_BYTES}")
        try:
            return str(data[:], "utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadInputError(f"{path}: found a byte that is not UTF-8 at {error.start}; allowed: UTF-8") from None


def _documents(path: Path, text: str) -> list[dict[str, Any]]:
    """Give the mapping in a file, or those of its lines; the last one may be cut off by a writer that was killed."""
    try:
        found = [json.loads(text.lstrip("\x1e"))]
    except RecursionError:
        raise BadInputError(f"{path}: nested too deeply") from None
    except ValueError as error:
        lines = [line for line in text.replace("\x1e", "").splitlines() if line.strip()]
        if len(lines) == 1 or lines[0].strip() in ("{", "["):  # one document over many lines
            raise BadInputError(f"{path}: not JSON: {error}") from None
        found = []
        for number, line in enumerate(lines, 1):
            try:
                found.append(json.loads(line))
            except (ValueError, RecursionError) as broken:
                if number == len(lines) and found:
                    break
                raise BadInputError(f"{path}: record {number}: not JSON: {broken}") from None
    if not all(isinstance(one, dict) for one in found):
        raise BadInputError(f"{path}: found JSON that is no mapping; allowed: JSON of iperf3 (-J), flent or qlog")
    return found
