#!/usr/bin/python
from mininet.cli import CLI
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topolib import TreeTopo

setLogLevel("info")
net = Mininet(topo=TreeTopo(depth=2, fanout=3))
net.start()
loss = net.pingAll()
print("loss: %s %%" % loss)
cli = CLI(net, script="/dev/null")
cli.onecmd("net")
cli.onecmd("links")
net.stop()
