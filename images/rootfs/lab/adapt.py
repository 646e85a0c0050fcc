# SPDX-License-Identifier: MIT
"""Run in the lab's root while it is built: changes what the shell of each of Mininet's nodes starts with, and stop().

Mininet lets the shell close 16,384 descriptors one by one, a fifth of a second here; since Python 3.4 a child has none
to close. And it starts `env` and `stty` for what needs no program. quick.py does the same for addresses and links.

It stops links before switches. For each link that goes, Open vSwitch asks the kernel about every port it has, so the
work grows with the square of the ports, and no virtual time passes meanwhile. Here its bridges go first.

links.py and typed.py say what else is asked of links, networks and the command line.
"""

from pathlib import Path

MININET = Path("/usr/lib/python3/dist-packages/mininet")
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
"""What stands in these files once, and what takes the place."""

for name, changes in {"node.py": NODE, "net.py": NET, "link.py": LINK, "cli.py": CLI}.items():
    source = (MININET / name).read_text()
    for found, wanted in changes.items():
        if source.count(found) != 1:
            raise SystemExit(f"{MININET / name} has {source.count(found)} times, in place of once: {found}")
        source = source.replace(found, wanted)
    (MININET / name).write_text(source)
