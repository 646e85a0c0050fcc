"""Two cables as one: active-backup bonding, and what a ping notices when the active one is pulled."""

from time import sleep

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSBridge

setLogLevel("info")
net = Mininet(controller=None, switch=OVSBridge)
server = net.addHost("server", ip=None)
client = net.addHost("client", ip="10.0.0.2/24")
s1 = net.addSwitch("s1")
net.addLink(server, s1)
net.addLink(server, s1)
net.addLink(client, s1)
net.start()
server.cmd("ip link add bond0 type bond mode active-backup miimon 100")
for intf in ("server-eth0", "server-eth1"):
    server.cmd(f"ip link set {intf} down; ip link set {intf} master bond0")
server.cmd("ip addr add 10.0.0.1/24 dev bond0; ip link set bond0 up")
sleep(2)
print(server.cmd("grep 'Currently Active' /proc/net/bonding/bond0"))
ping = client.popen("ping -i 0.01 -c 1000 -W 1 10.0.0.1")
sleep(3)
net.configLinkStatus("server", "s1", "up")
s1.cmd("ip link set s1-eth1 down")
out = ping.communicate()[0].decode()
print(out.splitlines()[-2])
print(server.cmd("grep 'Currently Active' /proc/net/bonding/bond0"))
net.stop()
