#!/usr/bin/env python3
"""nftables on a host: a set of blocked addresses, counters, a limit of 5 pings per second."""

import json

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

RULESET = """
table inet lab {
  set blocked { type ipv4_addr; elements = { 10.0.0.3 } }
  counter dropped { }
  chain input {
    type filter hook input priority filter; policy accept;
    ip saddr @blocked counter name dropped drop
    icmp type echo-request limit rate over 5/second burst 1 packets drop
    tcp dport { 22, 25 } reject with tcp reset
  }
}
"""

net = Mininet(topo=SingleSwitchTopo(3))
net.start()
h1, h2, h3 = net.hosts
with open("lab.nft", "w") as f:
    f.write(RULESET)
print(h2.cmd("nft -f lab.nft"), end="")
h3.cmd("ping -c 4 -i 0.5 -W 0.5 10.0.0.2")
counters = json.loads(h2.cmd("nft -j list counter inet lab dropped"))
print("blocked packets:", [c["counter"]["packets"] for c in counters["nftables"] if "counter" in c][0])
print("allowed:", h1.cmd("ping -c 5 -i 0.5 10.0.0.2 | grep received"))
print("limited:", h1.cmd("ping -c 100 -i 0.02 -W 1 10.0.0.2 | grep received"))
print("smtp:", h1.cmd("curl -sS -m 2 telnet://10.0.0.2:25 2>&1"))
net.stop()
