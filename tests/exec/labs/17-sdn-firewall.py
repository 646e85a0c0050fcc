"""A learning switch with a firewall, as an os-ken application: h1 and h3 may not talk to each other."""

import subprocess
import sys
import time
from functools import partial

from mininet.net import Mininet
from mininet.node import OVSSwitch, RemoteController
from mininet.topo import SingleSwitchTopo

APP = '''
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class Firewall(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.ports = {}

    def add_flow(self, dp, priority, match, actions):
        parser = dp.ofproto_parser
        instructions = [parser.OFPInstructionActions(dp.ofproto.OFPIT_APPLY_ACTIONS, actions)]
        dp.send_msg(parser.OFPFlowMod(datapath=dp, priority=priority, match=match, instructions=instructions))

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, ev):
        dp = ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        self.add_flow(dp, 0, parser.OFPMatch(), [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)])
        for a, b in (("10.0.0.1", "10.0.0.3"), ("10.0.0.3", "10.0.0.1")):
            self.add_flow(dp, 100, parser.OFPMatch(eth_type=0x0800, ipv4_src=a, ipv4_dst=b), [])
        self.logger.info("switch %s has its rules", dp.id)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg, dp = ev.msg, ev.msg.datapath
        parser, ofp = dp.ofproto_parser, dp.ofproto
        eth = packet.Packet(msg.data).get_protocol(ethernet.ethernet)
        in_port = msg.match["in_port"]
        self.ports[dp.id, eth.src] = in_port
        out = self.ports.get((dp.id, eth.dst), ofp.OFPP_FLOOD)
        actions = [parser.OFPActionOutput(out)]
        if out != ofp.OFPP_FLOOD:
            self.add_flow(dp, 1, parser.OFPMatch(in_port=in_port, eth_dst=eth.dst), actions)
        dp.send_msg(parser.OFPPacketOut(datapath=dp, buffer_id=ofp.OFP_NO_BUFFER, in_port=in_port, actions=actions, data=msg.data))
'''

with open("firewall_app.py", "w") as f:
    f.write(APP)
controller = subprocess.Popen(["osken-manager", "firewall_app.py"], stderr=open("controller.log", "w"))
time.sleep(3)
net = Mininet(
    topo=SingleSwitchTopo(4),
    switch=partial(OVSSwitch, protocols="OpenFlow13"),
    controller=partial(RemoteController, ip="127.0.0.1", port=6653),
    autoSetMacs=True,
)
net.start()
net.waitConnected()
loss = net.pingAll(timeout=1)
print("dropped %.1f %%" % loss)
print(net["s1"].cmd("ovs-ofctl -O OpenFlow13 dump-flows s1 | grep -c priority=100"))
net.stop()
controller.terminate()
sys.exit(0 if 16 < loss < 17 else 1)
