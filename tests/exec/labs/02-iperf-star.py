"""How much of a 10 Mbit/s link does iperf see?"""

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo
from mininet.util import dumpNodeConnections

setLogLevel("info")
net = Mininet(topo=SingleSwitchTopo(4, lopts=dict(bw=10)), link=TCLink)
net.start()
dumpNodeConnections(net.hosts)
net.pingAll()
result = net.iperf((net["h1"], net["h4"]), seconds=10)
print("*** TCP:", result)
result = net.iperf((net["h2"], net["h3"]), l4Type="UDP", udpBw="5M", seconds=10)
print("*** UDP:", result)
net.stop()
