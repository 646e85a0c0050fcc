#!/usr/bin/env python3
"""Four switches in a row, 5 ms per link: how long does a packet take from one end to the other?"""

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import LinearTopo


class SlowLinear(LinearTopo):
    def addLink(self, *nodes, **options):
        return super().addLink(*nodes, delay="5ms", **options)


if __name__ == "__main__":
    setLogLevel("info")
    net = Mininet(topo=SlowLinear(k=4), link=TCLink)
    net.start()
    h1, h4 = net.get("h1", "h4")
    h1.cmd("ping -c 1", h4.IP())  # ARP and the controller
    print(h1.cmd("ping -c 10", h4.IP()))
    net.stop()
