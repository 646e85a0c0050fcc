# SPDX-License-Identifier: MIT
"""aioquic: its calls."""

import asyncio
import ssl
from typing import Any

import aioquic
import aioquic.asyncio
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, StreamDataReceived

__all__ = ["ConnectionTerminated", "StreamDataReceived"]
VERSION = f"aioquic {aioquic.__version__}"
CONTROLS = ["reno", "cubic"]
MOST_WAITING_BYTES = 1 << 20
IDLE_S = 60


class Side(aioquic.asyncio.QuicConnectionProtocol):  # type: ignore[misc]
    """A connection that says when its buffer has room again: the package takes whatever it is given."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take what the package gives."""
        super().__init__(*arguments, **options)
        self.sent = asyncio.Event()

    def transmit(self) -> None:
        """Send what may be sent."""
        super().transmit()
        self.sent.set()


def configuration(protocol: str, control: str, certificate: list[str] | None = None) -> QuicConfiguration:
    """Return the package's configuration; with a certificate, for the receiver."""
    made = QuicConfiguration(
        alpn_protocols=[protocol],
        congestion_control_algorithm=control,
        idle_timeout=IDLE_S,
        is_client=certificate is None,
        verify_mode=ssl.CERT_NONE,
    )
    if certificate:
        made.load_cert_chain(*certificate)
    return made


def connect(peer: str, port: int, configuration: QuicConfiguration, side: type) -> Any:
    """Connect, as a context."""
    return aioquic.asyncio.connect(peer, port, configuration=configuration, create_protocol=side)


async def serve(address: str, port: int, configuration: QuicConfiguration, side: type) -> None:
    """Listen."""
    await aioquic.asyncio.serve(address, port, configuration=configuration, create_protocol=side)


async def write(side: Any, stream: int, data: bytes, last: bool) -> None:
    """Write, and wait until little of it is unacknowledged."""
    side._quic.send_stream_data(stream, data, last)
    side.transmit()
    while len(side._quic._streams[stream].sender._buffer) > MOST_WAITING_BYTES:
        side.sent.clear()
        await side.sent.wait()
