# SPDX-License-Identifier: MIT
"""What the BitTorrent endpoints share: the contract's environment, the torrent, its payload and the check of what came.

The sender seeds one file, the receiver fetches it. Both make the same .torrent from the contract's payload by
themselves, so nothing but the transfer crosses the network. Standard library only: it runs in every root.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

TORRENT_NAME = "payload"
PIECE_BYTES = 256 << 10
BLOCK_BYTES = 16 << 10
_CHUNK_NUMBERS = 1 << 16
_CHUNK_BYTES = 8 * _CHUNK_NUMBERS
ENDED = signal.SIGTERM
POLL_S = 0.05
TCP = "6"  # its number: a small root has no names of protocols


@dataclass(frozen=True)
class Flow:
    """What one side is asked to do; `port` is the receiver's."""

    role: str
    peer: str
    port: int
    bytes: int | None
    size: int
    params: dict[str, Any]

    @property
    def seeds(self) -> bool:
        """Whether this side has the file."""
        return self.role == "sender"


def read_flow(known: tuple[str, ...] = ()) -> Flow:
    """Read the environment; `known` are the parameters besides payload_bytes. Exits with 127 for others."""
    # blocked before any thread exists: only wait() sees it
    signal.pthread_sigmask(signal.SIG_BLOCK, {ENDED})
    params = json.loads(os.environ["PARAMS"])
    size = params.pop("payload_bytes", 64_000_000)
    for name in params:
        if name not in known:
            fail(f"unknown parameter {name}", 127)
    role = os.environ["ROLE"]
    if role not in ("sender", "receiver"):
        fail(f"unknown role {role}", 127)
    wanted = int(os.environ["BYTES"]) if "BYTES" in os.environ else None
    return Flow(role, os.environ["PEER"], int(os.environ["PORT"]), wanted, wanted or size, params)


def fail(sentence: str, status: int = 1) -> NoReturn:
    """End this side with a reason."""
    print(sentence, file=sys.stderr, flush=True)
    os._exit(status)


def wait(seconds: float) -> bool:
    """Let time pass; True when the flow has been ended meanwhile."""
    return signal.sigtimedwait({ENDED}, seconds) is not None


def payload(size: int) -> Iterator[bytes]:
    """The contract's bytes: 0, 1, 2, ... as 64-bit big-endian numbers, in chunks."""
    template = bytearray(_CHUNK_BYTES)
    template[6::8] = bytes(number >> 8 for number in range(_CHUNK_NUMBERS))
    template[7::8] = bytes(range(256)) * (_CHUNK_NUMBERS >> 8)
    for index in range(-(-size // _CHUNK_BYTES)):
        chunk = bytearray(template)
        for place, byte in enumerate(index.to_bytes(6, "big")):
            if byte:
                chunk[place::8] = bytes([byte]) * _CHUNK_NUMBERS
        yield bytes(chunk[: size - index * _CHUNK_BYTES])


def torrent(size: int, announce: str | None = None) -> bytes:
    """The .torrent of the payload: private, so that clients look for no other peers."""
    digests = b"".join(
        hashlib.sha1(chunk[start : start + PIECE_BYTES], usedforsecurity=False).digest()
        for chunk in payload(size)
        for start in range(0, len(chunk), PIECE_BYTES)
    )
    info = {"length": size, "name": TORRENT_NAME, "piece length": PIECE_BYTES, "pieces": digests, "private": 1}
    return _bencode({"announce": announce, "info": info} if announce else {"info": info})


def _bencode(value: dict[str, Any] | int | str | bytes) -> bytes:
    if isinstance(value, dict):
        return b"d" + b"".join(_bencode(key) + _bencode(value[key]) for key in sorted(value)) + b"e"
    if isinstance(value, int):
        return b"i%de" % value
    raw = value.encode() if isinstance(value, str) else value
    return b"%d:%s" % (len(raw), raw)


def prepare(flow: Flow, folder: Path) -> Path:
    """Make the download folder, with the file in it for a seed; returns the file."""
    folder.mkdir(parents=True)
    if flow.seeds:
        with (folder / TORRENT_NAME).open("wb") as file:
            file.writelines(payload(flow.size))
    return folder / TORRENT_NAME


def block_tcp(flow: Flow) -> None:
    """Leave UDP as the only way between the two ports; other flows of the hosts are not touched."""
    for end in ("sport", "dport"):
        rule = ["ip", "rule", "add", "to", flow.peer, "ipproto", TCP, end, str(flow.port), "blackhole"]
        subprocess.run(rule, check=True)


def finish(flow: Flow, file: Path) -> NoReturn:
    """End this side at the flow's end; the receiver compares what it has with what was sent, block by block."""
    if flow.seeds:
        os._exit(0)
    received = 0
    with (file if file.exists() else Path(os.devnull)).open("rb") as got:
        for index, chunk in enumerate(payload(flow.size)):
            part = got.read(len(chunk))
            if part == chunk:
                received += len(part)
                continue
            for start in range(0, len(part), BLOCK_BYTES):
                block = part[start : start + BLOCK_BYTES]
                if block == chunk[start : start + BLOCK_BYTES]:
                    received += len(block)
                elif any(block):
                    _keep(received)
                    fail(f"wrong bytes in the block at offset {index * _CHUNK_BYTES + start}")
    _keep(received)
    if "PAYLOAD" in os.environ and file.exists():
        Path(os.environ["PAYLOAD"]).write_bytes(file.read_bytes())
    if flow.bytes is not None and received < flow.bytes:
        fail(f"{received} of {flow.bytes} bytes arrived")
    os._exit(0)


def _keep(received: int) -> None:
    Path(os.environ["LOGDIR"], "received_bytes").write_text(f"{received}\n")


def complete(flow: Flow) -> None:
    """Stay until the flow's end: what tells the sender that this side has everything may have to be sent again.

    A flow without an end must not come so far.
    """
    if flow.bytes is None:
        fail(f"all {flow.size} bytes arrived before the flow's end: it needs a larger `payload`")
    signal.sigwait({ENDED})
