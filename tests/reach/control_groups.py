"""Runs in a machine in which a BPF program belongs to the control group named by its argument. Prints one line of JSON:
the congestion controls of a socket that connected and of one that was accepted, by processes outside and inside."""

import json
import os
import socket
import sys
from pathlib import Path


def controls():
    """The controls of both ends of a connection over the loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as connecting:
        connecting.connect(listener.getsockname())
        with listener.accept()[0] as accepted:
            ends = (connecting, accepted)
            names = [end.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16) for end in ends]
    return [name.rstrip(b"\0").decode() for name in names]


if __name__ == "__main__":
    outside = controls()
    (Path(sys.argv[1]) / "cgroup.procs").write_text(str(os.getpid()))
    print(json.dumps({"outside": outside, "inside": controls()}), flush=True)
