"""Runs inside a guest with the debug kernel: every variant under traffic, loss, reordering, delayed ACKs and a change
of control, and the module loaded and unloaded meanwhile. Leaves what happened in /results/logs/traffic.json."""

import json
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

VARIANTS = (
    "ledbat",
    "ledbat_draft00",
    "ledbat_icccn",
    "ledbat_ld",
    "ledbat_ldmin",
    "ledbat_md",
    "ledbat_mdvar",
    "ledbat_aina",
    "ledbatpp",
    "fledbat",
    "mirror",
)
TARGETS = ("ledbat", "mirror", "ledbatpp", "ledbat_aina")
MODULES = ("tcp_ledbat", "tcp_ledbat_research")
SYSCTL = "/proc/sys/net/ipv4"
ROUNDS = 2
FLOW_S = 0.6


def tell(path, value):
    """Write a value to a file."""
    Path(path).write_text(str(value))


def load(name, *settings):
    """Insert a module; the exit status of insmod."""
    words = ["insmod", f"/opt/modules/{name}.ko", *settings]
    return subprocess.run(words, capture_output=True, check=False).returncode


def unload(name):
    """Remove a module; the exit status of rmmod."""
    return subprocess.run(["rmmod", name], capture_output=True, check=False).returncode


def receive(listener):
    """Discard what one connection sends."""
    connection, _ = listener.accept()
    with connection:
        while connection.recv(1 << 16):
            pass


def flow(control, port, sent):
    """Send for a while with `control`, then half as long with the next variant; both sides use the module."""
    address = ("127.0.0.1", port)
    following = VARIANTS[(VARIANTS.index(control) + 1) % len(VARIANTS)]
    with socket.create_server(address) as listener:
        receiver = threading.Thread(target=receive, args=(listener,))
        receiver.start()
        with socket.socket() as sender:
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
            sender.connect(address)
            for of, seconds in ((control, FLOW_S), (following, FLOW_S / 2)):
                sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, of.encode())
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    sent[control] = sent.get(control, 0) + sender.send(bytes(1 << 14))
        receiver.join()


def all_flows(first_port, busy):
    """All variants at once; notes whether a module can be removed while they use it."""
    sent: dict[str, int] = {}
    flows = [
        threading.Thread(target=flow, args=(control, first_port + index, sent))
        for index, control in enumerate(VARIANTS)
    ]
    for thread in flows:
        thread.start()
    time.sleep(FLOW_S / 2)
    busy += [unload(name) for name in MODULES]
    for thread in flows:
        thread.join()
    return sent


def removed(name):
    """Remove a module as soon as the last socket is gone; whether that came."""
    for _ in range(100):
        if unload(name) == 0:
            return True
        time.sleep(0.1)
    return False


def main():
    """Leave logs/traffic.json and logs/kernel.log in the run folder."""
    outcome: dict[str, Any] = {"refused": {}, "busy": [], "sent": [], "removed": []}
    for settings in (
        "ledbat=gain_ppm=1000001",
        "ledbatpp=target_us=x",
        "ledbat=beta_ppm=1",
        "instance=mirror",
        "instance=mirror:ledbatpp,target_us=1",
        "instance=ledbat:ledbatpp",
        " ".join(f"instance=name{index}:ledbatpp" for index in range(9)),
    ):
        outcome["refused"][settings] = load("tcp_ledbat", *settings.split())
    subprocess.run(["ip", "link", "set", "lo", "up", "mtu", "1500"], check=True)
    subprocess.run(["ethtool", "-K", "lo", "tso", "off", "gso", "off", "gro", "off"], check=True)
    path = "netem delay 10ms rate 20mbit loss 0.5% reorder 2% limit 100"
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", *path.split()], check=True)
    for index in range(ROUNDS):
        tell("/results/heartbeat", index)
        assert load("tcp_ledbat", "ledbat=target_us=20000", "instance=mirror:ledbatpp,target_us=30000") == 0
        assert load("tcp_ledbat_research") == 0
        outcome["defaults"] = [int(Path(f"/proc/sys/net/{name}/target_us").read_text()) for name in TARGETS]
        tell(f"{SYSCTL}/tcp_timestamps", 1 - index % 2)
        # accepted sockets are set up in softirq
        tell(f"{SYSCTL}/tcp_congestion_control", "ledbat_aina")
        outcome["sent"].append(all_flows(6000 + 100 * index, outcome["busy"]))
        tell(f"{SYSCTL}/tcp_congestion_control", "cubic")
        outcome["removed"] += [removed(name) for name in MODULES]
    with Path("/results/logs/kernel.log").open("w") as log:
        subprocess.run(["dmesg", "--notime"], stdout=log, check=True)
    Path("/results/logs/traffic.json").write_text(json.dumps(outcome))


if __name__ == "__main__":
    main()
