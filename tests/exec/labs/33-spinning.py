"""Sends datagrams at a fixed rate for ten seconds, as a beginner paces them: by looking at the clock."""

import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import MinimalTopo

SENDER = """
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end = time.time() + 10
next_one, sent = time.time(), 0
while time.time() < end:
    if time.time() >= next_one:
        s.sendto(b"x" * 972, ("10.0.0.2", 9999))
        sent += 1
        next_one += 0.02
print("sent", sent)
"""
RECEIVER = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("0.0.0.0", 9999))
s.settimeout(3)
got = 0
try:
    while True:
        s.recv(2000)
        got += 1
except TimeoutError:
    print("got", got)
"""
net = Mininet(MinimalTopo(), link=TCLink)
net.start()
for link in net.links:
    link.intf1.config(bw=1)
for name, text in (("sender.py", SENDER), ("receiver.py", RECEIVER)):
    open(name, "w").write(text)
receiver = net["h2"].popen("python3 receiver.py")
start = time.time()
while time.time() - start < 1:
    pass
print(net["h1"].cmd("python3 sender.py").strip())
print(receiver.communicate()[0].decode().strip())
print("it took %.0f s" % (time.time() - start))
net.stop()
