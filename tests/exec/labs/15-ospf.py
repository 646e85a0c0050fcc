#!/usr/bin/python
"""OSPF with FRR on a ring of four routers: routes, and how long a broken link interrupts a ping."""

import os
import re
import time

from mininet.log import info, setLogLevel
from mininet.net import Mininet
from mininet.node import Node

CONF = "/tmp/frr"


class FRR(Node):
    def start_daemons(self):
        folder = "%s/%s" % (CONF, self.name)
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/frr.conf", "w") as f:
            f.write("hostname %s\nrouter ospf\n ospf router-id 10.255.0.%s\n" % (self.name, self.name[1:]))
            f.write(" network 10.0.0.0/8 area 0\ninterface %s-lan\n ip ospf passive\n" % self.name)
            f.write("".join("interface %s\n ip ospf hello-interval 1\n ip ospf dead-interval 4\n" % i for i in self.intfNames()))
        self.cmd("sysctl -w net.ipv4.ip_forward=1")
        self.cmd("chown -R frr:frr", folder)
        for daemon in ("zebra", "ospfd"):
            self.cmd("/usr/lib/frr/%s -d -f %s/frr.conf -i %s/%s.pid -z %s/zserv.api --vty_socket %s"
                     % (daemon, folder, folder, daemon, folder, folder))

    def vtysh(self, command):
        return self.cmd("vtysh --vty_socket %s/%s -c '%s'" % (CONF, self.name, command))


def ring():
    net = Mininet(controller=None)
    routers = [net.addHost("r%d" % n, cls=FRR, ip=None) for n in range(1, 5)]
    for n, router in enumerate(routers, 1):
        host = net.addHost("h%d" % n, ip="10.0.%d.2/24" % n, defaultRoute="via 10.0.%d.1" % n)
        net.addLink(host, router, intfName2="r%d-lan" % n, params2={"ip": "10.0.%d.1/24" % n})
    for n in range(4):
        one, two = routers[n], routers[(n + 1) % 4]
        net.addLink(one, two, params1={"ip": "10.1.%d.1/30" % n}, params2={"ip": "10.1.%d.2/30" % n})
    net.build()
    return net, routers


def main():
    net, routers = ring()
    for router in routers:
        router.start_daemons()
    info("*** waiting for OSPF\n")
    start = time.time()
    while "1 received" not in net["h1"].cmd("ping -c 1 -W 1 10.0.3.2") and time.time() < start + 120:
        time.sleep(1)
    print("reachable after %.0f s" % (time.time() - start))
    time.sleep(20)
    print(routers[0].vtysh("show ip route ospf"))
    print("routes of r1:", len(re.findall(r"^O>", routers[0].vtysh("show ip route ospf"), re.M)))
    before = net["h1"].cmd("traceroute -n -q 1 -w 1 10.0.2.2")
    print("hops before:", len(before.strip().splitlines()) - 1)
    ping = net["h1"].popen("ping -c 200 -i 0.1 -W 1 10.0.2.2")
    time.sleep(5)
    net["r1"].cmd("ip link set r1-eth1 down")
    out = ping.communicate()[0].decode()
    print(out.splitlines()[-2])
    after = net["h1"].cmd("traceroute -n -q 1 -w 1 10.0.2.2")
    print("hops after:", len(after.strip().splitlines()) - 1)
    net.stop()
    os.system("pkill ospfd; pkill zebra")


if __name__ == "__main__":
    setLogLevel("info")
    main()
