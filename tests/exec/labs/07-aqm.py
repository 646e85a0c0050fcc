#!/usr/bin/env python3
"""Which queue management keeps the delay low while a download runs? A router with one qdisc after the other."""

import re
import sys

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import Node

QDISCS = {
    "pfifo": "pfifo limit 200",
    "red": "red limit 300000 min 15000 max 45000 avpkt 1500 burst 20 probability 0.1 bandwidth 10mbit",
    "codel": "codel",
    "fq_codel": "fq_codel",
    "pie": "pie",
    "cake": "cake bandwidth 9.9mbit",
}


class Router(Node):
    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")


def measure(name, qdisc):
    net = Mininet(controller=None)
    router = net.addHost("r0", cls=Router, ip="10.0.1.1/24")
    h1 = net.addHost("h1", ip="10.0.1.2/24", defaultRoute="via 10.0.1.1")
    h2 = net.addHost("h2", ip="10.0.2.2/24", defaultRoute="via 10.0.2.1")
    net.addLink(h1, router, intfName2="r0-eth1", params2={"ip": "10.0.1.1/24"})
    net.addLink(h2, router, intfName2="r0-eth2", params2={"ip": "10.0.2.1/24"})
    net.build()
    for node in (h1, h2, router):
        for intf in node.intfNames():
            node.cmd(f"ethtool -K {intf} tso off gso off gro off")
    router.cmd("tc qdisc add dev r0-eth2 root handle 1: htb default 1")
    router.cmd("tc class add dev r0-eth2 parent 1: classid 1:1 htb rate 10mbit")
    out = router.cmd(f"tc qdisc add dev r0-eth2 parent 1:1 handle 10: {qdisc}")
    if out:
        sys.exit(f"{name}: {out}")
    router.cmd("tc qdisc add dev r0-eth1 root netem delay 20ms limit 10000")
    h2.cmd("iperf -s &")
    flow = h1.popen(f"iperf -c {h2.IP()} -t 30 -y C")
    ping = h1.cmd(f"ping -c 100 -i 0.2 {h2.IP()}").split("\n")
    times = sorted(float(m.group(1)) for m in (re.search(r"time=([\d.]+)", line) for line in ping[25:]) if m)
    rate = int(flow.communicate()[0].decode().split(",")[-1]) / 1e6
    print(f"{name:10s} rate {rate:5.2f} Mbit/s   rtt median {times[len(times) // 2]:6.1f} ms   max {times[-1]:6.1f} ms")
    net.stop()


if __name__ == "__main__":
    setLogLevel("warning")
    for name, qdisc in QDISCS.items():
        measure(name, qdisc)
