"""What netem does: loss, jitter, duplicates and reordering, each counted by a thousand pings."""

import re
import subprocess

from mininet.net import Mininet
from mininet.topo import MinimalTopo

net = Mininet(MinimalTopo())
net.start()
h1, h2 = net["h1"], net["h2"]
for options in ("loss 10%", "delay 50ms 10ms distribution normal", "delay 20ms duplicate 5%", "loss gemodel 1% 10% 70% 0.1%"):
    h1.cmd("tc qdisc replace dev h1-eth0 root netem", options)
    out = h1.cmd("ping -q -i 0.1 -c 1000", h2.IP())
    loss = re.search(r"([\d.]+)% packet loss", out).group(1)
    duplicates = re.search(r"\+(\d+) duplicates", out)
    rtt = re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+)", out)
    print("netem %s: %s %% lost, %s duplicates, mean %s ms, deviation %s ms" % (
        options, loss, duplicates.group(1) if duplicates else 0, rtt.group(2), rtt.group(4)))
subprocess.call("sudo mn -c > /dev/null 2>&1", shell=True)
