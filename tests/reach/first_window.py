"""Print the window that a host offers when it connects, for several routes."""

import json
import socket
import struct
import subprocess
import sys

OFFERED = 228  # tcpi_snd_wnd of struct tcp_info in linux/tcp.h
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"
PORT = 5000
SETUP = f"""\
ip netns add far
ip link add near type veth peer name away netns far
ip address add {RECEIVER}/24 dev near
ip link set near up
ip netns exec far ip address add {SENDER}/24 dev away
ip netns exec far ip link set away up
"""


def wait_for_connections() -> None:
    listener = socket.create_server((SENDER, PORT))
    print("listening", flush=True)
    while True:
        with listener.accept()[0] as connection:
            information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        print(struct.unpack_from("I", information, OFFERED)[0], flush=True)


def main() -> None:
    subprocess.run(["sh", "-ec", SETUP], check=True)
    command = ["ip", "netns", "exec", "far", sys.executable, "-S", __file__, "wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
        assert sender.stdout
        sender.stdout.readline()
        for words in ("congctl rledbat", "congctl rledbat initrwnd 10", "congctl rledbat initrwnd 2", "initrwnd 10"):
            route = f"ip route replace 10.0.0.0/24 dev near src {RECEIVER} {words}"
            subprocess.run(route.split(), check=True)
            with socket.create_connection((SENDER, PORT)):
                print(json.dumps({"route": words, "first": int(sender.stdout.readline())}), flush=True)
        sender.kill()


if __name__ == "__main__":
    wait_for_connections() if sys.argv[1:] == ["wait"] else main()
