"""The agent carries out one run.json inside the guest and leaves guest.json beside it.

It builds the network, probes it, starts endpoints, lets the scenario pass, drains, counts and audits. Packets are
recorded by the kernel, unseen from here; where it cannot, the agent captures them.
"""

import fcntl
import json
import subprocess
import traceback
from dataclasses import asdict
from typing import Any

from engine.guest import audit, captures, flows, network, probe, programs, queue_trace
from engine.guest.clock import now_ns, sleep_until
from topologies.timeline import routed_ns

RESULTS = "/results"
HEARTBEATS = 100
_RESEED = 0x5207  # RNDRESEEDCRNG of linux/random.h
_MOST_RESTS = 64


def main() -> None:
    """Carry out /results/run.json; write the outcome, good or bad, to /results/guest.json."""
    outcome: dict[str, Any] = {"status": "failed", "error": None}
    started_ns = now_ns()
    try:
        with open(f"{RESULTS}/run.json") as file:
            run = json.load(file)
        _carry_out(run, outcome)
        outcome["status"] = "ok"
    except Exception as error:
        outcome["error"] = f"{error}" or type(error).__name__
        with open(f"{RESULTS}/logs/agent.log", "a") as log:
            traceback.print_exc(file=log)
    outcome["virtual_ns"] = now_ns() - started_ns
    with open(f"{RESULTS}/guest.json", "w") as file:
        json.dump(outcome, file)


def _carry_out(run: dict[str, Any], outcome: dict[str, Any]) -> None:
    origin_ns, lead = run["origin_ns"], run["lead"]
    network.load_modules(run)
    outcome["versions"] = {
        name: _version(name, implementation) for name, implementation in run["implementations"].items()
    }
    net = network.build(run)
    relays = network.Relays(net, run)
    audit.check_qdiscs(audit.shaped(net), "before the probe")
    unexpected = audit.Strangers(net, run["network"]["entrances"])

    _begin("the fidelity probe", origin_ns - lead["probe_ns"])
    outcome["probe"] = probe.probe(net, run, origin_ns - lead["probe_ns"])

    _begin("the endpoints' start", origin_ns - lead["endpoints_ns"])
    nodes, queues = [*net.hosts, *net.switches], run["network"]["queues"]
    cards = run["network"]["cards"]
    queued_before, counters_before = queue_trace.read(net, queues | cards, RESULTS), audit.read_counters(nodes)
    capturing = captures.start(net, run, RESULTS)
    samplers = queue_trace.start(net, run, RESULTS)
    running = flows.Flows(net, run, RESULTS)
    _check_time("the scenario", origin_ns)

    outcome["latest_event_ns"] = _scenario(net, run, running)

    outcome["ended_ns"] = ended_ns = min(now_ns() - origin_ns, run["duration_ns"])
    running.end("sender")
    queue_trace.stop(samplers, RESULTS)
    running.settle(origin_ns + ended_ns + lead["receivers_ns"])
    running.end("receiver")
    running.settle(origin_ns + ended_ns + lead["drain_ns"])
    if capturing:
        _rest(nodes)
    outcome["flows"] = running.collect()
    if capturing:
        outcome["captured"] = {name: asdict(written) for name, written in captures.stop(capturing).items()}
    counters = audit.difference(audit.read_counters(nodes), counters_before)
    outcome["counted_ns"] = now_ns() - origin_ns
    queued = {
        name: queue_trace.difference(after, queued_before[name])
        for name, after in queue_trace.read(net, queues | cards, RESULTS).items()
    }
    outcome["counters"] = {"interfaces": counters, "queues": queued}
    if cards:
        refused = {host: audit.refused_datagrams(net, host) for host in cards}
        outcome["counters"]["cards"] = {
            host: queued.pop(host) | {"refused_datagrams": count} for host, count in refused.items()
        }
    if running.failure:
        raise RuntimeError(running.failure)
    relays.check()
    audit.check_losses(counters, audit.behind(run["network"]["links"], _changed(run, "corrupt_ppm")))
    audit.check_received(net, run["flows"], outcome["flows"], counters)
    audit.check_relays(run, counters)
    audit.check_queues(net, queues, queued, counters, unexpected)
    audit.check_switches(net.switches, counters)
    readings = audit.check_qdiscs(audit.shaped(net), "at the end")
    audit.check_paths(readings, _changed(run, "loss_ppm"))
    if refused := audit.refused(readings):
        outcome["counters"]["refused"] = refused
    outcome["audit"] = (
        "no receiver reports more than came; offered = delivered + dropped; nothing was lost elsewhere; "
        "the kernel's queueing disciplines are the scenario's"
    )


def _changed(run: dict[str, Any], what: str) -> set[str]:
    """Return the names of the interfaces at which an event sets a field to something else than zero."""
    changes = [change for event in run["events"] for change in event["changes"]]
    return {change["interface"] for change in changes if change.get("set", {}).get(what)}


def _rest(nodes: list[Any]) -> None:
    """Wait until no packet has come for as long as a capture may hold one back, such as the last one of a handshake."""
    for _ in range(_MOST_RESTS):
        before = audit.read_counters(nodes)
        sleep_until(now_ns() + captures.HELD_NS)
        if audit.read_counters(nodes) == before:
            return


def _begin(what: str, at_ns: int) -> None:
    """Sleep until the instant at which something begins."""
    _check_time(what, at_ns)
    sleep_until(at_ns)


def _check_time(what: str, at_ns: int) -> None:
    late_ns = now_ns() - at_ns
    if late_ns > 0:
        raise RuntimeError(f"{what} would begin {late_ns / 1e9:.3f} s late: what comes before took too long")


def _version(name: str, implementation: dict[str, Any]) -> str:
    if implementation["kind"] == "program":
        return programs.version(name, implementation)
    return subprocess.check_output(implementation["version_command"], text=True).strip()


def _scenario(net: Any, run: dict[str, Any], running: flows.Flows) -> int:
    """Let the scenario's time pass: apply its events, stop flows and give the host signs of life.

    Returns the longest time (ns) from an event's instant until it was applied.
    """
    latest_ns = 0
    idle_ports = audit.IdlePorts(net, run["network"]["routes"])
    moments: list[tuple[int, str, Any]] = [(event["at_ns"], "event", event) for event in run["events"]]
    moments += [(flow["stop_ns"], "stop", flow["name"]) for flow in run["flows"]]
    moments += [(at_ns, "routed", None) for at_ns in routed_ns(run)]
    moments += [(index * run["duration_ns"] // HEARTBEATS, "sign", None) for index in range(1, HEARTBEATS + 1)]
    if sign_every_ns := run["agent"]["sign_every_ns"]:
        moments += [(at_ns, "sign", None) for at_ns in range(0, run["duration_ns"], sign_every_ns)]
    with open(f"{RESULTS}/traces/events.csv", "w") as log, open(f"{RESULTS}/heartbeat", "w") as heartbeat:
        print("time_ns,what", file=log)
        for at_ns, kind, what in sorted(moments, key=lambda moment: (moment[0], moment[1] == "sign")):
            if not running.wait_until(run["origin_ns"] + at_ns):
                break
            if kind == "event":
                _redraw(what.get("redraw", 0))
                idle_ports.turn(what["changes"])
                reshaped = net.apply(what["changes"])
                latest_ns = max(latest_ns, now_ns() - run["origin_ns"] - at_ns)
                when = f"after the event at {at_ns / 1e9:g} s"
                audit.check_qdiscs(reshaped, when)
                audit.check_mtus(net, what["changes"], when)
                words = " ".join(
                    f"{name}={value}" for name, value in what.items() if name not in ("at_ns", "changes", "traced")
                )
                print(f"{at_ns},{words}", file=log, flush=True)
            elif kind == "routed":
                idle_ports.look()
            elif kind == "stop":
                running.end("sender", what)
            else:
                heartbeat.seek(0)
                heartbeat.write(str(at_ns))
                heartbeat.flush()
    idle_ports.check()
    return latest_ns


def _redraw(times: int) -> None:
    """Give the kernel's generator a new key, so many times: each count is followed by other numbers."""
    if times:
        with open("/dev/urandom") as generator:
            for _ in range(times):
                fcntl.ioctl(generator, _RESEED)


if __name__ == "__main__":
    main()
