"""A router with a firewall between a LAN and a DMZ: web is allowed, telnet and ping are not."""

import time

from mininet.cli import CLI
from mininet.log import lg
from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import Topo


class LinuxRouter(Node):
    def config(self, **params):
        super(LinuxRouter, self).config(**params)
        self.cmd("sysctl net.ipv4.ip_forward=1")

    def terminate(self):
        self.cmd("sysctl net.ipv4.ip_forward=0; iptables -F")
        super(LinuxRouter, self).terminate()


class FirewallTopo(Topo):
    def build(self, **_opts):
        fw = self.addNode("fw", cls=LinuxRouter, ip="10.1.0.1/24")
        lan, dmz = self.addHost("lan", ip="10.1.0.2/24", defaultRoute="via 10.1.0.1"), self.addHost(
            "dmz", ip="10.2.0.2/24", defaultRoute="via 10.2.0.1")
        self.addLink(lan, fw, intfName2="fw-eth0", params2={"ip": "10.1.0.1/24"})
        self.addLink(dmz, fw, intfName2="fw-eth1", params2={"ip": "10.2.0.1/24"})


RULES = """
iptables -F
iptables -P FORWARD DROP
iptables -A FORWARD -p icmp --icmp-type echo-request -m limit --limit 1/second --limit-burst 1 -j ACCEPT
iptables -A FORWARD -p icmp --icmp-type echo-request -j DROP
iptables -A FORWARD -m state --state ESTABLISHED,RELATED -j ACCEPT
iptables -A FORWARD -p tcp -s 10.1.0.0/24 -d 10.2.0.2 -m multiport --dports 80,443 -j ACCEPT
iptables -A FORWARD -p tcp --dport 23 -j REJECT --reject-with tcp-reset
"""

lg.setLogLevel("info")
net = Mininet(FirewallTopo())
net.start()
fw, lan, dmz = net["fw"], net["lan"], net["dmz"]
for line in RULES.strip().splitlines():
    print(fw.cmd(line), end="")
for port in (80, 23, 22):
    dmz.cmd("nc -l -k -p %d > /dev/null &" % port)
time.sleep(1)
for port in (80, 23, 22):
    print("port %d: %s" % (port, lan.cmd("nc -z -v -w 2 10.2.0.2 %d 2>&1 | tail -1" % port).strip()))
print("ping: ", lan.cmd("ping -c 10 -i 0.1 -W 1 10.2.0.2 | grep received"))
print(fw.cmd("iptables -L FORWARD -v -n"))
CLI(net, script="/dev/null")
net.stop()
