# SPDX-License-Identifier: MIT
"""The same switch with a spanning tree, for loops of switches, under the name of Ryu's example."""

from typing import Any

from os_ken.controller.handler import MAIN_DISPATCHER, set_ev_cls
from os_ken.lib import stplib

from ryu.app.simple_switch_13 import SimpleSwitch13


class SimpleSwitchStp13(SimpleSwitch13):  # type: ignore[misc]
    """Learns addresses; ports that would close a loop pass nothing."""

    _CONTEXTS = {"stplib": stplib.Stp}  # noqa: RUF012 - as os-ken has it

    @set_ev_cls(stplib.EventPacketIn, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def packet_in_handler(self, event: Any) -> None:
        """Pass on what came at a port of the tree."""
        super().packet_in_handler(event)

    @set_ev_cls(stplib.EventTopologyChange, MAIN_DISPATCHER)  # type: ignore[untyped-decorator]
    def topology_change_handler(self, event: Any) -> None:
        """Forget what was learned on the former tree."""
        datapath = event.dp
        ofproto, parser = datapath.ofproto, datapath.ofproto_parser
        anywhere = {"out_port": ofproto.OFPP_ANY, "out_group": ofproto.OFPG_ANY, "priority": 1}
        for address in self.mac_to_port.pop(datapath.id, {}):
            match = parser.OFPMatch(eth_dst=address)
            datapath.send_msg(parser.OFPFlowMod(datapath, command=ofproto.OFPFC_DELETE, match=match, **anywhere))
