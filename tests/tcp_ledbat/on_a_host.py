"""Runs inside a guest: what the packages bring to a host, beside the module itself. Leaves what came of it in
/results/logs/on_a_host.json: the packages' tests and the lines of examples/delays.py while flows are on their way; what
a user without rights may do; and what memory the kernel has lost after network namespaces have come and gone."""

import itertools
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
CONTROLS = ("ledbat", "ledbatpp")
TARGET = Path("/proc/sys/net/ledbatpp/target_us")
USER = 1000
NAMESPACES = 1000


def run(line):
    """Run a command; return what it prints."""
    return subprocess.run(line.split(), check=True, capture_output=True, text=True).stdout


def flow(listener, control):
    """Send until the other end closes."""
    sender = socket.socket(listener.family)
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    sender.connect(listener.getsockname())

    def send():
        try:
            while True:
                sender.send(bytes(1 << 14))
        except OSError:
            sender.close()

    threading.Thread(target=send, daemon=True).start()
    connection, _ = listener.accept()

    def receive():
        while connection.recv(1 << 16):
            pass

    threading.Thread(target=receive, daemon=True).start()


def delays():
    """What the example prints while each control has a flow, over IPv4 and IPv6."""
    run("tc qdisc add dev lo root netem delay 10ms rate 20mbit limit 100")
    for address in ("127.0.0.1", "::1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        listener = socket.create_server((address, 0), family=family)
        for control in (*CONTROLS, "cubic"):
            flow(listener, control)
    time.sleep(3)
    lines = run(f"{sys.executable} {HERE / 'delays.py'}").splitlines()
    run("tc qdisc delete dev lo root")
    return lines


def without_rights():
    """Which controls a user may choose, and whether it may change a setting."""
    code = f"""
import os, socket
os.setgroups([]); os.setuid({USER})
for control in {CONTROLS}:
    socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    print(control)
try:
    open("{TARGET}", "w").write("50000")
except PermissionError:
    print("refused")
"""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def lost_kb():
    """How much more memory the kernel has after namespaces have come and gone, and as many again."""
    kept = []
    for _ in range(3):
        for _ in range(NAMESPACES):
            if not (child := os.fork()):
                os.unshare(os.CLONE_NEWNET)
                os._exit(0 if TARGET.exists() else 1)
            assert os.waitpid(child, 0)[1] == 0
        time.sleep(1)  # they end in a work queue
        Path("/proc/sys/vm/drop_caches").write_text("3")
        unused = re.search(r"SUnreclaim: +(\d+)", Path("/proc/meminfo").read_text())
        assert unused
        kept.append(int(unused[1]))
    return [later - earlier for earlier, later in itertools.pairwise(kept)]


def main():
    """Do all of it."""
    run("sysctl -q net.ipv6.conf.lo.disable_ipv6=0")
    run("ip link set lo up mtu 1500")
    for name in ("tcp_ledbat", "tcp_rledbat"):
        run(f"insmod /opt/modules/{name}.ko")
    sent = [line for test in ("transfer", "receive") for line in run(f"{sys.executable} {HERE / test}.py").splitlines()]
    outcome = {"sent": sent, "without_rights": without_rights(), "lost_kb": lost_kb(), "delays": delays()}
    Path("/results/logs/on_a_host.json").write_text(json.dumps(outcome))


if __name__ == "__main__":
    main()
