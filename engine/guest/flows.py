"""Flows over the kernel's TCP, driven by the bulk sender and receiver."""

import os
import signal
from dataclasses import dataclass
from typing import Any

from engine.guest.timeline import ORIGIN_NS

FIRST_PORT = 5001
_BULK = "/opt/tools/bulk"


@dataclass(frozen=True)
class Endpoint:
    """A running side of a flow."""

    flow: str
    role: str
    process: int
    log: str


def start(net: Any, run: dict[str, Any], results: str) -> list[Endpoint]:
    """Start every receiver and sender; senders wait for their flow's own instant."""
    endpoints = []
    for index, flow in enumerate(run["flows"]):
        port = FIRST_PORT + index
        receiver = net[flow["to"]]
        endpoints.append(_start(receiver, flow["name"], "receiver", ["receive", str(port)], results))
        control = run["implementations"][flow["implementation"]]["congestion_control"]
        start_ns, stop_ns = ORIGIN_NS + flow["start_ns"], ORIGIN_NS + run["duration_ns"]
        arguments = ["send", receiver.IP(), port, control, start_ns, stop_ns, run["sample_ns"], ORIGIN_NS]
        arguments.append(f"{results}/traces/cwnd-{flow['name']}.csv")
        endpoints.append(_start(net[flow["from"]], flow["name"], "sender", [str(a) for a in arguments], results))
    return endpoints


def stop(endpoints: list[Endpoint]) -> None:
    """End all flows at once: a sender that is told to stop resets its connection."""
    for endpoint in endpoints:
        if endpoint.role == "sender":
            os.kill(endpoint.process, signal.SIGTERM)


def collect(endpoints: list[Endpoint]) -> dict[str, dict[str, int]]:
    """Per flow the bytes its receiver got and both exit statuses; ends receivers that nobody ever connected to."""
    flows: dict[str, dict[str, int]] = {}
    for endpoint in endpoints:
        os.kill(endpoint.process, signal.SIGTERM)
        _, status = os.waitpid(endpoint.process, 0)
        flow = flows.setdefault(endpoint.flow, {})
        flow[f"{endpoint.role}_exit"] = os.waitstatus_to_exitcode(status)
        if endpoint.role == "receiver":
            with open(f"{endpoint.log}.out") as file:
                flow["received_bytes"] = int(file.read() or 0)
    return flows


def failed(flows: dict[str, dict[str, int]], endpoints: list[Endpoint]) -> str | None:
    """A sentence about the first endpoint that failed, or None."""
    # a sender that fails leaves its receiver waiting: the sender's words come first
    for endpoint in sorted(endpoints, key=lambda endpoint: endpoint.role, reverse=True):
        code = flows[endpoint.flow][f"{endpoint.role}_exit"]
        if code:
            with open(f"{endpoint.log}.err") as file:
                return f"flow {endpoint.flow}: {endpoint.role} exited with {code}: {file.read().strip()}"
    return None


def _start(node: Any, flow: str, role: str, arguments: list[str], results: str) -> Endpoint:
    log = f"{results}/logs/{flow}.{role}"
    with open(f"{log}.out", "w") as output, open(f"{log}.err", "w") as errors:
        process = node.spawn([_BULK, *arguments], output.fileno(), errors.fileno())
    return Endpoint(flow, role, process, log)
