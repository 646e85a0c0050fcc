"""VLANs by Open vSwitch: two tenants share two switches and the same trunk, a router on a stick joins them."""

from mininet.net import Mininet
from mininet.node import OVSSwitch
from mininet.log import setLogLevel


def vlan_lab():
    net = Mininet(controller=None)
    s1, s2 = (net.addSwitch(name, cls=OVSSwitch, failMode="standalone") for name in ("s1", "s2"))
    hosts = {}
    for tenant, tag in (("red", 10), ("blue", 20)):
        for number, switch in ((1, s1), (2, s2)):
            name = "%s%d" % (tenant, number)
            hosts[name] = net.addHost(name, ip="10.0.%d.%d/24" % (tag, number), defaultRoute="via 10.0.%d.254" % tag)
            net.addLink(hosts[name], switch)
    trunk = net.addLink(s1, s2)
    router = net.addHost("r1", ip=None)
    stick = net.addLink(router, s2)
    net.start()
    for name, host in hosts.items():
        tag = 10 if name.startswith("red") else 20
        (link,) = [l for l in net.links if host in (l.intf1.node, l.intf2.node)]
        switch_port = link.intf2
        switch_port.node.cmd("ovs-vsctl set port %s tag=%d" % (switch_port, tag))
    for port in (trunk.intf1, trunk.intf2, stick.intf2):
        port.node.cmd("ovs-vsctl set port %s trunks=10,20" % port)

    def ping(a, b):
        return "ok" if "1 received" in hosts[a].cmd("ping -c 1 -W 1 %s" % hosts[b].IP()) else "no answer"

    print("red1 -> red2:", ping("red1", "red2"))
    print("blue1 -> blue2:", ping("blue1", "blue2"))
    print("red1 -> blue2 without a router:", ping("red1", "blue2"))
    for tag in (10, 20):
        router.cmd("vconfig add r1-eth0 %d; ip addr add 10.0.%d.254/24 dev r1-eth0.%d; ip link set r1-eth0.%d up" % ((tag,) * 4))
    router.cmd("sysctl -w net.ipv4.ip_forward=1")
    print("red1 -> blue2 through the router:", ping("red1", "blue2"))
    net.stop()


if __name__ == "__main__":
    setLogLevel("warning")
    vlan_lab()
