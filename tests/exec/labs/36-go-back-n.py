"""Go-Back-N over UDP, written by hand: the larger the window, the better a long link is used."""

import sys
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSBridge

PEER = r'''
import select, socket, struct, sys, time
role, window = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
TOTAL, SIZE, TIMEOUT = 300, 1000, 0.5
if role == "receiver":
    s.bind(("", 7000))
    expected = 0
    while expected < TOTAL:
        data, peer = s.recvfrom(2000)
        (number,) = struct.unpack("!I", data[:4])
        if number == expected:
            expected += 1
        s.sendto(struct.pack("!I", expected), peer)
    s.settimeout(2)
    try:
        while True:
            _, peer = s.recvfrom(2000)
            s.sendto(struct.pack("!I", expected), peer)
    except OSError:
        pass
else:
    base = following = 0
    sent = 0
    start = time.time()
    deadline = None
    while base < TOTAL:
        while following < min(base + window, TOTAL):
            s.sendto(struct.pack("!I", following) + b"." * SIZE, ("10.0.0.2", 7000))
            following += 1
            sent += 1
            deadline = deadline or time.time() + TIMEOUT
        ready, _, _ = select.select([s], [], [], max(0, deadline - time.time()))
        if ready:
            (ack,) = struct.unpack("!I", s.recv(100))
            if ack > base:
                base, deadline = ack, time.time() + TIMEOUT
        else:
            following, deadline = base, None
    print("%.2f s, %d packets" % (time.time() - start, sent))
'''
loss = float(sys.argv[1]) if len(sys.argv) > 1 else 0
with open("peer.py", "w") as f:
    f.write(PEER)
for window in (1, 10):
    net = Mininet(controller=None, switch=OVSBridge, link=TCLink)
    h1, h2, s1 = net.addHost("h1", ip="10.0.0.1"), net.addHost("h2", ip="10.0.0.2"), net.addSwitch("s1")
    net.addLink(h1, s1, bw=10, delay="25ms", loss=loss)
    net.addLink(s1, h2, bw=10, delay="25ms")
    net.start()
    net.ping([h1, h2])
    receiver = h2.popen([sys.executable, "peer.py", "receiver", str(window)])
    time.sleep(0.5)
    print("window %d: %s" % (window, h1.cmd("python3 peer.py sender %d" % window).strip()))
    receiver.wait()
    net.stop()
