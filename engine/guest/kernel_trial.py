"""Tries what a run needs of a kernel that is not the project's own: ``kernel_trial no|switches CONGESTION_CONTROL...``.

It runs in namespaces that are thrown away. The kernel loads a module when a process asks for what the module provides.
"""

import socket
import subprocess
import sys

_TRIALS = {
    "veth": ["ip", "link", "add", "one", "type", "veth", "peer", "name", "other"],
    "sch_htb": ["tc", "qdisc", "add", "dev", "one", "root", "handle", "1:", "htb", "default", "1"],
    "sch_netem": ["tc", "qdisc", "add", "dev", "other", "root", "netem", "delay", "1ms"],
}
_SWITCH_TRIALS = {"openvswitch": ["ovs-dpctl", "dump-dps"]}


def missing(switches: bool, controls: list[str]) -> list[str]:
    """Return the modules that the kernel neither has built in nor can load."""
    trials = _TRIALS | (_SWITCH_TRIALS if switches else {})
    modules = [
        module
        for module, command in trials.items()
        if subprocess.run(command, capture_output=True, check=False).returncode
    ]
    return modules + [f"tcp_{control}" for control in controls if not _has_control(control)]


def _has_control(control: str) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        try:
            tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        except OSError:
            return False
    return True


if __name__ == "__main__":
    lacking = missing(sys.argv[2] == "switches", sys.argv[3:])
    if lacking:
        sys.exit(f"module {', '.join(lacking)}")
