"""Two customers with the same addresses on one router, kept apart by VRFs."""

from mininet.net import Mininet

net = Mininet(controller=None)
pe = net.addHost("pe", ip=None)
pairs = {}
for customer in ("red", "blue"):
    left = net.addHost(f"{customer}1", ip="10.0.1.2/24", defaultRoute="via 10.0.1.1")
    right = net.addHost(f"{customer}2", ip="10.0.2.2/24", defaultRoute="via 10.0.2.1")
    net.addLink(left, pe, intfName2=f"{customer}-a")
    net.addLink(right, pe, intfName2=f"{customer}-b")
    pairs[customer] = (left, right)
net.build()
pe.cmd("sysctl -w net.ipv4.ip_forward=1")
for n, customer in enumerate(pairs, 1):
    pe.cmd(f"ip link add vrf-{customer} type vrf table {n * 10}; ip link set vrf-{customer} up")
    for side, subnet in (("a", 1), ("b", 2)):
        pe.cmd(f"ip link set {customer}-{side} master vrf-{customer} up; ip addr add 10.0.{subnet}.1/24 dev {customer}-{side}")
for customer, (left, right) in pairs.items():
    right.cmd(f"mkdir -p /tmp/{customer}; cd /tmp/{customer}; echo hello {customer} > index.html; python3 -m http.server 80 > /dev/null 2>&1 &")
    left.cmd("sleep 1")
    print(f"{customer}: {left.cmd('curl -s -m 3 10.0.2.2').strip()}")
print(pe.cmd("ip vrf show"))
net.stop()
