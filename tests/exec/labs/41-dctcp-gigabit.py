#!/usr/bin/python3
"""DCTCP at 950 Mbit/s: two senders, a switch that marks above 20 packets, iperf3, as in older handouts."""

import re
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Star(Topo):
    def build(self):
        switch = self.addSwitch("s1")
        for number in (1, 2):
            self.addLink(self.addHost("h%d" % number), switch, bw=950, delay="0.1ms")
        self.addLink(self.addHost("h3"), switch, bw=950, enable_ecn=True)


net = Mininet(topo=Star(), link=TCLink)
net.start()
h1, h2, h3 = net.hosts
for host in net.hosts:
    host.cmd("sysctl -w net.ipv4.tcp_ecn=1 net.ipv4.tcp_congestion_control=dctcp")
    host.cmd("ethtool -K %s tso off gso off gro off" % host.defaultIntf())
h3.cmd("iperf3 -s -p 5001 -D; iperf3 -s -p 5002 -D")
time.sleep(1)
for number, host in enumerate((h1, h2), 1):
    host.cmd("iperf3 -c %s -p 500%d -t 3 > %d.txt &" % (h3.IP(), number, number))
port = net["s1"].connectionsTo(h3)[0][0]
queue = []
for _ in range(100):
    time.sleep(0.02)
    stats = net["s1"].cmd("tc -s qdisc show dev %s" % port)
    queue.append(max(int(packets) for packets in re.findall(r"backlog \S+ (\d+)p", stats)))
time.sleep(3)
rates = [
    float(re.findall(r"([\d.]+) Mbits/sec.*receiver", open("%d.txt" % n).read())[0]) for n in (1, 2)
]
late = sorted(queue[25:])
print("sum of goodput %.0f Mbit/s, median queue %d packets" % (sum(rates), late[len(late) // 2]))
net.stop()
