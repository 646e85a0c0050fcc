"""Runs in a machine with LEDBAT++ as a module and as a BPF program: one flow of each, one after the other, over a path
with losses; a CUBIC flow joins for a moment. Prints a line of JSON about how each did before that."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time

CONTROLS = ("ledbatpp", "bpf_ledbatpp")
RATE_BPS = 3_000_000
DELAY_MS = 20
ALONE_S, TCP_S, AFTER_S = 9, 3, 6
SETTLED_S = 3
PORT = 6000
PATH = f"""\
modprobe sch_htb
modprobe sch_netem
ip netns add far
ip link add near type veth peer name in netns far
ip address add 10.0.0.1/24 dev near
ip -n far address add 10.0.0.2/24 dev in
ip link set near up
ip -n far link set in up
ethtool -K near tso off gso off gro off
ip netns exec far ethtool -K in tso off gso off gro off
tc qdisc add dev near root handle 1: htb default 1
tc class add dev near parent 1: classid 1:1 htb rate {RATE_BPS}bit quantum 1514
tc qdisc add dev near parent 1:1 handle 2: netem loss 0.2% limit 60
ip netns exec far tc qdisc add dev in root netem delay {DELAY_MS}ms limit 1000
"""
RECEIVER = f"""\
import socket, threading
def receive(connection):
    while connection.recv(1 << 16):
        pass
with socket.create_server(("10.0.0.2", {PORT})) as listener:
    print(flush=True)
    while True:
        threading.Thread(target=receive, args=listener.accept()[:1]).start()
"""


def sender(control):
    """Return a connection and the switch that ends what it sends."""
    connection, over = socket.socket(), threading.Event()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.connect(("10.0.0.2", PORT))

    def send():
        while not over.is_set():
            connection.send(bytes(1 << 14))

    threading.Thread(target=send, daemon=True).start()
    return connection, over


def info(connection):
    """The smoothed round-trip time in us, and the bytes acknowledged so far (struct tcp_info)."""
    read = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    return struct.unpack_from("I", read, 68)[0], struct.unpack_from("Q", read, 120)[0]


def measured(control):
    """Send alone, beside TCP, and alone again; how it did the first time."""
    connection, over = sender(control)
    time.sleep(SETTLED_S)
    before, rtts_us = info(connection)[1], []
    for _ in range(10 * (ALONE_S - SETTLED_S)):
        time.sleep(0.1)
        rtts_us.append(info(connection)[0])
    delivered_bps = 8 * (info(connection)[1] - before) / (ALONE_S - SETTLED_S)
    tcp, tcp_over = sender("cubic")
    time.sleep(TCP_S)
    tcp_over.set()
    time.sleep(AFTER_S)
    over.set()
    time.sleep(1)
    tcp.close()
    connection.close()
    return {"delivered_bps": delivered_bps, "largest_rtt_us": max(rtts_us)}


def main():
    """Build the path and measure."""
    for line in PATH.splitlines():
        subprocess.run(line.split(), check=True, stdout=subprocess.DEVNULL)
    words = ["ip", "netns", "exec", "far", sys.executable, "-S", "-c", RECEIVER]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout
        receiver.stdout.readline()
        flows = {control: measured(control) for control in CONTROLS}
        receiver.kill()
    print(json.dumps({"rate_bps": RATE_BPS, "base_rtt_us": 1000 * DELAY_MS, **flows}), flush=True)


if __name__ == "__main__":
    main()
