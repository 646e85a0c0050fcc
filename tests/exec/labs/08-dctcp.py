"""DCTCP at a switch that marks above 20 packets, and CUBIC at one with 200 packets of buffer."""

import re
from time import sleep

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Rack(Topo):
    def build(self, n=3, ecn=False):
        switch = self.addSwitch("s1")
        for i in range(n):
            host = self.addHost("h%d" % (i + 1))
            if i == n - 1:
                self.addLink(host, switch, bw=100, enable_ecn=ecn, max_queue_size=None if ecn else 200)
            else:
                self.addLink(host, switch, delay="1ms")


def run(cong):
    net = Mininet(topo=Rack(ecn=cong == "dctcp"), link=TCLink)
    net.start()
    h1, h2, h3 = net.hosts
    for host in net.hosts:
        host.cmd("sysctl -w net.ipv4.tcp_ecn=%d" % (1 if cong == "dctcp" else 0))
        host.cmd("sysctl -w net.ipv4.tcp_congestion_control=" + cong)
        host.cmd("ethtool -K %s tso off gso off gro off" % host.defaultIntf())
    port = net["s1"].connectionsTo(h3)[0][0]
    h3.cmd("iperf3 -s -p 5001 -D; iperf3 -s -p 5002 -D")
    sleep(1)
    for number, host in enumerate((h1, h2), 1):
        host.cmd("iperf3 -c %s -p 500%d -t 10 > %s-%d.txt &" % (h3.IP(), number, cong, number))
    queue = []
    for _ in range(80):
        sleep(0.1)
        stats = net["s1"].cmd("tc -s qdisc show dev %s" % port)
        queue.append(int(re.findall(r"backlog \S+ (\d+)p", stats)[-1]))
    sleep(6)
    marked = re.search(r"marked ([1-9]\d*)", net["s1"].cmd("tc -s qdisc show dev %s" % port))
    rates = [float(re.findall(r"([\d.]+) Mbits/sec.*receiver", open("%s-%d.txt" % (cong, n)).read())[0]) for n in (1, 2)]
    late = sorted(queue[20:])
    print("%s: sum of goodput %.1f Mbit/s, median queue %d packets, marked %s" % (
        cong, sum(rates), late[len(late) // 2], "some" if marked else "none"))
    net.stop()


run("dctcp")
run("cubic")
