# SPDX-License-Identifier: MIT
"""Run in the lab's root while it is built: changes what the shell of each of Mininet's nodes starts with.

Mininet lets it close 16,384 descriptors one by one, a fifth of a second here; since Python 3.4 a child has none to
close. And it starts `env` and `stty` for what needs no program. quick.py does the same for addresses and links.
"""

from pathlib import Path

NODE = Path("/usr/lib/python3/dist-packages/mininet/node.py")
CHANGES = {
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
    "\nfrom mininet.util import (": "\nfrom mininet import quick\nfrom mininet.util import (",
}
"""What stands in its source once, and what takes the place."""

source = NODE.read_text()
for found, wanted in CHANGES.items():
    if source.count(found) != 1:
        raise SystemExit(f"{NODE} has {source.count(found)} times, in place of once: {found}")
    source = source.replace(found, wanted)
NODE.write_text(source)
