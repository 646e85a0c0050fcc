#!/usr/bin/python
"""A home network behind a NAT: the server on the Internet sees the router's address only."""

from mininet.net import Mininet
from mininet.log import info, setLogLevel
from mininet.node import OVSBridge

setLogLevel("info")
net = Mininet(controller=None, switch=OVSBridge)
home = net.addSwitch("s1")
router = net.addHost("nat", ip=None)
server = net.addHost("server", ip="203.0.113.80/24")
pcs = [net.addHost("pc%d" % n, ip="192.168.1.%d/24" % (n + 100), defaultRoute="via 192.168.1.1") for n in (1, 2)]
for pc in pcs:
    net.addLink(pc, home)
net.addLink(home, router, intfName2="nat-lan", params2={"ip": "192.168.1.1/24"})
net.addLink(server, router, intfName2="nat-wan", params2={"ip": "203.0.113.1/24"})
net.start()
router.cmd("sysctl -w net.ipv4.ip_forward=1")
router.cmd("iptables -t nat -A POSTROUTING -o nat-wan -j MASQUERADE")
router.cmd("iptables -t nat -A PREROUTING -i nat-wan -p tcp --dport 8080 -j DNAT --to-destination 192.168.1.101:80")
router.cmd("iptables -P FORWARD DROP")
router.cmd("iptables -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT")
router.cmd("iptables -A FORWARD -i nat-lan -o nat-wan -j ACCEPT")
router.cmd("iptables -A FORWARD -i nat-wan -p tcp --dport 80 -j ACCEPT")

server.cmd("cd /tmp; python3 -u -m http.server 80 > /tmp/access.log 2>&1 &")
pcs[0].cmd("cd /tmp; python3 -m http.server 80 > /dev/null 2>&1 &")
net.waitConnected()
for pc in pcs:
    info(pc.cmd("sleep 1; ping -c 3 203.0.113.80 | grep received"))
    pc.cmd("curl -s 203.0.113.80 > /dev/null")
print("server saw:", sorted(set(server.cmd("grep GET /tmp/access.log | cut -d' ' -f1").split())))
print("from outside, port 8080:", server.cmd("curl -s -m 2 -o /dev/null -w '%{http_code}' 203.0.113.1:8080"))
print("from outside, ping: ", server.cmd("ip route add 192.168.1.0/24 via 203.0.113.1; ping -c 2 -W 1 192.168.1.102 | grep received"))
print("translated:", router.cmd("iptables -t nat -vnL POSTROUTING | grep -c MASQUERADE"))
net.stop()
