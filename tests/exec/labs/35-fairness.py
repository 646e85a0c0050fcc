"""Jain's index of n TCP flows, with equal and with different round-trip times; a plot of the rates."""

import json
import time

import matplotlib.pyplot as plt
import numpy as np
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Pairs(Topo):
    def build(self, delays):
        s1, s2 = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(s1, s2, bw=20, max_queue_size=60)
        for i, delay in enumerate(delays, 1):
            self.addLink(self.addHost(f"c{i}"), s1, delay=f"{delay}ms")
            self.addLink(self.addHost(f"d{i}"), s2)


def jain(x):
    return np.sum(x) ** 2 / (len(x) * np.sum(np.square(x)))


fig, axes = plt.subplots(1, 2, figsize=(9, 4))
for axis, (title, delays) in zip(axes, {"equal": [10] * 4, "different": [2, 10, 25, 50]}.items()):
    net = Mininet(topo=Pairs(delays), link=TCLink)
    net.start()
    n = len(delays)
    for i in range(1, n + 1):
        net[f"d{i}"].cmd("iperf3 -s -D")
    time.sleep(1)
    clients = [net[f"c{i}"].popen(f"iperf3 -J -C reno -t 60 -c {net[f'd{i}'].IP()}") for i in range(1, n + 1)]
    answers = [json.loads(c.communicate()[0]) for c in clients]
    rates = np.array([a["end"]["sum_received"]["bits_per_second"] / 1e6 for a in answers])
    print(f"{title}: rates {np.round(rates, 2)}, sum {rates.sum():.2f} Mbit/s, Jain's index {jain(rates):.3f}")
    for i, a in enumerate(answers):
        axis.plot([s["sum"]["end"] for s in a["intervals"]], [s["sum"]["bits_per_second"] / 1e6 for s in a["intervals"]], label=f"{delays[i]} ms")
    axis.set_title(title)
    axis.legend()
    net.stop()
fig.savefig("fairness.png")
