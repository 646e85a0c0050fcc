"""Runs in a machine with several processors, until PACKETS have crossed its loopback: connections that come and go,
with loss and reordering, that change their congestion control at any moment, while others ask what it reports, and
settings that change meanwhile.

Prints one line of JSON: packets, seconds, changes of control, what the kernel complained about since the module was
loaded, and whether the module could be removed at the end.
"""

import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

MODULE = "/opt/modules/tcp_ledbat.ko"
COMPLAINT = re.compile(
    r"BUG|WARNING|INFO: |Oops|soft lockup|hung task|corruption|Poison|Redzone|general protection|Call Trace"
)
CONNECTIONS = 12
PORT = 6000
TCP_CC_INFO = 26


def run(line):
    """Run a command; return what it prints."""
    return subprocess.run(line.split(), check=True, capture_output=True, text=True).stdout


def packets():
    """Packets that have crossed the loopback since the machine started."""
    (line,) = (line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split()[2])


def controls():
    """What a socket can choose."""
    return Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()


def receive(listener):
    """Take what comes, one connection after the other; the receiving socket has a control, too."""
    while True:
        connection, _ = listener.accept()
        with connection:
            while connection.recv(1 << 16):
                pass


def in_the_same_tenth():
    """Wait for the next tenth of a second in which some processes do the same, and give its times."""
    time.sleep(1 - time.monotonic() % 1)
    while time.monotonic() % 1 < 0.1:
        yield


def ask(connection):
    """Ask what the control of a connection reports: the kernel does not lock the socket for that."""
    while True:
        for _ in in_the_same_tenth():
            connection.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)


def change(connection, seed):
    """Change the control of a connection meanwhile."""
    drawn, names = random.Random(f"change {seed}"), controls()  # noqa: S311
    while True:
        for _ in in_the_same_tenth():
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, drawn.choice(names).encode())


def send(number, seed, report):
    """Send over one connection after the other, each with many changes of control."""
    drawn, names = random.Random(f"send {number} {seed}"), controls()  # noqa: S311
    changes = 0
    while True:
        with socket.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, drawn.choice(names).encode())
            connection.connect(("127.0.0.1", PORT + number))
            for _ in range(drawn.randrange(1, 100)):
                connection.send(bytes(drawn.randrange(1, 1 << 16)))
                if drawn.random() < 0.2:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, drawn.choice(names).encode())
                    changes += 1
                    os.pwrite(report, struct.pack("Q", changes), 8 * number)


def start(work, *arguments):
    """Run a function in a process of its own; return its number."""
    process = os.fork()
    if process == 0:
        work(*arguments)
    return process


def complaints():
    """Lines of the kernel's log that tell of a defect."""
    return [line for line in run("dmesg --notime").splitlines() if COMPLAINT.search(line)]


def main(wanted, seed):
    """Run until enough packets have crossed; return what is printed."""
    run("dmesg --clear")
    run(f"insmod {MODULE} instance=mirror:ledbatpp,target_us=20000")
    run("ip link set lo up mtu 1500")
    run("ethtool -K lo tso off gso off gro off")
    run("tc qdisc add dev lo root netem loss 0.3% reorder 1% delay 1ms limit 10000")
    Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("ledbat")  # of sockets that are accepted
    report = os.memfd_create("changes")
    os.ftruncate(report, 8 * CONNECTIONS)
    listeners = [socket.create_server(("127.0.0.1", PORT + number)) for number in range(CONNECTIONS)]
    started, begin = packets(), time.monotonic()
    workers = [start(receive, listener) for listener in listeners]
    workers += [start(send, number, seed, report) for number in range(CONNECTIONS)]
    listeners.append(socket.create_server(("127.0.0.1", PORT + CONNECTIONS)))
    with socket.create_connection(listeners[-1].getsockname()) as asked:
        workers += [start(ask, asked), start(ask, asked), start(change, asked, seed)]
    drawn = random.Random(f"settings {seed}")  # noqa: S311
    while packets() - started < wanted and not complaints():
        time.sleep(0.5)
        for name in ("ledbat", "ledbatpp", "mirror"):
            Path(f"/proc/sys/net/{name}/target_us").write_text(str(drawn.randrange(1000, 100001)))
        Path("/proc/sys/net/ipv4/tcp_timestamps").write_text(str(drawn.randrange(2)))
    outcome = {"packets": packets() - started, "seconds": round(time.monotonic() - begin), "processors": os.cpu_count()}
    outcome["changes"] = sum(struct.unpack(f"{CONNECTIONS}Q", os.pread(report, 8 * CONNECTIONS, 0)))
    for worker in reversed(workers):  # who sends ends first, and sees no broken connection
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
    for listener in listeners:
        listener.close()
    Path("/proc/sys/net/ipv4/tcp_congestion_control").write_text("cubic")
    run("tc qdisc delete dev lo root")
    removed = 1
    for _ in range(100):
        removed = subprocess.run(["rmmod", "tcp_ledbat"], check=False, capture_output=True).returncode
        if not removed:
            break
        time.sleep(0.5)
    return outcome | {"complaints": complaints(), "removed": not removed}


if __name__ == "__main__":
    print(json.dumps(main(*map(int, sys.argv[1:]))), flush=True)
