#!/usr/bin/python3
"""Video by HTTP, as HLS: a player takes the best of three qualities that came fast enough; the switch asks os-ken."""

import os
import subprocess
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import RemoteController
from mininet.topo import SingleSwitchTopo

SECONDS, SEGMENTS = 2, 30
RATES = {"low": 500_000, "middle": 1_500_000, "high": 6_000_000}
PLAYER = """
import subprocess, time
rates, fast, taken, began, stalled = {rates}, 0, [], time.time(), 0.0
base = "http://10.0.0.1:8000/"
playlist = subprocess.check_output(["curl", "-s", base + "low.m3u8"], text=True)
due = None
for number in range(playlist.count("#EXTINF")):
    quality = [name for name, rate in rates.items() if rate < 0.8 * fast or name == "low"][-1]
    start = time.time()
    size = len(subprocess.check_output(["curl", "-s", base + "%s-%d.ts" % (quality, number)]))
    now = time.time()
    fast = size * 8 / (now - start)
    taken.append(quality)
    if due is None:
        due = now
    stalled += max(0, now - due)
    due = max(due, now) + {seconds}
    time.sleep(max(0, due - now - 10))
print("taken: low %d, middle %d, high %d" % tuple(taken.count(name) for name in rates))
print("last segment came with %.2f Mbit/s; stalled %.1f s" % (fast / 1e6, stalled))
"""

os.mkdir("video")
for quality, rate in RATES.items():
    lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:%d" % SECONDS]
    for number in range(SEGMENTS):
        name = "%s-%d.ts" % (quality, number)
        with open("video/" + name, "wb") as segment:
            segment.write(bytes(rate * SECONDS // 8))
        lines += ["#EXTINF:%d," % SECONDS, name]
    with open("video/%s.m3u8" % quality, "w") as playlist:
        playlist.write("\n".join([*lines, "#EXT-X-ENDLIST", ""]))
with open("player.py", "w") as player:
    player.write(PLAYER.format(rates=RATES, seconds=SECONDS))

controller = subprocess.Popen(["ryu-manager", "ryu.app.simple_switch_13"], stderr=subprocess.DEVNULL)
time.sleep(5)
links = dict(bw=4, delay="10ms", max_queue_size=50)
net = Mininet(SingleSwitchTopo(2, lopts=links), link=TCLink, controller=RemoteController)
net.start()
net.waitConnected()
net["h1"].cmd("cd video; python3 -m http.server 8000 > /dev/null 2>&1 &")
time.sleep(1)
print(net["h2"].cmd("python3 player.py"), end="")
net.stop()
controller.kill()
