#!/usr/bin/python3
"""Send a megabyte over the loopback with each congestion control of the module; exit 1 if one does not arrive."""

import socket
import sys
import threading

SIZE = 1 << 20
# from <linux/tcp.h>
TCP_CC_INFO = 26


def send(control: str) -> tuple[int, bytes]:
    """Send with a control; return how many bytes came, and what the sender says of its delays."""
    got: list[int] = []

    def receive(listener: socket.socket) -> None:
        with listener.accept()[0] as connection:
            got.append(sum(iter(lambda: len(connection.recv(1 << 16)), 0)))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        receiver = threading.Thread(target=receive, args=(listener,))
        receiver.start()
        with socket.socket() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            sender.connect(listener.getsockname())
            sender.sendall(bytes(SIZE))
            said = sender.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 20)
        receiver.join()
    return got[0], said


def main() -> int:
    """Try both; print a line for each."""
    failed = False
    for control in ("ledbat", "ledbatpp"):
        got, said = send(control)
        print(f"{control}: {got} of {SIZE} bytes")
        failed |= got != SIZE or len(said) != 20
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
