#!/usr/bin/python
"""A custom topology: two departments behind a core, one slow link between them."""

from functools import partial

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import Controller, OVSKernelSwitch
from mininet.topo import Topo


class Campus(Topo):
    def build(self, hosts=3, uplink=4):
        core = [self.addSwitch("s1"), self.addSwitch("s2")]
        self.addLink(core[0], core[1], bw=uplink, delay="10ms", max_queue_size=50)
        for department, switch in enumerate(core, 1):
            for number in range(1, hosts + 1):
                host = self.addHost(f"d{department}h{number}", ip=f"10.0.{department}.{number}/16")
                self.addLink(host, switch, bw=100)


topos = {"campus": Campus}


def main():
    net = Mininet(topo=Campus(), link=TCLink, switch=partial(OVSKernelSwitch, failMode="secure"), controller=Controller)
    net.start()
    print("dropped:", net.pingAll(timeout=1), "%")
    servers = [net.get(f"d2h{n}") for n in (1, 2, 3)]
    for server in servers:
        server.cmd("iperf -s &")
    clients = [net.get(f"d1h{n}").popen(f"iperf -c 10.0.2.{n} -t 30 -y C") for n in (1, 2, 3)]
    total = 0
    for number, client in enumerate(clients, 1):
        out, _ = client.communicate()
        rate = int(out.decode().strip().split(",")[-1]) / 1e6
        total += rate
        print(f"d1h{number}: {rate:.2f} Mbit/s")
    print(f"together: {total:.2f} Mbit/s")
    net.stop()


if __name__ == "__main__":
    main()
