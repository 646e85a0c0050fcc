"""Builds the network that run.json describes and starts the processes that belong to it."""

import os
import subprocess
from typing import Any

from topologies.network import BatchMininet, set_sysctl

_RELAY_LOG = "/results/logs/relay.err"
_MOST_HOSTS = 1000  # each draws numbers of its own


def load_modules(run: dict[str, Any]) -> None:
    """Load the kernel modules that run.json names."""
    for module in run["agent"]["modules"]:
        subprocess.run(["insmod", f"/opt/modules/{module}.ko"], check=True)


def build(run: dict[str, Any]) -> BatchMininet:
    """Build and start the network."""
    for name, value in run["agent"]["kernel_sysctls"].items():
        set_sysctl(None, name, value)
    net = BatchMininet(run["network"], run["hosts"], run["agent"]["namespace_sysctls"])
    net.start()
    return net


class Relays:
    """The processes in hosts' links, for clocks of their own and the like. Without its own such a host is cut off."""

    def __init__(self, net: BatchMininet, run: dict[str, Any]) -> None:
        self._processes: dict[str, int] = {}
        for clock in run.get("clocks", []):
            words = [clock["offset_ns"], clock["skew_ppb"], run["origin_ns"]]
            words += [step[what] for step in clock.get("steps", ()) for what in ("at_ns", "by_ns")]
            self._start(net, "/opt/tools/relay", run["network"]["relays"], clock["host"], words)
        for box in run.get("middleboxes", []):
            words = [box[what] for what in ("acks", "ecn") if what in box]
            if "rebound_ns" in box:
                words.append(f"rebound={run['origin_ns'] + box['rebound_ns']}")
            self._start(net, "/opt/tools/middlebox", run["network"]["relays"], box["host"], words)
        for number, noise in enumerate(run.get("noise", [])):
            words = [run["seed"] * _MOST_HOSTS + number, run["origin_ns"]]
            words += [f"{ppm}:{ns}" for ppm, ns in noise["late_ns"]]
            self._start(net, "/opt/tools/late", run["network"]["relays"], noise["host"], words)

    def _start(self, net: BatchMininet, tool: str, relays: dict[str, Any], host: str, words: list[Any]) -> None:
        relay = relays[host]
        command = [tool, str(net.addresses.version), relay["inner"], relay["outer"], *map(str, words)]
        with open(_RELAY_LOG, "a") as log:
            self._processes[host] = net[relay["node"]].spawn(command, log.fileno(), log.fileno())

    def check(self) -> None:
        """Raise RuntimeError when one has ended."""
        for host, process in self._processes.items():
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                with open(_RELAY_LOG) as log:
                    words = log.read().strip()
                raise RuntimeError(f"the relay of {host} ended with {os.waitstatus_to_exitcode(status)}: {words}")
