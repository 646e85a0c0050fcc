"""Runs in a machine with the module and MPTCP: a connection with a subflow over each of two paths. Prints a line of
JSON for each way to choose the congestion control: those of the subflows, each path's rate and longest round trip."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

IPPROTO_MPTCP = 262
RATE_BPS = 3_000_000
ROOM_PKTS = 65  # 60, and 5 on their way
SETTLED_S, MEASURED_S = 4, 6
PORT = 6000
# netem takes packets off their socket: else TCP would keep its own queue short, whatever the control is;
# and it counts what TCP hands it, which is several segments as one unless that is forbidden
PATHS = """\
modprobe sch_netem
ip netns add far
sysctl -q net.mptcp.enabled=1
ip netns exec far sysctl -q net.mptcp.enabled=1
ip mptcp limits set subflow 1
ip netns exec far ip mptcp limits set subflow 1
""" + "".join(
    f"""\
ip link add near{path} type veth peer name in{path} netns far
ip address add 10.0.{path}.1/24 dev near{path}
ip -n far address add 10.0.{path}.2/24 dev in{path}
ip link set near{path} up gso_max_segs 1
ip -n far link set in{path} up
ip netns exec far ethtool -K in{path} tso off gso off gro off
tc qdisc add dev near{path} root netem delay 20ms rate {RATE_BPS}bit limit {ROOM_PKTS}
"""
    for path in (1, 2)
)
# a path of its own for the second subflow
PATHS += """\
ip -n far route add 10.0.2.1 dev in2
ip route add default via 10.0.2.2 dev near2 table 2
ip rule add from 10.0.2.1 table 2
ip -n far route add default via 10.0.1.1
ip mptcp endpoint add 10.0.2.1 dev near2 subflow
"""
RECEIVER = f"""\
import socket, threading
def receive(connection):
    while connection.recv(1 << 16):
        pass
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, {IPPROTO_MPTCP}) as listener:
    listener.bind(("10.0.1.2", {PORT}))
    listener.listen()
    print(flush=True)
    while True:
        threading.Thread(target=receive, args=listener.accept()[:1]).start()
"""


def run(line):
    subprocess.run(line.split(), check=True, stdout=subprocess.DEVNULL)


def sent_bytes():
    """What each path has carried."""
    return [int(Path(f"/sys/class/net/near{path}/statistics/tx_bytes").read_text()) for path in (1, 2)]


def subflows():
    """Of each subflow its address, congestion control and round-trip time in us, as ss tells."""
    said = subprocess.check_output(["ss", "-tinH", "dst", f"10.0.1.2:{PORT}"], text=True)
    lines = re.sub(r"\n\s+", " ", said).splitlines()
    found = []
    for line in lines:
        words = line.split()
        rtt = re.search(r"\brtt:([\d.]+)/", line)
        found.append((words[3], words[5], float(rtt[1]) * 1000 if rtt else 0))
    return sorted(found)


def measured(name, control=None, protocol=IPPROTO_MPTCP, late=None):
    """Send over a connection whose control is `control`, and from `late` on, chosen on the connected socket."""
    connection, over = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol), threading.Event()
    if control:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.connect(("10.0.1.2", PORT))

    def send():
        while not over.is_set():
            connection.send(bytes(1 << 14))

    threading.Thread(target=send, daemon=True).start()
    time.sleep(SETTLED_S)
    if late:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, late.encode())
        time.sleep(SETTLED_S)
    before = sent_bytes()
    largest: dict = {}
    for _ in range(2 * MEASURED_S):
        time.sleep(0.5)
        seen = subflows()
        for address, _, rtt_us in seen:
            largest[address] = max(largest.get(address, 0), rtt_us)
    rates = [8 * (after - first) / MEASURED_S for first, after in zip(before, sent_bytes(), strict=True)]
    over.set()
    connection.close()
    time.sleep(3)
    controls = [control for _, control, _ in seen]
    print(json.dumps({"case": name, "controls": controls, "bps": rates, "rtt_us": list(largest.values())}), flush=True)


def main():
    for line in PATHS.splitlines():
        run(line)
    words = ["ip", "netns", "exec", "far", sys.executable, "-S", "-c", RECEIVER]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as receiver:
        assert receiver.stdout
        receiver.stdout.readline()
        measured("none")
        measured("socket", control="ledbatpp")
        measured("connected", late="ledbatpp")
        run("ip route change 10.0.1.0/24 dev near1 src 10.0.1.1 congctl ledbatpp")
        measured("route")
        run("ip route change 10.0.1.0/24 dev near1 src 10.0.1.1")
        run("sysctl -q net.ipv4.tcp_congestion_control=ledbatpp")
        measured("sysctl")
        receiver.kill()


if __name__ == "__main__":
    main()
