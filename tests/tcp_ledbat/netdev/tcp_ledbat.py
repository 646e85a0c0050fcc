#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What packets show of ledbat and ledbatpp, over a router in namespaces of their own:

send --- 10 Mbit/s, 240 ms of room ---> receive
     <------------- 40 ms -------------
"""

import json
import shutil
import socket
import struct
import subprocess
import sys
import time

KSFT_SKIP = 4
TCP_CC_INFO = 26
LINK_MBIT = 10
TARGET_MS = {"ledbat": 100, "ledbatpp": 60}
SPACES = ("ledbat-send", "ledbat-router", "ledbat-receive")
SEND, ROUTER, RECEIVE = SPACES
ADDRESS, PORT = "10.66.1.2", 6666
SAMPLE_S = 0.02
PATH = f"""\
ip link add left netns {SEND} type veth peer name left netns {ROUTER}
ip link add right netns {ROUTER} type veth peer name right netns {RECEIVE}
ip -n {SEND} address add 10.66.0.1/24 dev left
ip -n {ROUTER} address add 10.66.0.2/24 dev left
ip -n {ROUTER} address add 10.66.1.1/24 dev right
ip -n {RECEIVE} address add {ADDRESS}/24 dev right
ip -n {SEND} link set left up gso_max_segs 1
ip -n {ROUTER} link set left up
ip -n {ROUTER} link set right up
ip -n {RECEIVE} link set right up
ip netns exec {ROUTER} sysctl -q net.ipv4.ip_forward=1
ip -n {SEND} route add default via 10.66.0.2
ip -n {RECEIVE} route add default via 10.66.1.1
ip netns exec {ROUTER} tc qdisc add dev right root handle 1: htb default 1
ip netns exec {ROUTER} tc class add dev right parent 1: classid 1:1 htb rate {LINK_MBIT}mbit quantum 1514
ip netns exec {ROUTER} tc qdisc add dev right parent 1:1 pfifo limit 200
ip netns exec {ROUTER} tc qdisc add dev left root netem delay 40ms limit 1000
"""


def run(line):
    subprocess.run(line.split(), check=True)


def state(connection):
    """The instant in s, packets in flight, window, queue in ms and bytes acknowledged, from tcp_info."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    unacked, rtt_us, window, acked, least_us = (
        struct.unpack_from(form, info, at)[0] for form, at in (("I", 24), ("I", 68), ("I", 80), ("Q", 120), ("I", 148))
    )
    queue_ms = (rtt_us - least_us) / 1e3 if rtt_us else 0
    return [time.monotonic(), unacked, window, queue_ms, acked]


def send(control, seconds):
    """In the sender's namespace: print what a connection saw as JSON."""
    samples = []
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        connection.connect((ADDRESS, PORT))
        connection.setblocking(False)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                while True:
                    connection.send(bytes(1 << 16))
            except BlockingIOError:
                pass
            samples.append(state(connection))
            time.sleep(SAMPLE_S)
        words = connection.getsockopt(socket.IPPROTO_TCP, TCP_CC_INFO, 64)
    print(json.dumps({"samples": samples, "report": words.hex()}))


def receive():
    """In the receiver's namespace: take what comes, over any number of connections."""
    import threading

    def take(connection):
        while connection.recv(1 << 16):
            pass

    with socket.create_server((ADDRESS, PORT)) as listener:
        print(flush=True)
        while True:
            threading.Thread(target=take, args=listener.accept()[:1], daemon=True).start()


def inside(space, *words):
    command = ["ip", "netns", "exec", space, sys.executable, __file__, *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def flow(control, seconds):
    return inside(SEND, "send", control, str(seconds))


def result(process):
    said, _ = process.communicate()
    return json.loads(said)


def mbit(samples):
    """The rate at which data was acknowledged."""
    return 8e-6 * (samples[-1][4] - samples[0][4]) / (samples[-1][0] - samples[0][0])


def after(samples, seconds):
    return [sample for sample in samples if sample[0] >= samples[0][0] + seconds]


def check(number, name, holds, found):
    print(f"{'ok' if holds else 'not ok'} {number} {name} # {found}")
    return holds


def tests():
    """Yield what is tested, whether it holds, and what was found."""
    for control, target_ms in TARGET_MS.items():
        alone = result(flow(control, 20))
        first, settled = alone["samples"][0], after(alone["samples"], 8)
        yield f"{control} begins with two packets", first[1] == 2, f"{first[1]} in flight"
        rate = mbit(settled)
        yield f"{control} alone fills the link", rate > 0.85 * LINK_MBIT * 1448 / 1500, f"{rate:.2f} Mbit/s"
        queue_ms = sum(sample[3] for sample in settled) / len(settled)
        yield f"{control} keeps the queue at its target", queue_ms < target_ms + 3, f"{queue_ms:.0f} ms"
        slow = sum(sample[2] <= 2 for sample in settled) / len(settled)
        if control == "ledbatpp":
            yield f"{control} slows down for a tenth of the time", 0 < slow <= 0.1, f"{slow:.3f}"
        else:
            yield f"{control} does not slow down", slow == 0, f"{slow:.3f}"
        words = struct.unpack("5I", bytes.fromhex(alone["report"]))
        report = words[3] == target_ms * 1000 and words[2] < 2000 * target_ms
        yield f"{control} reports its delays", report, f"{words}"

        low = flow(control, 38)
        time.sleep(8)
        cubic = result(flow("cubic", 30))
        samples = after(result(low)["samples"], 26)
        share = mbit(samples) / (mbit(samples) + mbit(after(cubic["samples"], 18)))
        yield f"{control} yields to CUBIC", share < 0.1, f"{share:.3f}"


def main():
    """Run in the namespaces, or build them and test."""
    if sys.argv[1:2] == ["send"]:
        send(sys.argv[2], float(sys.argv[3]))
        return 0
    if sys.argv[1:2] == ["receive"]:
        receive()
        return 0
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            print(f"1..0 # SKIP {program} is not installed")
            return KSFT_SKIP
    print("TAP version 13")
    receiver = None
    try:
        for space in SPACES:
            run(f"ip netns add {space}")
        for line in PATH.splitlines():
            run(line)
        receiver = inside(RECEIVE, "receive")
        receiver.stdout.readline()
        outcomes = [check(number, *test) for number, test in enumerate(tests(), 1)]
        print(f"1..{len(outcomes)}")
        return 0 if all(outcomes) else 1
    finally:
        if receiver:
            receiver.kill()
        for space in SPACES:
            subprocess.run(["ip", "netns", "delete", space], check=False)


if __name__ == "__main__":
    sys.exit(main())
