"""A resolver with a cache: how long does the first question take, and the second?"""

import re
import time

from mininet.net import Mininet
from mininet.link import TCLink
from mininet.node import OVSBridge

net = Mininet(controller=None, link=TCLink, switch=OVSBridge)
client, resolver, root = (net.addHost(n) for n in ("client", "resolver", "root"))
s1 = net.addSwitch("s1")
net.addLink(client, s1, delay="2ms")
net.addLink(resolver, s1, delay="3ms")
net.addLink(root, s1, delay="40ms")
net.start()
net.pingAll()
common = "--no-resolv --no-hosts --bind-interfaces --user=root --no-daemon"
root.cmd(f"dnsmasq {common} --listen-address={root.IP()} --address=/www.example.com/93.184.216.34 --local-ttl=300 &")
resolver.cmd(f"dnsmasq {common} --listen-address={resolver.IP()} --server={root.IP()} --cache-size=100 &")
time.sleep(2)
for turn in ("first", "second"):
    out = client.cmd(f"dig @{resolver.IP()} www.example.com")
    print(turn, "answer:", re.search(r"IN\s+A\s+(\d\S+)", out).group(1), "after", re.search(r"Query time: (\d+)", out).group(1), "msec")
print(client.cmd(f"dig +short @{resolver.IP()} nothing.example.org; nslookup www.example.com {resolver.IP()} | tail -3"))
net.stop()
