"""Runs inside a guest: two transfers of one host at once, each with its own bottleneck and its own target. Leaves the
congestion controls of both sockets and the queues in packets in /results/logs/two_targets.json.

    host --- mirror --- far       10 Mbit/s and a queue in the middle, 20 ms back
         \\-- backup --- far
"""

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

INSTANCES = {"mirror": "ledbat,target_us=20000", "backup": "ledbat,target_us=60000"}
DURATION_S = 30
SETTLED_S = 20


def run(line):
    """Run a command; return what it prints."""
    return subprocess.run(line.split(), check=True, capture_output=True, text=True).stdout


def receive(name, address):
    """Take what one connection brings, in the network namespace of the far end."""
    code = "import socket, sys\nwith socket.create_server((sys.argv[1], 6000)) as listener:\n"
    code += " print(flush=True)\n connection, _ = listener.accept()\n while connection.recv(1 << 16): pass"
    words = ["ip", "netns", "exec", f"far-{name}", sys.executable, "-c", code, address]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()


def build(number, name):
    """Build the path of an instance; return the address of its far end."""
    middle, far = f"middle-{name}", f"far-{name}"
    for line in (
        f"ip netns add {middle}",
        f"ip netns add {far}",
        f"ip link add {name} type veth peer name near netns {middle}",
        f"ip -n {middle} link add out type veth peer name in netns {far}",
        f"ip address add 10.{number}.0.1/24 dev {name}",
        f"ip -n {middle} address add 10.{number}.0.2/24 dev near",
        f"ip -n {middle} address add 10.{number}.1.2/24 dev out",
        f"ip -n {far} address add 10.{number}.1.3/24 dev in",
        f"ip link set {name} up",
        f"ip -n {middle} link set near up",
        f"ip -n {middle} link set out up",
        f"ip -n {far} link set in up",
        f"ip netns exec {middle} sysctl -q net.ipv4.ip_forward=1",
        f"ip route add 10.{number}.1.0/24 via 10.{number}.0.2",
        f"ip -n {far} route add default via 10.{number}.1.2",
        f"ip netns exec {middle} tc qdisc add dev out root handle 1: htb default 1",
        f"ip netns exec {middle} tc class add dev out parent 1: classid 1:1 htb rate 10mbit quantum 1514",
        f"ip netns exec {middle} tc qdisc add dev out parent 1:1 handle 2: pfifo limit 200",
        f"ip netns exec {middle} tc qdisc add dev near root netem delay 20ms limit 1000",
    ):
        run(line)
    for space, device in (("", name), (middle, "near"), (middle, "out"), (far, "in")):
        run(f"{f'ip netns exec {space} ' if space else ''}ethtool -K {device} tso off gso off gro off")
    return f"10.{number}.1.3"


def send(address, control):
    """Send until the end; without a name, what the route says controls it."""
    connection = socket.socket()
    if control:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.connect((address, 6000))
    threading.Thread(target=lambda: [connection.send(bytes(1 << 14)) for _ in iter(int, 1)], daemon=True).start()
    return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()


def backlog(name):
    """Packets that wait at an instance's bottleneck."""
    (queue,) = json.loads(run(f"ip netns exec middle-{name} tc -s -j qdisc show dev out handle 2:"))
    return queue["qlen"]


def main():
    """Run both."""
    run("insmod /opt/modules/tcp_ledbat.ko " + " ".join(f"instance={name}:{of}" for name, of in INSTANCES.items()))
    far = {name: build(number, name) for number, name in enumerate(INSTANCES, 1)}
    run("ip route change 10.1.1.0/24 via 10.1.0.2 congctl mirror")
    for name, address in far.items():
        receive(name, address)
    controls = [send(far["mirror"], None), send(far["backup"], "backup")]
    queues: dict[str, list] = {name: [] for name in INSTANCES}
    time.sleep(SETTLED_S)
    while len(queues["backup"]) < 2 * (DURATION_S - SETTLED_S):
        time.sleep(0.5)
        for name, waiting in queues.items():
            waiting.append(backlog(name))
    Path("/results/logs/two_targets.json").write_text(json.dumps({"controls": controls, "queues": queues}))


if __name__ == "__main__":
    main()
