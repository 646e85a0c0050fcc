# SPDX-License-Identifier: MIT
"""Added to Mininet in the lab: its command line carries out lines of standard input, if that is no terminal.

Mininet's own loop passes what it finds in standard input on to the command that runs, so the first command would get
all lines after it; and at a file, which can always be read, it would look over and over without a pause.
"""

import os
import sys
from select import poll
from typing import Any

from mininet.log import output


def carry_out(cli: Any) -> None:
    """Carry out the lines up to one that ends the command line; a second CLI of the script goes on after it."""
    if cli.isatty() or cli.stdin is not sys.stdin:
        cli.cmdloop()
        return
    nothing, kept_open = os.pipe()
    cli.stdin = os.fdopen(nothing)
    cli.inPoller = poll()
    cli.inPoller.register(cli.stdin)
    ended = False
    while not ended:
        line = sys.stdin.readline()
        output(cli.prompt + line)
        ended = cli.onecmd(line.strip() if line else "EOF")
    cli.stdin.close()
    os.close(kept_open)
