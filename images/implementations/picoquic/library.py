# SPDX-License-Identifier: MIT
"""picoquic by its Python package aiopquic: its calls."""

import ssl
import sys
from typing import Any

sys.path.insert(0, "/opt/implementation/packages")

import aiopquic.asyncio.client
import aiopquic.asyncio.server
from aiopquic._build_info import PICOQUIC_VERSION
from aiopquic.asyncio.protocol import QuicConnectionProtocol as Side
from aiopquic.quic.configuration import QuicConfiguration
from aiopquic.quic.events import ConnectionTerminated, StreamDataReceived

__all__ = ["ConnectionTerminated", "Side", "StreamDataReceived"]
VERSION = f"picoquic {PICOQUIC_VERSION}, aiopquic {aiopquic.__version__}"
CONTROLS = ["newreno", "cubic", "dcubic", "fast", "bbr", "bbr1", "prague"]
IDLE_S = 60


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
    return aiopquic.asyncio.client.connect(peer, port, configuration=configuration, create_protocol=side)


async def serve(address: str, port: int, configuration: QuicConfiguration, side: type) -> None:
    """Listen."""
    await aiopquic.asyncio.server.serve(address, port, configuration=configuration, create_protocol=side)


async def write(side: Any, stream: int, data: bytes, last: bool) -> None:
    """Write, and wait until the package has taken it."""
    await side._quic.send_stream_data_drained(stream, data, last)
