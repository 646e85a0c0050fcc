#!/usr/bin/python3
"""Bufferbloat at home: a download fills the modem's queue. How long does a web page take meanwhile?"""

import math
import os
import re
from argparse import ArgumentParser
from multiprocessing import Process
from time import sleep, time

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo

parser = ArgumentParser(description="Bufferbloat tests")
parser.add_argument("--bw-host", "-B", type=float, default=100, help="Bandwidth of host links (Mb/s)")
parser.add_argument("--bw-net", "-b", type=float, default=1.5, help="Bandwidth of bottleneck link (Mb/s)")
parser.add_argument("--delay", type=float, default=10, help="Link propagation delay (ms)")
parser.add_argument("--time", "-t", type=int, default=60, help="Duration (s)")
parser.add_argument("--cong", default="reno", help="Congestion control algorithm to use")
args = parser.parse_args()


class BBTopo(Topo):
    def build(self, maxq=100):
        h1, h2 = self.addHost("h1"), self.addHost("h2")
        switch = self.addSwitch("s0", dpid="1")
        self.addLink(h1, switch, bw=args.bw_host, delay="%fms" % args.delay)
        self.addLink(switch, h2, bw=args.bw_net, delay="%fms" % args.delay, max_queue_size=maxq)


def monitor_qlen(iface, fname, interval_sec=0.1):
    pat_queued = re.compile(r"backlog\s[^\s]+\s([\d]+)p")
    with open(fname, "w") as f:
        while 1:
            output = os.popen("tc -s qdisc show dev %s" % iface).read()
            matches = pat_queued.findall(output)
            if matches and len(matches) > 1:
                f.write("%f,%s\n" % (time(), matches[1]))
                f.flush()
            sleep(interval_sec)


def bufferbloat(maxq):
    directory = "q%d" % maxq
    os.makedirs(directory, exist_ok=True)
    os.system("sysctl -q -w net.ipv4.tcp_congestion_control=%s" % args.cong)
    net = Mininet(topo=BBTopo(maxq), link=TCLink)
    net.start()
    h1, h2 = net.get("h1"), net.get("h2")
    for host in (h1, h2):
        host.cmd("ethtool -K %s tso off gso off gro off" % host.defaultIntf())
    net.pingAll()
    qmon = Process(target=monitor_qlen, args=("s0-eth2", "%s/q.txt" % directory))
    qmon.start()
    h2.popen("iperf -s -w 16m")
    h1.popen("iperf -c %s -t %d" % (h2.IP(), args.time))
    h1.popen("ping -i 0.1 %s > %s/ping.txt" % (h2.IP(), directory), shell=True)
    webserver = h1.popen("python3 -m http.server 80")
    sleep(2)
    fetches = []
    start = time()
    while time() - start < args.time - 5:
        fetches.append(float(h2.cmd("curl -o /dev/null -s -w %%{time_total} %s/lab.html" % h1.IP())))
        sleep(5)
    webserver.terminate()
    qmon.terminate()
    net.stop()
    os.system("pkill -f iperf; pkill ping")
    mean = sum(fetches) / len(fetches)
    print("q=%d: fetches %d, mean %.3f s, sd %.3f s" % (
        maxq, len(fetches), mean, math.sqrt(sum((f - mean) ** 2 for f in fetches) / len(fetches))))
    rtts = [float(m) for m in re.findall(r"time=([\d.]+)", open("%s/ping.txt" % directory).read())]
    print("q=%d: largest ping %.0f ms, smallest %.1f ms" % (maxq, max(rtts), min(rtts)))
    queue = [int(line.split(",")[1]) for line in open("%s/q.txt" % directory)]
    print("q=%d: longest queue %d packets" % (maxq, max(queue)))
    plt.figure()
    plt.plot(rtts)
    plt.ylabel("RTT (ms)")
    plt.savefig("%s/ping.png" % directory)


if __name__ == "__main__":
    with open("lab.html", "w") as page:
        page.write("x" * 10000)
    for q in (20, 100):
        bufferbloat(q)
