#!/usr/bin/env python3
"""A VPN by WireGuard over a lossy network: keys, handshake, throughput, and that nothing can be read."""

import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Internet(Topo):
    def build(self):
        s = self.addSwitch("s1")
        for name in ("office", "home"):
            self.addLink(self.addHost(name), s, bw=20, delay="10ms")


def main():
    net = Mininet(Internet(), link=TCLink)
    net.start()
    office, home = net["office"], net["home"]
    keys = {}
    for h in (office, home):
        h.cmd("umask 077; wg genkey > /tmp/%s.key" % h)
        keys[h] = h.cmd("wg pubkey < /tmp/%s.key" % h).strip()
    for n, (h, peer) in enumerate(((office, home), (home, office)), 1):
        h.cmd("ip link add wg0 type wireguard; ip addr add 10.8.0.%d/24 dev wg0" % n)
        h.cmd("wg set wg0 private-key /tmp/%s.key listen-port 51820 peer %s allowed-ips 10.8.0.0/24 endpoint %s:51820"
              % (h, keys[peer], peer.IP()))
        h.cmd("ip link set wg0 up")
    dump = office.popen("tcpdump -i office-eth0 -A -l")
    print(home.cmd("ping -c 5 10.8.0.1 | tail -2"))
    office.cmd("echo 'the secret recipe' > /tmp/secret; nc -l -N -p 7777 < /tmp/secret &")
    time.sleep(1)
    print("got:", home.cmd("nc -d 10.8.0.1 7777").strip())
    dump.terminate()
    seen = dump.communicate()[0].decode(errors="replace")
    print("seen on the wire:", "secret" in seen)
    office.cmd("iperf3 -s -D; sleep 1")
    print(home.cmd("iperf3 -c 10.8.0.1 -t 10 | grep receiver"))
    print(office.cmd("wg show wg0 | grep -c 'latest handshake'"))
    net.stop()


main()
