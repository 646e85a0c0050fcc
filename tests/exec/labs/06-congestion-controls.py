"""Reno, CUBIC, Vegas and BBR alone on 10 Mbit/s and 40 ms with a deep buffer: rate and round-trip time."""

import json
import re
import time

from mininet.net import Mininet
from mininet.link import TCLink
from mininet.topo import Topo


class Dumbbell(Topo):
    def build(self):
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(self.addHost("h1"), left, delay="10ms")
        self.addLink(left, right, bw=10, max_queue_size=200)
        self.addLink(right, self.addHost("h2"), delay="10ms")


for algorithm in ["reno", "cubic", "vegas", "bbr"]:
    net = Mininet(topo=Dumbbell(), link=TCLink)
    net.start()
    h1, h2 = net.get("h1", "h2")
    h1.cmd("ethtool -K h1-eth0 tso off gso off")
    h2.cmd("iperf3 -s -D")
    time.sleep(1)
    h1.cmd(f"ping -i 0.2 -c 140 {h2.IP()} > ping-{algorithm}.txt &")
    answer = json.loads(h1.cmd(f"iperf3 -c {h2.IP()} -C {algorithm} -t 30 -J"))
    rate = answer["end"]["sum_received"]["bits_per_second"] / 1e6
    rtts = [float(x) for x in re.findall(r"time=([0-9.]+)", open(f"ping-{algorithm}.txt").read())]
    late = sorted(rtts[len(rtts) // 2 :])
    print(f"{algorithm:6} {rate:6.2f} Mbit/s  median rtt {late[len(late) // 2]:6.1f} ms  "
          f"retransmits {answer['end']['sum_sent']['retransmits']}")
    h2.cmd("kill %iperf3; pkill iperf3")
    net.stop()
