#!/usr/bin/python
"""Performance test with limited hosts and shaped links, as in Mininet's walkthrough."""

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.topo import Topo
from mininet.util import dumpNodeConnections


class SingleSwitchTopo(Topo):
    def build(self, n=2):
        switch = self.addSwitch("s1")
        for h in range(n):
            host = self.addHost("h%s" % (h + 1), cpu=0.5 / n)
            self.addLink(host, switch, bw=10, delay="5ms", loss=2, max_queue_size=1000, use_htb=True)


def perfTest():
    net = Mininet(topo=SingleSwitchTopo(n=4), host=CPULimitedHost, link=TCLink)
    net.start()
    print("Dumping host connections")
    dumpNodeConnections(net.hosts)
    print("Testing network connectivity")
    net.pingAll()
    print("Testing bandwidth between h1 and h4")
    net.iperf((net.get("h1"), net.get("h4")))
    net.stop()


if __name__ == "__main__":
    setLogLevel("info")
    perfTest()
