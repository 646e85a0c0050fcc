#!/usr/bin/python3
"""Receive a megabyte over the loopback with rledbat; exit 1 if it does not arrive, or comes without rledbat."""

import socket
import sys
import threading

SIZE = 1 << 20
NAME_BYTES = 16


def main() -> int:
    """Print what arrived, and the congestion control that the receiver had."""
    got: list[tuple[int, bytes]] = []

    def receive(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME_BYTES)
            got.append((sum(iter(lambda: len(connection.recv(1 << 16)), 0)), control.rstrip(b"\0")))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"rledbat")
        receiver = threading.Thread(target=receive, args=(listener,))
        receiver.start()
        with socket.create_connection(listener.getsockname()) as sender:
            sender.sendall(bytes(SIZE))
        receiver.join()
    print(f"{got[0][1].decode()}: {got[0][0]} of {SIZE} bytes")
    return int(got != [(SIZE, b"rledbat")])


if __name__ == "__main__":
    sys.exit(main())
