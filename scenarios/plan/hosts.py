"""Configures the kernel of each host: what the scenario says of TCP and what its implementations need."""

from typing import Any

from scenarios.implementations import of_side
from scenarios.units import QUANTITIES

# Mechanisms that none of the papers' models has.
_TCP_SYSCTLS = {
    "net/ipv4/tcp_slow_start_after_idle": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv4/tcp_backlog_ack_defer": "0",
    "net/ipv4/tcp_comp_sack_nr": "0",
}

# What the words of the scenario's `tcp` mean for a sender.
_NEWRENO = {f"net/ipv4/{name}": "0" for name in ("tcp_sack", "tcp_recovery", "tcp_early_retrans", "tcp_frto")}
_RECOVERY_SYSCTLS: dict[str, dict[str, str]] = {
    "linux": {},
    "newreno": _NEWRENO,
    # the most duplicate ACKs that the kernel can be told to wait for
    "timeout": _NEWRENO | {"net/ipv4/tcp_reordering": "300"},
}
_PACING_SYSCTLS: dict[str, dict[str, str]] = {
    "linux": {},
    "window": {"net/ipv4/tcp_pacing_ca_ratio": "100", "net/ipv4/tcp_pacing_ss_ratio": "100"},
}

# What both ends do about Explicit Congestion Notification. The kernel's TCP accepts it and by itself never asks for it.
_ECN_SYSCTLS: dict[str, dict[str, str]] = {
    "off": {},
    "on": {"net/ipv4/tcp_ecn": "1"},
    "accecn": {"net/ipv4/tcp_ecn": "3"},
}

_PROBING_SYSCTLS: dict[str, dict[str, str]] = {
    "off": {},
    "black-hole": {"net/ipv4/tcp_mtu_probing": "1"},
    "always": {"net/ipv4/tcp_mtu_probing": "2"},
}

_AFTER_IDLE_SYSCTLS: dict[str, dict[str, str]] = {"keep": {}, "restart": {"net/ipv4/tcp_slow_start_after_idle": "1"}}


def hosts(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the `hosts` of run.json: for each host the options of its route, its sysctls, and whether it offloads."""
    options, sysctls = _route_options(run), _sysctls(run)
    return {
        name: {
            "route_options": options.get(name, ""),
            "sysctls": sysctls.get(name, {}),
            "offload": run["offload"],
        }
        for name, node in run["network"]["nodes"].items()
        if node["kind"] == "host"
    }


def _route_options(run: dict[str, Any]) -> dict[str, str]:
    options: dict[str, list[str]] = {}
    for flow in run["flows"]:
        for side, host, timestamps in _sides(flow):
            own = run["implementations"][of_side(flow, side)].get("tcp", {})
            window_pkts = own.get("initial_window", run["tcp"]["initial_window_pkts"])
            # one-way delay comes from timestamps; at 10 Mbit/s a millisecond is most of a packet
            options[host] = ["features tcp_usec_ts"] if run["tcp"][timestamps] == "1us" else []
            options[host].append(f"initcwnd {window_pkts}")
            if run["tcp"]["ack"] == "every-packet":
                options[host].append("quickack 1")
    return {host: " ".join(words) for host, words in options.items()}


def _sides(flow: dict[str, Any]) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Of each side its role, its host, and the scenario's word for its timestamps."""
    return ("sender", flow["from"], "timestamps"), ("receiver", flow["to"], "receiver_timestamps")


def _sysctls(run: dict[str, Any]) -> dict[str, dict[str, str]]:
    hosts = {host: None for flow in run["flows"] for host in (flow["from"], flow["to"])}
    common = dict(_TCP_SYSCTLS)
    for side, name in (("receive", "net/ipv4/tcp_rmem"), ("send", "net/ipv4/tcp_wmem")):
        most_bytes = run.get("sockets", {}).get(f"{side}_bytes", run["sizes"]["largest_buffer_bytes"])
        common[name] = f"4096 {min(131072, most_bytes)} {most_bytes}"
    common |= _ECN_SYSCTLS[run["tcp"].get("ecn", "off")]
    common |= _PROBING_SYSCTLS[run["tcp"].get("mtu_probing", "off")]
    common |= _AFTER_IDLE_SYSCTLS[run["tcp"].get("after_idle", "keep")]
    sysctls = {host: dict(common) for host in hosts}
    for flow in run["flows"]:
        for side, host, timestamps in _sides(flow):
            own = run["implementations"][of_side(flow, side)].get("tcp", {})
            if run["tcp"][timestamps] == "none":
                sysctls[host]["net/ipv4/tcp_timestamps"] = "0"
            sysctls[host] |= own.get(side, {})
        sysctls[flow["from"]] |= _RECOVERY_SYSCTLS[run["tcp"]["recovery"]] | _PACING_SYSCTLS[run["tcp"]["pacing"]]
    for flow in run["flows"]:
        for name, parameter in run["implementations"][flow["implementation"]]["parameters"].items():
            if "sysctl" in parameter:
                sysctls[flow["from"]][parameter["sysctl"]] = str(_sysctl_value(flow["params"], name, parameter))
    return sysctls


def _sysctl_value(params: dict[str, Any], name: str, parameter: dict[str, Any]) -> int:
    """Return a sysctl's value: a quantity in base units, or in microseconds if named so; the index of a choice."""
    kind = parameter["type"]
    if kind == "choice":
        return int(parameter["choices"].index(params[name]))
    value = int(params[f"{name}_{QUANTITIES[kind].suffix}" if kind in QUANTITIES else name])
    return value // 1000 if kind == "time" and parameter["sysctl"].endswith("_us") else value
