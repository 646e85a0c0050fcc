#!/usr/bin/env python
"""BGP path hijacking: AS 1 serves a page, AS 4 announces the same prefix nearer to the client."""

import os
import sys
from time import sleep

from mininet.log import lg
from mininet.net import Mininet
from mininet.node import Host, Node
from mininet.topo import Topo

LINKS = [(1, 2), (2, 3), (3, 4)]


class Router(Node):
    pass


class Chain(Topo):
    def build(self):
        for n in range(1, 5):
            self.addNode("R%d" % n, cls=Router, ip=None)
            self.addHost("h%d" % n, ip="%d.0.1.1/8" % (10 + n if n < 4 else 11), defaultRoute="via %d.0.0.1" % (10 + n if n < 4 else 11))
        for a, b in LINKS:
            self.addLink("R%d" % a, "R%d" % b, intfName1="R%d-to%d" % (a, b), intfName2="R%d-to%d" % (b, a))
        for n in range(1, 5):
            self.addLink("h%d" % n, "R%d" % n, intfName2="R%d-lan" % n)


def conf(n):
    prefix = 10 + n if n < 4 else 11
    addresses = [("R%d-lan" % n, "%d.0.0.1/8" % prefix)]
    neighbors = []
    for a, b in LINKS:
        if n in (a, b):
            other = b if n == a else a
            addresses.append(("R%d-to%d" % (n, other), "9.0.%d.%d/24" % (a, n)))
            neighbors.append((other, "9.0.%d.%d" % (a, other)))
    lines = ["hostname R%d" % n, "router bgp %d" % n, " no bgp ebgp-requires-policy", " bgp router-id 9.0.0.%d" % n]
    lines += [" neighbor %s remote-as %d" % (address, other) for other, address in neighbors]
    lines += [" neighbor %s timers 1 3" % address for _, address in neighbors]
    lines += [" address-family ipv4 unicast", "  network %d.0.0.0/8" % prefix]
    return addresses, "\n".join(lines) + "\n"


def start_router(router):
    folder = "/tmp/frr-%s" % router.name
    os.system("mkdir -p %s" % folder)
    addresses, text = conf(int(router.name[1:]))
    open(folder + "/frr.conf", "w").write(text)
    for interface, address in addresses:
        router.cmd("ip addr add %s dev %s" % (address, interface))
    os.system("chown -R frr:frr %s" % folder)
    router.cmd("sysctl -w net.ipv4.ip_forward=1")
    for daemon in ["zebra", "bgpd"]:
        router.cmd("/usr/lib/frr/%s -d -f %s/frr.conf -i %s/%s.pid -z %s/zserv.api --vty_socket %s > %s/%s.log 2>&1"
                   % (daemon, folder, folder, daemon, folder, folder, folder, daemon))


def main():
    lg.setLogLevel("info")
    net = Mininet(topo=Chain(), controller=None)
    net.start()
    for n in (1, 2, 3):
        start_router(net["R%d" % n])
    for n, text in ((1, "Default web server"), (4, "*** Attacker web server ***")):
        os.system("mkdir -p /tmp/www%d; echo '%s' > /tmp/www%d/index.html" % (n, text, n))
        net["h%d" % n].cmd("cd /tmp/www%d; python3 -m http.server 80 > /dev/null 2>&1 &" % n)
    sleep(30)
    print("before:", net["h3"].cmd("curl -s -m 5 11.0.1.1").strip())
    print(net["R3"].cmd("vtysh --vty_socket /tmp/frr-R3 -c 'show ip bgp'"))
    start_router(net["R4"])
    sleep(20)
    print("during:", net["h3"].cmd("curl -s -m 5 11.0.1.1").strip())
    print(net["R3"].cmd("vtysh --vty_socket /tmp/frr-R3 -c 'show ip bgp 11.0.0.0/8'"))
    os.system("kill `cat /tmp/frr-R4/*.pid`")
    sleep(20)
    print("after:", net["h3"].cmd("curl -s -m 5 11.0.1.1").strip())
    net.stop()
    os.system("pkill zebra; pkill bgpd")


if __name__ == "__main__":
    sys.exit(main())
