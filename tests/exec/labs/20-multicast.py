#!/usr/bin/env python3
"""IP multicast over a switch with IGMP snooping: who joined gets the stream, who did not gets nothing."""

import re
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSSwitch
from mininet.topo import SingleSwitchTopo

GROUP = "239.1.2.3"


def received(host):
    return int(host.cmd(f"cat /sys/class/net/{host.defaultIntf()}/statistics/rx_packets"))


net = Mininet(SingleSwitchTopo(4), switch=lambda name, **kw: OVSSwitch(name, failMode="standalone", **kw), link=TCLink, controller=None)
net.start()
net["s1"].cmd("ovs-vsctl set bridge s1 mcast_snooping_enable=true other_config:mcast-snooping-disable-flood-unregistered=true")
sender, one, two, three = net.hosts
for host in net.hosts:
    host.cmd(f"ip route add 224.0.0.0/4 dev {host.defaultIntf()}")
for host in (one, two):
    host.cmd(f"iperf -s -u -B {GROUP} -i 1 > {host.name}.txt &")
time.sleep(2)
before = received(three)
print(sender.cmd(f"iperf -c {GROUP} -u -T 4 -b 1M -t 10"))
time.sleep(2)
for host in (one, two):
    text = open(f"{host.name}.txt").read()
    lost, total = re.findall(r"(\d+)/\s*(\d+) \(", text)[-1]
    print(f"{host.name}: lost {lost} of {total}")
print("three:", received(three) - before, "packets")
net.stop()
