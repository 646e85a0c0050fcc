"""Two data centres joined by VXLAN over a routed core; what fits into a packet?"""

from mininet.net import Mininet
from mininet.node import Node


class Router(Node):
    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")


net = Mininet(controller=None)
core = net.addHost("core", cls=Router, ip=None)
for n in (1, 2):
    vtep = net.addHost(f"v{n}", cls=Router, ip=None)
    host = net.addHost(f"h{n}", ip=f"172.16.0.{n}/24")
    net.addLink(vtep, core, params1={"ip": f"192.0.{n}.1/24"}, params2={"ip": f"192.0.{n}.254/24"})
    net.addLink(host, vtep)
net.build()
for n in (1, 2):
    vtep = net[f"v{n}"]
    vtep.cmd(f"ip route add default via 192.0.{n}.254")
    vtep.cmd(f"ip link add vx0 type vxlan id 42 local 192.0.{n}.1 remote 192.0.{3 - n}.1 dstport 4789")
    vtep.cmd("ip link add br0 type bridge; ip link set br0 up; ip link set vx0 up")
    vtep.cmd(f"ip link set vx0 master br0; ip link set v{n}-eth1 master br0")
core.cmd("tc qdisc add dev core-eth1 root netem delay 30ms")
capture = core.popen("tcpdump -i core-eth0 -w vxlan.pcap udp port 4789")
net["h1"].cmd("ping -c 1 172.16.0.2")
print(net["h1"].cmd("ping -c 4 172.16.0.2"))
for size in (1422, 1423):
    net["h1"].cmd("ip link set h1-eth0 mtu 1500")
    answer = net["h1"].cmd(f"ping -M do -c 1 -W 1 -s {size} 172.16.0.2")
    print(size, "bytes:", "fits" if "1 received" in answer else "does not fit")
capture.terminate()
capture.wait()
print(net["core"].cmd("tshark -r vxlan.pcap -T fields -e vxlan.vni 2>/dev/null | sort | uniq -c"))
net.stop()
