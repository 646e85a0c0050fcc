# SPDX-License-Identifier: MIT
"""Run in the lab's root while it is built: changes what the shell of each of Mininet's nodes starts with, and stop().

Mininet lets the shell close 16,384 descriptors one by one, a fifth of a second here; since Python 3.4 a child has none
to close. And it starts `env` and `stty` for what needs no program. quick.py does the same for addresses and links.

It stops links before switches. For each link that goes, Open vSwitch asks the kernel about every port it has, so the
work grows with the square of the ports, and no virtual time passes meanwhile. Here its bridges go first.

links.py and typed.py say what else is asked of links, networks and the command line.

iperf3 with -n or -k leaves its threads in a loop once all is sent, until its clock shows the next second. They compute
meanwhile, so here that second would never come: they read the clock in each round, as they do with -b, which takes time
(`spin` of the guest's kernel).

os-ken looks for links by packets that it sends through each port every 0.9 s, but waits for a new port before the next
round if a round had no port that waits. Here all ports can come at one instant, and os-ken would send no second round.
"""

from pathlib import Path

PACKAGES = Path("/usr/lib/python3/dist-packages")
NODE = {
    "opts = '-cd' if mnopts is None": "opts = '-d' if mnopts is None",
    "[ 'mnexec', opts, 'env', 'PS1=' + chr( 127 ),\n                'bash',": "[ 'mnexec', opts, 'bash',",
    "pty.openpty()\n": "pty.openpty()\n"
    "        modes = termios.tcgetattr( self.slave )\n"
    "        modes[ 3 ] &= ~termios.ECHO\n"
    "        termios.tcsetattr( self.slave, termios.TCSANOW, modes )\n",
    "stderr=self.slave, close_fds=False )": "stderr=self.slave, close_fds=False,\n"
    "                                  env=dict( os.environ, PS1=chr( 127 ) ) )",
    "unset HISTFILE; stty -echo; set +m": "unset HISTFILE; set +m",
    "import select\n": "import select\nimport termios\n",
    "' 2>' + cout + ' &' )\n": "' 2>' + cout + ' &' )\n        quick.wait_for_listener( self.pid, self.port )\n",
    # Open vSwitch removes what is there when it takes an interface over
    "        if isinstance( intf, TCIntf ):\n            intf.config": """\
        links.prepare( intf, intf.params )
        if isinstance( intf, TCIntf ):
            intf.config""",
    "                if isinstance( intf, TCIntf ):\n": """\
                links.prepare( intf, intf.params )
                if isinstance( intf, TCIntf ):
""",
    "\nfrom mininet.util import (": "\nfrom mininet import links, quick\nfrom mininet.util import (",
}
LINK = {
    "\nfrom mininet.util import makeIntfPair": "\nfrom mininet import links\nfrom mininet.util import makeIntfPair",
    "        self.params = params\n        self.config( **params )": "        self.params = params\n"
    "        links.prepare( self, params )\n        self.config( **params )",
}
CLI = {
    "                self.cmdloop()\n": "                typed.carry_out( self )\n",
    "\nfrom mininet.term import": "\nfrom mininet import typed\nfrom mininet.term import",
}
NET = {
    "        if self.waitConn:\n            self.waitConnected( self.waitConn )\n\n    def": """\
        links.started( self )
        if self.waitConn:
            self.waitConnected( self.waitConn )

    def""",
    "\nfrom mininet.cli import CLI": "\nfrom mininet import links\nfrom mininet.cli import CLI",
    "        info( '*** Stopping %i links": """\
        bridges = [ s for s in self.switches if isinstance( s, OVSKernelSwitch ) ]
        if bridges:
            quietRun( 'ovs-vsctl ' + ' -- '.join( '--if-exists del-br %s' % s for s in bridges ) )
        info( '*** Stopping %i links""",
}
DISCOVERY = {
    "            if timeout is not None and ports:\n                timeout = 0 ": """\
            if timeout is None and ports_now:
                timeout = self.LLDP_SEND_PERIOD_PER_PORT
            if ports:
                timeout = 0 """,
}
"""What stands in these files once, and what takes the place."""
FILES = {
    "mininet/node.py": NODE,
    "mininet/net.py": NET,
    "mininet/link.py": LINK,
    "mininet/cli.py": CLI,
    "os_ken/topology/switches.py": DISCOVERY,
}

IPERF3 = Path("/usr/lib/x86_64-linux-gnu/libiperf.so.0")
_IF_HELD_BACK = bytes.fromhex("85c0 0f8490000000 31c0")  # of iperf_send_mt(): test, je to reading the clock, xor
_ALWAYS = bytes.fromhex("85c0 90e990000000 31c0")

for name, changes in FILES.items():
    source = (PACKAGES / name).read_text()
    for found, wanted in changes.items():
        if source.count(found) != 1:
            raise SystemExit(f"{PACKAGES / name} has {source.count(found)} times, in place of once: {found}")
        source = source.replace(found, wanted)
    (PACKAGES / name).write_text(source)

library = IPERF3.read_bytes()
if library.count(_IF_HELD_BACK) != 1:
    raise SystemExit(f"{IPERF3} has {library.count(_IF_HELD_BACK)} times, in place of once: {_IF_HELD_BACK.hex(' ')}")
IPERF3.write_bytes(library.replace(_IF_HELD_BACK, _ALWAYS))
