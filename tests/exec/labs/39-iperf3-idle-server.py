"""An iperf3 server waits for more than two minutes before its client comes, over a path of 162 ms."""

import re
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

for idle in (5, 130):
    net = Mininet(SingleSwitchTopo(2), link=TCLink)
    net.start()
    server, client = net.hosts
    for host in net.hosts:
        host.cmd("tc qdisc replace dev %s root netem delay 81ms rate 10mbit limit 1000" % host.defaultIntf())
    server.cmd("iperf3 -s > server.txt 2>&1 &")
    time.sleep(idle)
    out = client.cmd("timeout 120 iperf3 -c %s -t 20" % server.IP())
    rates = re.findall(r"([\d.]+) Mbits/sec +receiver", out)
    print("idle for %d s: %s Mbit/s" % (idle, rates[0] if rates else "no"))
    if not rates:
        print(out, open("server.txt").read())
    server.cmd("kill %iperf3; wait")
    net.stop()
