"""GRE, IPIP and 6in4 between two sites; what does each tunnel cost per packet?"""

from mininet.cli import CLI
from mininet.net import Mininet
from mininet.link import TCLink

net = Mininet(controller=None, link=TCLink)
a = net.addHost("a", ip="198.51.100.1/24")
b = net.addHost("b", ip="198.51.100.2/24")
net.addLink(a, b, bw=10, delay="5ms")
net.build()
for mode, mine, yours in (("gre", "10.1.0", "10.1.0"), ("ipip", "10.2.0", "10.2.0")):
    for host, n, peer in ((a, 1, b), (b, 2, a)):
        host.cmd(f"ip tunnel add t-{mode} mode {mode} local {host.IP()} remote {peer.IP()} ttl 64")
        host.cmd(f"ip addr add {mine}.{n}/30 dev t-{mode}; ip link set t-{mode} up")
for host, n, peer in ((a, 1, b), (b, 2, a)):
    host.cmd(f"ip tunnel add t-sit mode sit local {host.IP()} remote {peer.IP()} ttl 64")
    host.cmd(f"ip -6 addr add 2001:db8::{n}/64 dev t-sit nodad; ip link set t-sit up")
for name, target in (("gre", "10.1.0.2"), ("ipip", "10.2.0.2"), ("sit", "2001:db8::2")):
    mtu = a.cmd(f"cat /sys/class/net/t-{name}/mtu").strip()
    answer = a.cmd(f"ping -c 3 {target} | tail -1").strip()
    print(f"{name}: mtu {mtu}, {answer}")
b.cmd("iperf3 -s -D; sleep 1")
print(a.cmd("iperf3 -c 10.1.0.2 -t 10 | grep receiver"))
net.stop()
