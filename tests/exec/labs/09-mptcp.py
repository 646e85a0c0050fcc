"""Two paths of 5 Mbit/s each: does Multipath TCP use both?"""

import json
from time import sleep

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSBridge

net = Mininet(controller=None, link=TCLink, switch=OVSBridge)
client, server = net.addHost("client"), net.addHost("server")
for number in (1, 2):
    switch = net.addSwitch("s%d" % number)
    net.addLink(client, switch, bw=5, delay="10ms", max_queue_size=50)
    net.addLink(switch, server, bw=5, delay="10ms", max_queue_size=50)
net.start()
for number in (0, 1):
    client.setIP("10.0.%d.1/24" % number, intf="client-eth%d" % number)
    server.setIP("10.0.%d.2/24" % number, intf="server-eth%d" % number)
for host in (client, server):
    host.cmd("ip mptcp limits set subflow 2 add_addr_accepted 2")
client.cmd("ip mptcp endpoint add 10.0.1.1 dev client-eth1 subflow")
server.cmd("ip mptcp endpoint add 10.0.1.2 dev server-eth1 signal")


def rate(prefix, port):
    server.cmd(f"{prefix} iperf3 -s -p {port} > server-{port}.txt 2>&1 &")
    sleep(1)
    answer = json.loads(client.cmd(f"{prefix} iperf3 -c 10.0.0.2 -p {port} -t 20 -J"))
    return answer["end"]["sum_received"]["bits_per_second"] / 1e6


print("TCP:   %.2f Mbit/s" % rate("", 5201))
print("MPTCP: %.2f Mbit/s" % rate("mptcpize run", 5202))
print(client.cmd("nstat -az MPTcpExtMPJoinSynAckRx | tail -1"))
net.stop()
