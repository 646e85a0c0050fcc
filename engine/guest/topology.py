"""The network of a run: builds the topology that run.json names, with the TCP settings of its flows."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from topologies.dumbbell import Dumbbell, relay
from topologies.network import BatchIntf, BatchMininet, set_sysctl
from topologies.shaping import Bottleneck, Propagation
from topologies.two_path import TwoPath, route

# Mechanisms that none of the papers' models has.
_TCP_SYSCTLS = {
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_backlog_ack_defer": "0",
    "net/ipv4/tcp_comp_sack_nr": "0",
}

# What the names of quantities end in, in run.json; a sysctl takes the number as it is, but for a time in microseconds.
_SUFFIXES = {"time": "_ns", "rate": "_bps", "packets": "_pkts", "bytes": "_bytes", "share": "_ppm"}


def load_modules(run: dict[str, Any]) -> None:
    """Load the kernel modules of the run's implementations, where the kernel is the guest's own."""
    if run["backend"] == "native":
        return
    modules = {run["implementations"][flow["implementation"]].get("module") for flow in run["flows"]}
    for module in sorted(modules - {None}):
        subprocess.run(["insmod", f"/opt/modules/{module}.ko"], check=True)


def build(run: dict[str, Any]) -> BatchMininet:
    """A built and started network; ``net.topo`` tells its taps."""
    common = {
        "pairs": run["topology"]["pairs"],
        "switches": run["topology"]["switches"],
        "bottleneck": Bottleneck(**run["bottleneck"]),
        "backward_bottleneck": Bottleneck(**run["backward_bottleneck"]) if run["backward_bottleneck"] else None,
        "route_options": _route_options(run),
        "sysctls": _sysctls(run),
        "offload": run["offload"],
        "relayed": [clock["host"] for clock in run.get("clocks", [])],
    }
    if run["topology"]["name"] == "two-path":
        topo = TwoPath(paths={"a": _delays(run["delay"]), "b": _delays(run["delay_b"])}, **common)
    else:
        forward, backward = _delays(run["delay"])
        topo = Dumbbell(forward=forward, backward=backward, **common)
    _set_kernel_sizes(run)
    net = BatchMininet(topo, _common_sysctls(run))
    net.start()
    _start_relays(net, run)
    return net


def _set_kernel_sizes(run: dict[str, Any]) -> None:
    """Of the whole kernel, so only where it is the guest's own."""
    if run["backend"] == "native":
        return
    for name, value in run["sizes"]["kernel"].items():
        set_sysctl(None, name, value)


def _start_relays(net: BatchMininet, run: dict[str, Any]) -> None:
    """Give the hosts clocks of their own; the relays, without which they are cut off, run as long as the guest."""
    for clock in run.get("clocks", []):
        name, inner, outer = relay(clock["host"])
        words = [inner, outer, clock["offset_ns"], clock["skew_ppb"], run["origin_ns"]]
        with open("/results/logs/relay.err", "a") as log:
            process = net[name].spawn(["/opt/tools/relay", *map(str, words)], log.fileno(), log.fileno())
        net.relays[clock["host"]] = process


def check_relays(net: BatchMininet) -> None:
    """Raise RuntimeError when the relay of a host has ended."""
    for host, process in net.relays.items():
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            with open("/results/logs/relay.err") as log:
                words = log.read().strip()
            raise RuntimeError(f"the relay of {host} ended with {os.waitstatus_to_exitcode(status)}: {words}")


def _delays(both: dict[str, int]) -> tuple[Propagation, Propagation]:
    return Propagation(both["forward_ns"]), Propagation(both["backward_ns"])


def reshape(net: BatchMininet, event: dict[str, Any]) -> None:
    """Apply an event of the scenario, now. It is on a bottleneck, the route, all paths, or on ``path:s1-d1``."""
    if event["on"] == "route":
        route(net, event["path"])
        return
    if event["on"] in net.topo.bottlenecks:
        queue: dict[str, Any] = {name: event[name] for name in ("rate_bps", "buffer_pkts") if name in event}
        _change(net, net.topo.bottlenecks[event["on"]], queue)
        return
    for place, changes in _path_changes(net, event):
        _change(net, place, changes)


def lossy_interfaces(net: BatchMininet, run: dict[str, Any]) -> set[str]:
    """Where an event of the scenario lets packets be lost at random."""
    events = [event for event in run["events"] if "loss" in event]
    changes = [change for event in events for change in _path_changes(net, event)]
    return {interface for (_, interface), values in changes if values.get("loss_ppm")}


def _path_changes(net: BatchMininet, event: dict[str, Any]) -> Iterator[tuple[tuple[str, str], dict[str, int]]]:
    """What an event on all paths, or on one, changes where."""
    source, _, destination = event["on"].removeprefix("path").removeprefix(":").partition("-")
    for direction, router, host in (("forward", "r2", destination), ("backward", "r1", source)):
        changes = {
            f"{what}_{unit}": event[what][f"{direction}_{unit}"]
            for what, unit in (("delay", "ns"), ("jitter", "ns"), ("loss", "ppm"))
            if f"{direction}_{unit}" in event.get(what, {})
        }
        for place in net.topo.access[router]:
            if changes and (not host or place[1] == f"{router}-{host}"):
                yield place, changes


def _change(net: BatchMininet, place: tuple[str, str], changes: dict[str, Any]) -> None:
    interface = _interface(net, place)
    interface.reshape(replace(interface.egress, **changes))


def _interface(net: BatchMininet, place: tuple[str, str]) -> BatchIntf:
    node, interface = place
    found: BatchIntf = net[node].nameToIntf[interface]
    return found


def _route_options(run: dict[str, Any]) -> dict[str, str]:
    options: dict[str, list[str]] = {}
    for flow in run["flows"]:
        for host, timestamps in ((flow["from"], "timestamps"), (flow["to"], "receiver_timestamps")):
            own = run["implementations"][flow["implementation"]].get("tcp", {})
            window_pkts = own.get("initial_window", run["tcp"]["initial_window_pkts"])
            # one-way delay comes from timestamps: a millisecond is most of a packet at 10 Mbit/s
            options[host] = ["features tcp_usec_ts"] if run["tcp"][timestamps] == "1us" else []
            options[host].append(f"initcwnd {window_pkts}")
            if run["tcp"]["ack"] == "every-packet":
                options[host].append("quickack 1")
    return {host: " ".join(words) for host, words in options.items()}


def _common_sysctls(run: dict[str, Any]) -> dict[str, str]:
    """For all namespaces: IPv6 is off, so that none of its own messages are captured. Other guests boot without it."""
    name = "net/ipv6/conf/all/disable_ipv6"
    return {name: "1"} if run["backend"] == "native" and os.path.exists(f"/proc/sys/{name}") else {}


def _sysctls(run: dict[str, Any]) -> dict[str, dict[str, str]]:
    hosts = {host for flow in run["flows"] for host in (flow["from"], flow["to"])}
    limits = f"4096 131072 {run['sizes']['largest_buffer_bytes']}"
    common = _TCP_SYSCTLS | {"net/ipv4/tcp_rmem": limits, "net/ipv4/tcp_wmem": limits}
    sysctls = {host: dict(common) for host in hosts}
    for flow in run["flows"]:
        own = run["implementations"][flow["implementation"]].get("tcp", {})
        for side, host, timestamps in (
            ("sender", flow["from"], "timestamps"),
            ("receiver", flow["to"], "receiver_timestamps"),
        ):
            if run["tcp"][timestamps] == "none":
                sysctls[host]["net/ipv4/tcp_timestamps"] = "0"
            sysctls[host] |= own.get(side, {})
    for flow, name, parameter in _parameters(run):
        if "sysctl" in parameter:
            sysctls[flow["from"]][parameter["sysctl"]] = str(_sysctl_value(flow["params"], name, parameter))
    return sysctls


def _sysctl_value(params: dict[str, Any], name: str, parameter: dict[str, Any]) -> int:
    value = int(params[name + _SUFFIXES.get(parameter["type"], "")])
    return value // 1000 if parameter["type"] == "time" and parameter["sysctl"].endswith("_us") else value


def _parameters(run: dict[str, Any]) -> list[tuple[dict[str, Any], str, dict[str, Any]]]:
    return [
        (flow, name, parameter)
        for flow in run["flows"]
        for name, parameter in run["implementations"][flow["implementation"]]["parameters"].items()
    ]
