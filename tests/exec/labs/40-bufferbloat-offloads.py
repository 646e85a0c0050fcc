#!/usr/bin/python3
"""Bufferbloat as a handout has it: how long is a queue of 100 packets if Linux hands it packets of several segments?"""

import re
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSBridge
from mininet.topo import Topo

QUEUED = re.compile(r"backlog \S+ (\d+)p")
SETTINGS = {
    "as it is": "true",
    "tcp_tso_rtt_log=0": "sysctl -qw net.ipv4.tcp_tso_rtt_log=0",
    "tcp_min_tso_segs=1": "sysctl -qw net.ipv4.tcp_min_tso_segs=1",
    "offloads off": "ethtool -K %s tso off gso off gro off",
}


class HomeTopo(Topo):
    def build(self):
        h1, h2, s0 = self.addHost("h1"), self.addHost("h2"), self.addSwitch("s0", cls=OVSBridge)
        self.addLink(h1, s0, bw=1000, delay="5ms")
        self.addLink(s0, h2, bw=1.5, delay="5ms", max_queue_size=100)


def measure(name, setting):
    net = Mininet(topo=HomeTopo(), link=TCLink, controller=None)
    net.start()
    h1, h2, s0 = net.get("h1", "h2", "s0")
    for node in (h1, h2, s0):
        node.cmd("sysctl -qw net.ipv4.tcp_congestion_control=reno")
        for interface in node.intfNames():
            if interface != "lo":
                node.cmd(setting % interface if "%s" in setting else setting)
    h2.cmd("iperf -s & sleep 1")
    h1.cmd("iperf -c %s -t 80 &" % h2.IP())
    time.sleep(20)
    h1.cmd("ping -c 500 -i 0.1 %s > ping.txt &" % h2.IP())
    queue, window = [], []
    for _ in range(50):
        time.sleep(1)
        queue.append(max(int(length) for length in QUEUED.findall(s0.cmd("tc -s qdisc show dev s0-eth2"))))
        window += [int(found) for found in re.findall(r" cwnd:(\d+)", h1.cmd("ss -tni dst %s" % h2.IP()))][:1]
    time.sleep(3)
    rtts = [float(ms) for ms in re.findall(r"time=([\d.]+)", h1.cmd("cat ping.txt"))]
    print("%s: ping mean %.0f, largest %.0f ms; queue mean %.0f, largest %d packets; window mean %.0f, largest %d" % (
        name, sum(rtts) / len(rtts), max(rtts), sum(queue) / len(queue), max(queue),
        sum(window) / len(window), max(window)))
    net.stop()


if __name__ == "__main__":
    for name, setting in SETTINGS.items():
        measure(name, setting)
