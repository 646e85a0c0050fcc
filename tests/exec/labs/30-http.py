#!/usr/bin/env python3
"""A web server with nginx and clients at different distances: time to the first byte and to the last."""

import os

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo

DELAYS_MS = [5, 20, 80]


class Star(Topo):
    def build(self):
        s1 = self.addSwitch("s1")
        self.addLink(self.addHost("web"), s1, bw=100)
        for delay in DELAYS_MS:
            self.addLink(self.addHost("c%d" % delay), s1, bw=8, delay="%dms" % delay)


if __name__ == "__main__":
    setLogLevel("warning")
    net = Mininet(Star(), link=TCLink)
    net.start()
    net.pingAll()
    web = net["web"]
    os.makedirs("/tmp/www", exist_ok=True)
    os.system("head -c 2000000 /dev/urandom > /tmp/www/big; echo hello > /tmp/www/small")
    with open("/tmp/nginx.conf", "w") as f:
        f.write("events {}\nerror_log /tmp/nginx.err;\npid /tmp/nginx.pid;\nuser root;\n"
                "http { access_log off; server { listen 80; root /tmp/www; } }\n")
    web.cmd("nginx -c /tmp/nginx.conf")
    for delay in DELAYS_MS:
        client = net["c%d" % delay]
        for page in ("small", "big"):
            out = client.cmd("curl -s -o /dev/null -w '%%{time_connect} %%{time_starttransfer} %%{time_total}' http://%s/%s" % (web.IP(), page))
            connect, first, total = (float(x) for x in out.split())
            print("delay %d ms, %s: connect %.3f s, first byte %.3f s, total %.3f s" % (delay, page, connect, first, total))
    web.cmd("nginx -c /tmp/nginx.conf -s stop")
    net.stop()
