#!/usr/bin/env python3
"""A load balancer as an os-ken application: 10.0.0.100 stands for three web servers in turn."""

import collections
import os
import time

from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.node import OVSKernelSwitch, RemoteController

APP = """
import itertools

from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import arp, ethernet, ipv4, packet, tcp
from os_ken.ofproto import ofproto_v1_3

VIP, VMAC = "10.0.0.100", "00:00:00:00:01:00"
SERVERS = [("10.0.0.%d" % n, "00:00:00:00:00:%02x" % n, n) for n in (1, 2, 3)]


class Balancer(app_manager.OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.turn = itertools.cycle(SERVERS)
        self.chosen = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def connected(self, ev):
        dp = ev.msg.datapath
        p, o = dp.ofproto_parser, dp.ofproto
        self.flow(dp, 0, p.OFPMatch(), [p.OFPActionOutput(o.OFPP_CONTROLLER, o.OFPCML_NO_BUFFER)])

    def flow(self, dp, priority, match, actions, idle=0):
        p, o = dp.ofproto_parser, dp.ofproto
        dp.send_msg(p.OFPFlowMod(datapath=dp, priority=priority, match=match, idle_timeout=idle,
                                 instructions=[p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, actions)]))

    def out(self, dp, port, data):
        p, o = dp.ofproto_parser, dp.ofproto
        dp.send_msg(p.OFPPacketOut(datapath=dp, buffer_id=o.OFP_NO_BUFFER, in_port=o.OFPP_CONTROLLER,
                                   actions=[p.OFPActionOutput(port)], data=data))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, ev):
        msg, dp = ev.msg, ev.msg.datapath
        p, o = dp.ofproto_parser, dp.ofproto
        pkt, port = packet.Packet(msg.data), msg.match["in_port"]
        eth, question, ip = (pkt.get_protocol(c) for c in (ethernet.ethernet, arp.arp, ipv4.ipv4))
        segment = pkt.get_protocol(tcp.tcp)
        if question and question.dst_ip == VIP:
            answer = packet.Packet()
            answer.add_protocol(ethernet.ethernet(eth.src, VMAC, 0x0806))
            answer.add_protocol(arp.arp(opcode=2, src_mac=VMAC, src_ip=VIP, dst_mac=eth.src, dst_ip=question.src_ip))
            answer.serialize()
            self.out(dp, port, answer.data)
        elif ip and ip.dst == VIP and segment:
            client = (ip.src, segment.src_port)
            if client not in self.chosen:  # the next packet may come before the switch has the rules
                self.chosen[client] = next(self.turn)
            address, mac, server_port = self.chosen[client]
            there = p.OFPMatch(in_port=port, eth_type=0x800, ip_proto=6, ipv4_src=ip.src, ipv4_dst=VIP, tcp_src=segment.src_port)
            back = p.OFPMatch(in_port=server_port, eth_type=0x800, ip_proto=6, ipv4_dst=ip.src, tcp_dst=segment.src_port)
            rewrite = [p.OFPActionSetField(eth_dst=mac), p.OFPActionSetField(ipv4_dst=address), p.OFPActionOutput(server_port)]
            self.flow(dp, 10, back, [p.OFPActionSetField(eth_src=VMAC), p.OFPActionSetField(ipv4_src=VIP),
                                     p.OFPActionOutput(port)], 10)
            self.flow(dp, 10, there, rewrite, 10)
            dp.send_msg(p.OFPPacketOut(datapath=dp, buffer_id=o.OFP_NO_BUFFER, in_port=port, actions=rewrite, data=msg.data))
        else:
            dp.send_msg(p.OFPPacketOut(datapath=dp, buffer_id=o.OFP_NO_BUFFER, in_port=port,
                                       actions=[p.OFPActionOutput(o.OFPP_FLOOD)], data=msg.data))
"""


def run():
    with open("balancer.py", "w") as f:
        f.write(APP)
    os.system("osken-manager balancer.py > balancer.log 2>&1 &")
    time.sleep(3)
    net = Mininet(switch=OVSKernelSwitch, autoSetMacs=True)
    net.addController("c0", controller=RemoteController, ip="127.0.0.1", port=6653)
    s1 = net.addSwitch("s1", protocols="OpenFlow13")
    for n in range(1, 6):
        net.addLink(net.addHost("h%d" % n, ip="10.0.0.%d/24" % n), s1)
    net.start()
    time.sleep(5)
    for n in (1, 2, 3):
        h = net["h%d" % n]
        h.cmd("mkdir -p /tmp/s%d; cd /tmp/s%d; echo server %d > index.html; python3 -m http.server 80 >/dev/null 2>&1 &" % (n, n, n))
    time.sleep(1)
    answers = collections.Counter()
    for i in range(30):
        answers[net["h%d" % (4 + i % 2)].cmd("curl -s -m 3 http://10.0.0.100/").strip()] += 1
    for name, count in sorted(answers.items()):
        print("%s: %d" % (name, count))
    net.stop()
    os.system("pkill -f osken-manager")


if __name__ == "__main__":
    setLogLevel("info")
    run()
