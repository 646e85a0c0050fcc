"""IPv6: autoconfiguration by router advertisements, ping6 and a trace through two routers."""

import time

from mininet.log import setLogLevel
from mininet.net import Mininet

RADVD = """interface %s { AdvSendAdvert on; MinRtrAdvInterval 3; MaxRtrAdvInterval 4; prefix %s { AdvAutonomous on; }; };
"""


def main():
    net = Mininet(controller=None)
    h1, r1, r2, h2 = (net.addHost(name, ip=None) for name in ("h1", "r1", "r2", "h2"))
    net.addLink(h1, r1)
    net.addLink(r1, r2)
    net.addLink(r2, h2)
    net.build()
    for r in (r1, r2):
        r.cmd("sysctl -w net.ipv6.conf.all.forwarding=1")
    r1.cmd("ip -6 addr add 2001:db8:1::1/64 dev r1-eth0; ip -6 addr add 2001:db8:f::1/64 dev r1-eth1")
    r2.cmd("ip -6 addr add 2001:db8:f::2/64 dev r2-eth0; ip -6 addr add 2001:db8:2::1/64 dev r2-eth1")
    r1.cmd("ip -6 route add 2001:db8:2::/64 via 2001:db8:f::2")
    r2.cmd("ip -6 route add 2001:db8:1::/64 via 2001:db8:f::1")
    r1.cmd("tc qdisc add dev r1-eth1 root netem delay 15ms")
    for r, intf, prefix in ((r1, "r1-eth0", "2001:db8:1::/64"), (r2, "r2-eth1", "2001:db8:2::/64")):
        with open("/tmp/%s.conf" % r.name, "w") as f:
            f.write(RADVD % (intf, prefix))
        r.cmd("radvd -C /tmp/%s.conf -p /tmp/%s.pid -m stderr -n > /tmp/%s.log 2>&1 &" % ((r.name,) * 3))
    time.sleep(15)
    address = h2.cmd("ip -6 -o addr show dev h2-eth0 scope global").split()[3].split("/")[0]
    print("h2 chose", address)
    h1.cmd("ping -6 -c 1", address)  # waits for neighbour discovery
    print(h1.cmd("ping -6 -c 5", address))
    print(h1.cmd("traceroute -6 -n -q 1", address))
    print(h1.cmd("ip -6 route show default"))
    net.stop()


setLogLevel("output")
main()
