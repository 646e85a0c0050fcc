"""Downloads, a case an argument, over a link of 10 Mbit/s with 40 ms and room for 240 ms; a script for `testbed exec`.
The receiver has rledbat unless the case says otherwise. In some cases another layer reads the receiver's socket, or
encrypts for the sender. Prints a line of JSON each: the rate, the longest round-trip time of four pings beside it, and
what the module said."""

import json
import re
import subprocess
import sys
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import Node, OVSBridge

TLS = r"""
import socket, struct

TCP_ULP, SOL_TLS, TLS_TX, TLS_RX = 31, 282, 1, 2


def encrypted(connection, direction):
    '''TLS 1.2 with AES-GCM; both ends know a key of zeros.'''
    connection.setsockopt(socket.IPPROTO_TCP, TCP_ULP, b"tls")
    connection.setsockopt(SOL_TLS, direction, struct.pack("HH", 0x0303, 51) + bytes(8 + 16 + 4 + 8))


"""
RECEIVER = r"""
import ctypes, os, socket, struct, sys, time

case = sys.argv[1]
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(321, command, buffer, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf({command})")
    return result


def address(data):
    kept.append(ctypes.create_string_buffer(data, len(data)))
    return ctypes.addressof(kept[-1])


def into_a_sockmap(connection):
    sockmap = bpf(0, struct.pack("IIIII", 15, 4, 4, 1, 0))  # BPF_MAP_CREATE
    passes = address(struct.pack("BBhiBBhi", 0xB7, 0, 0, 1, 0x95, 0, 0, 0))  # r0 = SK_PASS; exit
    program = bpf(5, struct.pack("IIQQ", 14, 2, passes, address(b"GPL\0")))  # BPF_PROG_LOAD of SK_SKB
    bpf(8, struct.pack("IIII", sockmap, program, 5, 0))  # BPF_PROG_ATTACH as BPF_SK_SKB_STREAM_VERDICT
    value = address(struct.pack("I", connection.fileno()))
    bpf(2, struct.pack("IIQQQ", sockmap, 0, address(bytes(4)), value, 0))  # BPF_MAP_UPDATE_ELEM


kept = []
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP if case == "mptcp" else 0)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if case not in ("cubic", "sockmap-first", "tls-first", "ledbatpp", "ledbatpp-tls"):
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"rledbat")
listener.bind(("", 5001))
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
if case == "sockmap-first":
    into_a_sockmap(connection)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"rledbat")
if "tls" in case:
    encrypted(connection, TLS_RX)
if case == "tls-first":
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"rledbat")
until, got = time.monotonic() + 6, 0
while data := connection.recv(1 << 16):
    got += len(data)
    if until and time.monotonic() > until:
        until, got, since = None, 0, time.monotonic()
        if case == "sockmap-later":
            into_a_sockmap(connection)
print(8e-6 * got / (time.monotonic() - since))
"""
SENDER = r"""
import socket, sys, time

case, receiver = sys.argv[1:]
protocol = socket.IPPROTO_MPTCP if case == "mptcp" else 0
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol) as connection:
    if case.startswith("ledbatpp"):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ledbatpp")
    connection.connect((receiver, 5001))
    if "tls" in case:
        encrypted(connection, TLS_TX)
    until = time.monotonic() + 15
    while time.monotonic() < until:
        connection.send(bytes(1 << 14))
"""


def said() -> list[str]:
    """What the module has printed."""
    lines = subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.partition("tcp_rledbat: ")[2] for line in lines if "tcp_rledbat: " in line]


def download(near: Node, far: Node, case: str) -> dict[str, object]:
    """Carry out a case."""
    before = len(said())
    receiver = near.popen([sys.executable, "-c", TLS + RECEIVER, case], stdout=subprocess.PIPE, text=True)
    receiver.stdout.readline()
    sender = far.popen([sys.executable, "-c", TLS + SENDER, case, near.IP()])
    time.sleep(12)
    pings = far.cmd(f"ping -c 4 -i 0.3 {near.IP()}")
    sender.wait()
    rate, _ = receiver.communicate()
    longest = max(map(float, re.findall(r"time=([\d.]+) ms", pings)))
    return {"case": case, "mbit_s": float(rate), "round_trip_ms": longest, "said": said()[before:]}


def main() -> None:
    for name in ("tcp_ledbat", "tcp_rledbat"):
        subprocess.run(["insmod", f"/opt/modules/{name}.ko"], check=True)
    net = Mininet(controller=None, link=TCLink, switch=OVSBridge)
    near, far = net.addHost("near"), net.addHost("far")
    net.addLink(far, near, bw=10, delay="20ms", max_queue_size=200)
    net.start()
    for case in sys.argv[1:]:
        print(json.dumps(download(near, far, case)))
    net.stop()


if __name__ == "__main__":
    main()
