"""Starts, watches and ends both sides of each flow of a run."""

import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from engine.guest import kernel_tcp, programs
from engine.guest.audit import counted
from engine.guest.clock import now_ns, wait_for
from engine.guest.listening import listening
from topologies.endings import DIED, GAVE_UP, HUNG, INCOMPLETE, REFUSED
from topologies.timeline import GRACE_NS

_KINDS: dict[str, Any] = {"kernel-tcp": kernel_tcp, "program": programs}
_LONGEST_REASON = 500  # characters
# the frames of a traceback of Python, and what Go's runtime says of its goroutines: where they are is in the log
_FRAMES = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*|^goroutine \d+ \[[\s\S]*", re.MULTILINE)
_NOT_SUPPORTED = 127  # exit status of an endpoint for a role or a parameter that it does not have


@dataclass
class Endpoint:
    """One side of a flow: a process. It has ended when `exit_code` is known (negative: by a signal).

    `deadline_ns` (CLOCK_REALTIME) is set when it gets SIGTERM; it must not run longer.
    """

    flow: dict[str, Any]
    role: str
    kind: str
    transport: str
    process: int
    log: str
    deadline_ns: int | None = None
    exit_code: int | None = None

    @property
    def ending(self) -> str:
        """In a word, how a process ended that did not end well: by a signal, without support, or by itself."""
        if self.exit_code is None or self.exit_code < 0:
            return DIED
        return REFUSED if self.exit_code == _NOT_SUPPORTED else GAVE_UP

    def tell_to_end(self) -> None:
        """Send SIGTERM; it has `GRACE_NS` of virtual time to obey."""
        os.kill(self.process, signal.SIGTERM)
        self.deadline_ns = now_ns() + GRACE_NS

    def kill(self) -> None:
        """Kill it and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def complaint(self, over: bool, at_ns: int) -> str | None:
        """Return what is wrong with its end at `at_ns`, or None; `over`: its flow has bytes, or got SIGTERM."""
        if self.exit_code == 0:
            return None if over else f"ended by itself at {at_ns / 1e9:.3f} s, before its flow's end"
        if self.exit_code == -signal.SIGTERM and self.deadline_ns is not None:
            return None
        return f"{_ended(self.exit_code)}{_last_lines(f'{self.log}.err')}"


class Flows:
    """The flows of a run. A flow with bytes is done when its sender ends by itself.

    `failure` is a sentence about the first endpoint that failed, of a flow that must not.
    """

    def __init__(self, net: Any, run: dict[str, Any], results: str) -> None:
        """Start every receiver and sender; senders wait for the start of their flow."""
        self._net, self._results, self._origin_ns = net, results, run["origin_ns"]
        self._endpoints: list[Endpoint] = []
        self._datagrams: dict[str, int] = {}  # those of the probe are not the flow's
        for flow in run["flows"]:
            about = run["implementations"][flow["implementation"]]
            kind, transport = about["kind"], about.get("transport", "tcp")
            if transport != "tcp":
                self._datagrams[flow["to"]] = _datagrams(net, flow["to"])
            for role, place, other in (("receiver", "to", "from"), ("sender", "from", "to")):
                log = f"{results}/logs/{flow['name']}.{role}"
                peer = flow[f"{other}_address"]
                process = _KINDS[kind].start(role, net[flow[place]], peer, flow["port"], run, flow, log)
                self._endpoints.append(Endpoint(flow, role, kind, transport, process, log))
        self._running = {os.pidfd_open(endpoint.process): endpoint for endpoint in self._endpoints}
        self._completed_ns: dict[str, int | None] = {flow["name"]: None for flow in run["flows"] if flow["bytes"]}
        self._endless = len(self._completed_ns) < len(run["flows"])
        self._outcomes: dict[str, dict[str, dict[str, Any]]] = {
            flow["name"]: {} for flow in run["flows"] if flow.get("may_fail")
        }
        self.failure: str | None = None

    def wait_until(self, at_ns: int) -> bool:
        """Let time pass until `at_ns` (CLOCK_REALTIME, ns).

        Returns False when nothing is left to wait for: all flows have bytes and are done, or an endpoint failed.
        """
        while not self.failure and (self._endless or None in self._completed_ns.values()):
            if self._advance(at_ns):
                return True
        return False

    def settle(self, at_ns: int) -> None:
        """Let time pass until `at_ns`, whatever happens."""
        while not self._advance(at_ns):
            pass

    def end(self, role: str, flow: str | None = None) -> None:
        """Tell the senders or receivers of one flow, or of all, to end; this cuts a sender's flow off."""
        for endpoint in self._running.values():
            if endpoint.role == role and endpoint.deadline_ns is None and flow in (None, endpoint.flow["name"]):
                endpoint.tell_to_end()

    def collect(self) -> dict[str, dict[str, Any]]:
        """Return for each flow the bytes that its receiver got and both exit statuses.

        A flow with bytes also has `completed_ns` (scenario time), None if it was not done in time. A flow that may fail
        has `outcomes`: of each endpoint that was not done its role, a word, the instant (scenario time) and a sentence.
        """
        flows: dict[str, dict[str, Any]] = {flow: {"completed_ns": at} for flow, at in self._completed_ns.items()}
        for endpoint in self._endpoints:
            name = endpoint.flow["name"]
            flow = flows.setdefault(name, {})
            flow[f"{endpoint.role}_exit"] = endpoint.exit_code
            if endpoint.role == "receiver":
                flow["received_bytes"] = _KINDS[endpoint.kind].received_bytes(endpoint.log)
                if endpoint.kind == "program":
                    self._check_received(endpoint, flow["received_bytes"])
            elif endpoint.kind == "program":
                programs.keep_window(endpoint.log, f"{self._results}/traces/cwnd-{name}.csv")
        for name, outcomes in self._outcomes.items():
            flows[name]["outcomes"] = list(outcomes.values())
        return flows

    def _check_received(self, endpoint: Endpoint, received: int) -> None:
        name, expected = endpoint.flow["name"], endpoint.flow["bytes"]
        if not received:
            self._note(endpoint, INCOMPLETE, self._nothing_came(endpoint))
        elif expected and self._completed_ns[name] is not None and received != expected:
            self._note(endpoint, INCOMPLETE, f"is done, but its receiver has {received} of {expected} bytes")

    def _nothing_came(self, receiver: Endpoint) -> str:
        """Say of a receiver without a byte what its host's kernel saw, which does not know the connections of uTP."""
        net, host = self._net, receiver.flow["to"]
        if receiver.transport != "tcp":
            came = _datagrams(net, host) - self._datagrams[host]
            lost = counted(net, host, "Udp", "NoPorts")
            ignored = f", and to ports at which nothing listened: {lost}" if lost else ""
            return f"its receiver got no byte; datagrams that came to its host: {came}{ignored}"
        if counted(net, host, "Tcp", "PassiveOpens"):
            return "its receiver got no byte, though its host accepted a connection"
        tries = counted(net, receiver.flow["from"], "Tcp", "ActiveOpens")
        return f"never connected: its receiver got no byte; connections that its sender's host tried to open: {tries}"

    def _unheard(self, sender: Endpoint) -> str:
        """Say of a sender that did not end well that nothing listened for it, and where something else did."""
        host, port = sender.flow["to"], sender.flow["port"]
        if sender.transport == "tcp" and counted(self._net, host, "Tcp", "PassiveOpens"):
            return ""  # a receiver need not listen any longer
        protocol = "tcp" if sender.transport == "tcp" else "udp"
        heard, elsewhere = listening(self._net[host].namespace, protocol, port)
        if heard:
            return ""
        but = f", but something at {', '.join(elsewhere)}" if elsewhere else ""
        return f"; nothing listened at {protocol.upper()} port {port} of {host}{but}"

    def _advance(self, at_ns: int) -> bool:
        """Wait for the next endpoint to end, until `at_ns` at most; return whether that instant was reached."""
        deadlines = {
            fd: endpoint.deadline_ns for fd, endpoint in self._running.items() if endpoint.deadline_ns is not None
        }
        until_ns = min([at_ns, *deadlines.values()])
        ended = wait_for(self._running, until_ns)
        # a sender that fails leaves its receiver waiting, so report the sender first
        for descriptor in sorted(ended, key=lambda descriptor: self._running[descriptor].role, reverse=True):
            self._note_end(descriptor)
        if not ended and until_ns < at_ns:
            for descriptor in [fd for fd, deadline_ns in deadlines.items() if deadline_ns == until_ns]:
                endpoint = self._running[descriptor]
                self._note(endpoint, HUNG, f"{endpoint.role} still ran {GRACE_NS / 1e9:g} s after SIGTERM")
                endpoint.kill()
                self._note_end(descriptor)
        return not ended and until_ns == at_ns

    def _note_end(self, descriptor: int) -> None:
        endpoint = self._running.pop(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(endpoint.process, 0)
        endpoint.kill()
        endpoint.exit_code = _KINDS[endpoint.kind].exit_code(status)
        name = endpoint.flow["name"]
        [sender] = [other for other in self._endpoints if other.flow is endpoint.flow and other.role == "sender"]
        at_ns = now_ns() - self._origin_ns
        complaint = endpoint.complaint(bool(endpoint.flow["bytes"]) or sender.deadline_ns is not None, at_ns)
        if complaint:
            unheard = self._unheard(endpoint) if endpoint is sender else ""
            self._note(endpoint, endpoint.ending, f"{endpoint.role} {complaint}{unheard}")
        elif endpoint is sender and endpoint.flow["bytes"] and endpoint.deadline_ns is None:
            self._completed_ns[name] = at_ns

    def _note(self, endpoint: Endpoint, ending: str, says: str) -> None:
        """Note the first thing that is wrong with an endpoint: an outcome, if its flow may fail, else a failure."""
        name = endpoint.flow["name"]
        if name in self._outcomes:
            at_ns = now_ns() - self._origin_ns
            outcome = {"endpoint": endpoint.role, "ending": ending, "at_ns": at_ns, "says": says}
            self._outcomes[name].setdefault(endpoint.role, outcome)
        else:
            self.failure = self.failure or f"flow {name}: {says}"


def _ended(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"exited with {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:  # one of the real-time signals
        return f"was ended by signal {-exit_code}"


def _last_lines(path: str) -> str:
    """Return whole lines from the end of a file, behind a colon, without stacks; an empty string if it has none."""
    with open(path, errors="replace") as file:
        said = file.read().strip()
    whole = _FRAMES.sub("", said).strip() or said
    end = whole[-_LONGEST_REASON:]
    if len(end) < len(whole) and "\n" in end:
        end = end.partition("\n")[2]
    return f": {end}" if end else ""


def _datagrams(net: Any, host: str) -> int:
    return counted(net, host, "Udp", "InDatagrams")
