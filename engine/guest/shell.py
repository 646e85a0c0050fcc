"""Runs Mininet's command line over the network of /results/run.json, in a guest in real time."""

import json
import os
import sys

from mininet.cli import CLI
from mininet.log import setLogLevel

from engine.guest import network

_TERMINAL = "/dev/tty0"


def main() -> None:
    """Build the network, then read commands until exit or end of input."""
    # the first terminal a session leader opens becomes its controlling terminal, so Ctrl-C reaches its programs
    terminal = os.open(_TERMINAL, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(terminal, descriptor)
    with open("/results/run.json") as file:
        run = json.load(file)
    network.load_modules(run)
    net = network.build(run)
    setLogLevel("output")
    print(f"{run['experiment']}: {', '.join(node.name for node in net.hosts)}; flows are not started")
    CLI(net)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
