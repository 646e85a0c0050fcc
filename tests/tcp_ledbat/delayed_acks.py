"""Downloads by ledbatpp whose receiver delays acknowledgements by at most so many milliseconds, a script for
`testbed exec`: the one-way delay of the path in ms, then an argument each. Alone on 60 Mbit/s with room for 450 ms at
most; on 300 ms, ledbatpp once took the receiver's delay for a queue. Prints a line of JSON each, with the rate of each
ten seconds as the receiver sees it."""

import subprocess
import sys

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import Node, OVSBridge

RECEIVER = r"""
import json, socket, sys, time

TCP_DELACK_MAX_US = 46
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.setsockopt(socket.IPPROTO_TCP, TCP_DELACK_MAX_US, 1000 * int(sys.argv[1]))
listener.bind(("", 5001))
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
delay_us = connection.getsockopt(socket.IPPROTO_TCP, TCP_DELACK_MAX_US)
begin, got = time.monotonic(), [0] * 13
while data := connection.recv(1 << 16):
    got[int(time.monotonic() - begin) // 10] += len(data)
print(json.dumps({"delay_us": delay_us, "mbit_s": [8e-7 * each for each in got[:-1]]}))
"""
SENDER = r"""
import socket, sys, time

with socket.socket() as connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ledbatpp")
    connection.connect((sys.argv[1], 5001))
    until = time.monotonic() + 120
    while time.monotonic() < until:
        connection.send(bytes(1 << 14))
"""


def download(near: Node, far: Node, most_ms: str) -> str:
    """Carry out a case."""
    receiver = near.popen([sys.executable, "-c", RECEIVER, most_ms], stdout=subprocess.PIPE, text=True)
    receiver.stdout.readline()
    far.popen([sys.executable, "-c", SENDER, near.IP()]).wait()
    return str(receiver.communicate()[0])


def main() -> None:
    one_way_ms, *cases = sys.argv[1:]
    subprocess.run(["insmod", "/opt/modules/tcp_ledbat.ko"], check=True)
    net = Mininet(controller=None, link=TCLink, switch=OVSBridge)
    near, far = net.addHost("near"), net.addHost("far")
    net.addLink(far, near, bw=60, delay=f"{one_way_ms}ms", max_queue_size=2250)
    net.start()
    for host in (near, far):
        host.cmd("sysctl -w net.ipv4.tcp_rmem='4096 131072 33554432' net.ipv4.tcp_wmem='4096 131072 33554432'")
    for most_ms in cases:
        print(download(near, far, most_ms))
    net.stop()


if __name__ == "__main__":
    main()
