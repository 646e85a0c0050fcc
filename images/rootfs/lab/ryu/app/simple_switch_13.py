# SPDX-License-Identifier: MIT
"""A switch that learns addresses, for OpenFlow 1.3, under the name of Ryu's example."""

from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ether_types, ethernet, packet
from os_ken.ofproto import ofproto_v1_3


class SimpleSwitch13(OSKenApp):  # type: ignore[misc]
    """Floods to addresses that it does not know; installs a flow for each pair that it knows."""

    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]  # noqa: RUF012 - as os-ken has it

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.mac_to_port: dict[int, dict[str, int]] = {}

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)  # type: ignore[untyped-decorator]
    def switch_features_handler(self, event: Any) -> None:
        """Have packets sent here that no flow knows."""
        datapath = event.msg.datapath
        controller = datapath.ofproto.OFPP_CONTROLLER
        actions = [datapath.ofproto_parser.OFPActionOutput(controller, datapath.ofproto.OFPCML_NO_BUFFER)]
        self.add_flow(datapath, 0, datapath.ofproto_parser.OFPMatch(), actions)

    def add_flow(self, datapath: Any, priority: int, match: Any, actions: list[Any]) -> None:
        """Install a flow."""
        parser = datapath.ofproto_parser
        instructions = [parser.OFPInstructionActions(datapath.ofproto.OFPIT_APPLY_ACTIONS, actions)]
        datapath.send_msg(parser.OFPFlowMod(datapath, priority=priority, match=match, instructions=instructions))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def packet_in_handler(self, event: Any) -> None:
        """Learn where the sender is, and pass the packet on."""
        message = event.msg
        datapath, port = message.datapath, message.match["in_port"]
        parser, flood = datapath.ofproto_parser, datapath.ofproto.OFPP_FLOOD
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        if frame.ethertype == ether_types.ETH_TYPE_LLDP:  # of --observe-links, for one link each
            return
        known = self.mac_to_port.setdefault(datapath.id, {})
        known[frame.src] = port
        out = known.get(frame.dst, flood)
        actions = [parser.OFPActionOutput(out)]
        if out != flood:
            self.add_flow(datapath, 1, parser.OFPMatch(in_port=port, eth_src=frame.src, eth_dst=frame.dst), actions)
        nowhere = datapath.ofproto.OFP_NO_BUFFER
        datapath.send_msg(parser.OFPPacketOut(datapath, nowhere, port, actions, message.data))
