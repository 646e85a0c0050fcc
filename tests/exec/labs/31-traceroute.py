#!/usr/bin/python
"""Five routers in a row with static routes: traceroute, and what happens at the end of the TTL."""

from mininet.topo import Topo
from mininet.net import Mininet
from mininet.node import Node

N = 5


class LinuxRouter(Node):
    def config(self, **params):
        super(LinuxRouter, self).config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0")


class NetworkTopo(Topo):
    def build(self, **_opts):
        for n in range(1, N + 1):
            self.addNode("r%d" % n, cls=LinuxRouter, ip=None)
        for n in range(1, N):
            self.addLink("r%d" % n, "r%d" % (n + 1), intfName1="r%d-right" % n, intfName2="r%d-left" % (n + 1),
                         params1={"ip": "10.%d.0.1/24" % n}, params2={"ip": "10.%d.0.2/24" % n})
        self.addHost("h1", ip="10.0.0.2/24", defaultRoute="via 10.0.0.1")
        self.addHost("h2", ip="10.%d.0.2/24" % N, defaultRoute="via 10.%d.0.1" % N)
        self.addLink("h1", "r1", intfName2="r1-left", params2={"ip": "10.0.0.1/24"})
        self.addLink("h2", "r%d" % N, intfName2="r%d-right" % N, params2={"ip": "10.%d.0.1/24" % N})


def run():
    net = Mininet(topo=NetworkTopo(), controller=None)
    net.start()
    for n in range(1, N + 1):
        router = net["r%d" % n]
        router.cmd("tc qdisc add dev r%d-right root netem delay 10ms" % n)
        for subnet in range(N + 1):
            if subnet < n - 1:
                router.cmd("ip route add 10.%d.0.0/24 via 10.%d.0.1" % (subnet, n - 1))
            elif subnet > n:
                router.cmd("ip route add 10.%d.0.0/24 via 10.%d.0.2" % (subnet, n))
    net["h1"].cmd("ping -c 1 10.%d.0.2" % N)  # or the first probes wait for ARP on each link
    print(net["h1"].cmd("traceroute -n 10.%d.0.2" % N))
    print(net["h1"].cmd("ping -c 1 -t 3 10.%d.0.2" % N))
    print(net["h1"].cmd("mtr -n -r -c 5 10.%d.0.2" % N))
    print(net["h1"].cmd("tracepath -n 10.%d.0.2 | tail -1" % N))
    net.stop()


run()
