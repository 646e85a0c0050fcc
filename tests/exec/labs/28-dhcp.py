#!/usr/bin/python3
"""DHCP: clients without addresses ask dnsmasq for one."""

import time

from mininet.log import setLogLevel, info
from mininet.net import Mininet
from mininet.node import OVSBridge


def dhcp_lab():
    net = Mininet(controller=None, switch=OVSBridge, autoSetMacs=True)
    s1 = net.addSwitch("s1")
    server = net.addHost("dhcp", ip="192.168.7.1/24")
    net.addLink(server, s1)
    clients = [net.addHost("c%d" % n, ip=None) for n in (1, 2, 3)]
    for client in clients:
        net.addLink(client, s1)
    net.start()
    server.cmd("dnsmasq --port=0 --interface=dhcp-eth0 --bind-interfaces --dhcp-range=192.168.7.50,192.168.7.99,1h "
               "--dhcp-option=3,192.168.7.1 --dhcp-leasefile=/tmp/leases --pid-file=/tmp/dnsmasq.pid --user=root")
    time.sleep(1)
    for client in clients:
        start = time.time()
        client.cmd("dhclient -1 -v -lf /tmp/%s.lease -pf /tmp/%s.pid %s" % (client, client, client.defaultIntf()))
        address = client.cmd("ip -4 -o addr show dev %s" % client.defaultIntf()).split()
        print("%s has %s after %.1f s" % (client, address[3] if len(address) > 3 else "nothing", time.time() - start))
    print("leases:", server.cmd("wc -l < /tmp/leases").strip())
    print(clients[0].cmd("ip route show default"))
    info(clients[0].cmd("ping -c 1 192.168.7.1"))
    net.stop()


if __name__ == "__main__":
    setLogLevel("info")
    dhcp_lab()
