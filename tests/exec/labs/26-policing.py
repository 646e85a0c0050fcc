#!/usr/bin/python
"""Traffic policing at ingress, and classes with borrowing by HTB."""

import re
import time

from mininet.net import Mininet
from mininet.link import TCLink
from mininet.topo import SingleSwitchTopo


def udp(client, server, rate, port):
    return client.popen(f"iperf3 -c {server.IP()} -u -b {rate} -t 10 -l 1000 -p {port}")


def got(process):
    line = [x for x in process.communicate()[0].decode().splitlines() if "receiver" in x][0]
    return float(re.search(r"([\d.]+) Mbits/sec", line).group(1))


net = Mininet(SingleSwitchTopo(3), link=TCLink)
net.start()
h1, h2, server = net.hosts
for port in (5201, 5202):
    server.cmd(f"iperf3 -s -D -p {port}")
dev = server.defaultIntf()
server.cmd(f"tc qdisc add dev {dev} handle ffff: ingress")
server.cmd(f"tc filter add dev {dev} parent ffff: protocol ip u32 match ip src {h1.IP()} police rate 2mbit burst 10k drop flowid :1")
time.sleep(1)
print("policed: %.2f Mbit/s" % got(udp(h1, server, "5M", 5201)))
server.cmd(f"tc qdisc del dev {dev} ingress")
time.sleep(1)

port = net["s1"].connectionsTo(server)[0][0]
tc = "tc class add dev %s parent" % port
net["s1"].cmd(f"tc qdisc replace dev {port} root handle 1: htb default 20")
net["s1"].cmd(f"{tc} 1: classid 1:1 htb rate 10mbit; {tc} 1:1 classid 1:10 htb rate 7mbit ceil 10mbit; {tc} 1:1 classid 1:20 htb rate 3mbit ceil 10mbit")
net["s1"].cmd(f"tc filter add dev {port} parent 1: protocol ip u32 match ip src {h1.IP()} flowid 1:10")
gold, best_effort = udp(h1, server, "20M", 5201), udp(h2, server, "20M", 5202)
print("gold: %.2f Mbit/s, best effort: %.2f Mbit/s" % (got(gold), got(best_effort)))
print("best effort alone: %.2f Mbit/s" % got(udp(h2, server, "20M", 5202)))
net.stop()
