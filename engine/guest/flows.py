"""Flows over the kernel's TCP, driven by the bulk sender and receiver."""

import os
import signal
from dataclasses import dataclass
from typing import Any

from engine.guest.clock import now_ns, wait_for
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
        start_ns, stop_ns = ORIGIN_NS + flow["start_ns"], ORIGIN_NS + flow["stop_ns"]
        arguments = ["send", receiver.IP(), port, control, flow["bytes"] or 0]
        arguments += [start_ns, stop_ns, run["sample_ns"], ORIGIN_NS]
        arguments.append(f"{results}/traces/cwnd-{flow['name']}.csv")
        endpoints.append(_start(net[flow["from"]], flow["name"], "sender", [str(a) for a in arguments], results))
    return endpoints


class Senders:
    """The senders of a run, watched: a flow with bytes is done at the instant its sender ends by itself."""

    def __init__(self, endpoints: list[Endpoint], run: dict[str, Any]) -> None:
        self._running = {os.pidfd_open(one.process): one for one in endpoints if one.role == "sender"}
        self._with_bytes = {flow["name"] for flow in run["flows"] if flow["bytes"]}
        self._endless = len(self._with_bytes) < len(run["flows"])
        self.completed_ns: dict[str, int | None] = dict.fromkeys(self._with_bytes)

    def wait_until(self, at_ns: int) -> bool:
        """Let time pass until `at_ns` (CLOCK_REALTIME, ns).

        Returns False when there is nothing left to wait for: all flows have bytes and are done, or a sender failed.
        """
        while self._running or self._endless:
            ended = wait_for(self._running, at_ns)
            if not ended:
                return True
            for descriptor in ended:
                flow = self._running.pop(descriptor).flow
                outcome = os.waitid(os.P_PIDFD, descriptor, os.WEXITED | os.WNOWAIT)
                os.close(descriptor)
                if outcome is None or outcome.si_status:
                    return False
                if flow in self._with_bytes:
                    self.completed_ns[flow] = now_ns() - ORIGIN_NS
        return False

    def stop(self, flow: str | None = None) -> None:
        """End a flow, or all: a sender that is told to stop resets its connection."""
        for descriptor, endpoint in list(self._running.items()):
            if flow in (None, endpoint.flow):
                os.kill(endpoint.process, signal.SIGTERM)
                os.close(descriptor)
                del self._running[descriptor]


def collect(endpoints: list[Endpoint], senders: Senders) -> dict[str, dict[str, Any]]:
    """Per flow the bytes its receiver got and both exit statuses; ends receivers that nobody ever connected to.

    A flow with bytes has `completed_ns` (scenario time), None if it was not done in time.
    """
    flows: dict[str, dict[str, Any]] = {flow: {"completed_ns": at} for flow, at in senders.completed_ns.items()}
    for endpoint in endpoints:
        os.kill(endpoint.process, signal.SIGTERM)
        _, status = os.waitpid(endpoint.process, 0)
        flow = flows.setdefault(endpoint.flow, {})
        flow[f"{endpoint.role}_exit"] = os.waitstatus_to_exitcode(status)
        if endpoint.role == "receiver":
            with open(f"{endpoint.log}.out") as file:
                flow["received_bytes"] = int(file.read() or 0)
    return flows


def failed(flows: dict[str, dict[str, Any]], endpoints: list[Endpoint]) -> str | None:
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
