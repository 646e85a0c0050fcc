"""What is measured, and the table it goes into."""

import argparse
import concurrent.futures
import csv
import dataclasses
import functools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from common import sums
from common.arguments import path
from engine.bench import beside, growth, modes, native, ns3
from engine.run import execute, run_folder
from scenarios.cell_names import CASE, values_of
from scenarios.resolve import Cell, expand, resolve

FLOW = Path(__file__).with_name("flow.yaml")
STEADY = Path(__file__).with_name("steady.yaml")
UTP = Path(__file__).with_name("utp.yaml")
PROGRAMS = Path(__file__).with_name("programs.yaml")
REPEATS = 3
_ONE_S_NS = 1_000_000_000
_PCAP_HEADER_BYTES = 24
_UTP_REPEATS = 40


def main() -> int:
    """Measure everything, print it as a table and write it to a file as JSON, a key per figure.

    What was there before is compared: each figure that became slower is named.
    """
    parser = argparse.ArgumentParser(prog="python -m engine.bench", description="Speed of guests and of the reader.")
    parser.add_argument("--into", type=path, default=Path("results/bench.json"), help="default: %(default)s")
    into: Path = parser.parse_args().into
    before: dict[str, float] = json.loads(into.read_text()) if into.exists() else {}
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="testbed-bench-") as name:
        folder = Path(name)
        delayed, every_packet = expand(FLOW, "complete")
        _say("fixed cost of a run")
        fixed_s = _best(lambda: _wall_s(_idle(delayed, "none"), folder))
        figures["fixed_cost_s"] = fixed_s
        figures["fixed_cost_ovs_s"] = _best(lambda: _wall_s(_idle(delayed, "ovs"), folder))
        _say("one LEDBAT flow of 600 s, bottleneck captured")
        for cell, key in ((delayed, "delayed_acks"), (every_packet, "every_packet_acked")):
            wall_s = _best(functools.partial(_wall_s, cell, folder))
            figures[f"virtual_s_per_wall_s_{key}"] = cell.virtual_s / (wall_s - fixed_s)
            figures[f"run_wall_s_{key}"] = wall_s
        uncaptured = _without_capture(delayed)
        figures["run_wall_s_uncaptured"] = _best(lambda: _wall_s(uncaptured, folder))
        _say("programs under test")
        for cell in expand(PROGRAMS, "complete"):
            name = cell.settings["flows"][0]["implementation"]
            wall_s = _best(functools.partial(_wall_s, cell, folder))
            figures[f"virtual_s_per_wall_s_{name}"] = cell.virtual_s / (wall_s - fixed_s)
        _say("the guest's kernel in its processes and by way of stubs")
        kinds = {"idle": _idle(delayed, "none"), "idle_ovs": _idle(delayed, "ovs"), "flow": uncaptured}
        programs = {values_of(cell.name)[CASE]: cell for cell in expand(PROGRAMS, "complete")}
        figures |= modes.figures(kinds | programs, folder, REPEATS)
        _say("the same programs on the host's own kernel, in real time")
        figures |= native.figures(programs, {name: figures[modes.key(name, False)] for name in programs})
        _say("captures to columns")
        figures["reader_packets_per_s"] = _reader_packets_per_s(every_packet, _idle(delayed, "none"), folder)
        figures["utp_packets_per_cpu_s"] = _utp_packets_per_cpu_s(_idle(delayed, "none"), folder)
        figures["columns_most_mb"] = _columns_most_mb(every_packet, folder)
        if len(os.sched_getaffinity(0)) > 1:
            _say("two guests beside each other")
            figures["two_guests_slowdown"] = _two_guests_s(delayed, folder) / figures["run_wall_s_delayed_acks"]
        if ns3.is_installed():
            _say("the same flow in ns-3")
            program = ns3.build(folder)
            alone_s, captured_s = ns3.wall_s(program, delayed.virtual_s)
            figures[beside.NS3] = alone_s
            figures["times_faster_than_ns3"] = alone_s / figures["run_wall_s_uncaptured"]
            figures["times_faster_than_ns3_captured"] = captured_s / figures["run_wall_s_delayed_acks"]
            _say("the steady state of RFC 6817 in both")
            figures |= _steady_state(program, folder)
        else:
            _say("ns-3 is not compared: libns3-dev is not installed")
        _say("how costs grow")
        costs = list(growth.measure(folder))
    _print(figures)
    _print_growth(costs)
    _tell_slower(before, figures)
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text(json.dumps(figures, indent=1) + "\n")
    picture = into.with_name(f"{into.stem}-growth.svg")
    growth.draw(costs, picture)
    print(f"written to {into} and {picture}")
    return 0


_PROGRAMS = {
    "libutp": "libutp for 300 s",
    "transmission": "Transmission 4 for 40 s",
    "libtorrent": "libtorrent 2.0 for 40 s",
}
_MODES = {
    "idle": "a run without flows",
    "idle_ovs": "the same with two Open vSwitch bridges",
    "flow": "LEDBAT for 600 s, not captured",
    **_PROGRAMS,
}
_MEANINGS = {
    "fixed_cost_s": ("a run without flows: boot, dumbbell, probe, power-off", "s"),
    "fixed_cost_ovs_s": ("the same with two Open vSwitch bridges", "s"),
    "virtual_s_per_wall_s_delayed_acks": ("LEDBAT at 10 Mbit/s, captured, fixed cost apart", "virtual s/s"),
    "virtual_s_per_wall_s_every_packet_acked": ("the same, every packet acknowledged", "virtual s/s"),
    "virtual_s_per_wall_s_libutp": ("libutp's own sender and receiver on that path", "virtual s/s"),
    "virtual_s_per_wall_s_transmission-4": ("Transmission 4 to Transmission 4", "virtual s/s"),
    "virtual_s_per_wall_s_libtorrent-2.0": ("libtorrent 2.0 to libtorrent 2.0", "virtual s/s"),
    "run_wall_s_delayed_acks": ("the first of these, all included", "s"),
    "run_wall_s_every_packet_acked": ("the second, all included", "s"),
    "run_wall_s_uncaptured": ("the first without a capture, all included", "s"),
    **{modes.key(name, False): (f"{what}, the kernel in its processes", "CPU s") for name, what in _MODES.items()},
    **{modes.key(name, True): (f"{what}, by way of stub processes", "CPU s") for name, what in _MODES.items()},
    **{native.key(name): (f"{what}, on the host's own kernel", "CPU s") for name, what in _PROGRAMS.items()},
    **{native.key(name, True): (f"{what}, the guest takes", "times as much") for name, what in _PROGRAMS.items()},
    "reader_packets_per_s": ("captures to columns on disk", "packets/s"),
    "utp_packets_per_cpu_s": ("captures of uTP to columns on disk", "packets/CPU s"),
    "columns_most_mb": ("the most memory that it takes, whatever the length of the captures", "MB"),
    "two_guests_slowdown": ("two guests on two CPUs, each against one alone", "times"),
    beside.NS3: ("ns-3 takes for the flow of 600 s; ratios to it may be compared between machines", "s"),
    "times_faster_than_ns3": ("ns-3's TcpLedbat on the same dumbbell takes", "times as long"),
    "times_faster_than_ns3_captured": ("with captures it takes", "times as long"),
    "steady_queue_pkts": ("one RFC 6817 flow at its target of 100 ms (83.3 packets), mean queue", "packets"),
    "steady_queue_pkts_ns3": ("the same in ns-3", "packets"),
    "steady_payload_mbps": ("payload that the flow gets across", "Mbit/s"),
    "steady_payload_mbps_ns3": ("the same in ns-3", "Mbit/s"),
}


def _print(figures: dict[str, float]) -> None:
    table = Table("what", "figure", "unit")
    for key, value in figures.items():
        what, unit = _MEANINGS[key]
        table.add_row(what, f"{value:,.0f}" if value >= 100 else f"{value:.2f}", unit)
    Console().print(table)


def _print_growth(costs: list[growth.Cost]) -> None:
    table = Table("what grows", "to", "wall time [s]", "each [ms]")
    for cost in costs:
        table.add_row(cost.what, f"{cost.size:,.0f}", f"{cost.seconds:.2f}", f"{1000 * cost.each_s:,.2f}")
    Console().print(table)


def _tell_slower(before: dict[str, float], now: dict[str, float]) -> None:
    if before and beside.NS3 not in before.keys() & now.keys():
        print("not compared with the figures before: one of them has no time of ns-3")
    for key, factor in beside.slower(before, now, {key: unit for key, (_, unit) in _MEANINGS.items()}).items():
        print(f"slower than before, in ns-3's time: {_MEANINGS[key][0]}, by {factor - 1:.0%}")


def _say(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


def _steady_state(program: Path, folder: Path) -> dict[str, float]:
    """Queue and rate over the last third of steady.yaml, here and in ns-3."""
    (cell,) = expand(STEADY, "complete")
    execute(resolve(cell, 1), folder)
    traces = run_folder(folder, cell, 1) / "traces"
    start_ns = cell.virtual_s * 1e9 * 2 / 3
    queue_pkts = [float(row["backlog_pkts"]) for row in _rows(traces / "queue.csv", start_ns)]
    acked = [int(row["bytes_acked"]) for row in _rows(traces / "cwnd-ledbat.csv", start_ns)]
    target_ms = cell.settings["flows"][0]["params"]["target_ns"] // 1_000_000
    there = ns3.steady(program, cell.virtual_s, target_ms, cell.settings["bottleneck"]["buffer_pkts"])
    return {
        "steady_queue_pkts": statistics.fmean(queue_pkts),
        "steady_queue_pkts_ns3": there[0],
        "steady_payload_mbps": (acked[-1] - acked[0]) * 8e-6 / (cell.virtual_s / 3),
        "steady_payload_mbps_ns3": there[1] / 1e6,
    }


def _rows(trace: Path, start_ns: float) -> list[dict[str, str]]:
    with trace.open() as file:
        return [row for row in csv.DictReader(file) if int(row["time_ns"]) >= start_ns]


def _best(measure: Callable[[], float]) -> float:
    """The smallest of some repeats: what the machine does when nothing else disturbs it."""
    return min(measure() for _ in range(REPEATS))


def _wall_s(cell: Cell, folder: Path, seed: int = 1) -> float:
    started = time.monotonic()
    execute(resolve(cell, seed), folder, keep=())
    return time.monotonic() - started


def _idle(cell: Cell, switches: str) -> Cell:
    topology = {"name": "two-path" if switches == "ovs" else "dumbbell", "pairs": 2}
    settings = {"topology": topology, "flows": [], "captures": [], "duration_ns": _ONE_S_NS}
    if switches == "ovs":
        settings["delay_b"] = cell.settings["delay"]
    return dataclasses.replace(cell, settings={**cell.settings, **settings}, name=f"idle-{switches}")


def _without_capture(cell: Cell) -> Cell:
    return dataclasses.replace(cell, settings={**cell.settings, "captures": []}, name="uncaptured")


def _reader_packets_per_s(cell: Cell, idle: Cell, folder: Path) -> float:
    """The command line as it is used, writing included; its start, measured on a run without flows, taken off."""
    written = json.loads((run_folder(folder, cell, 1) / "summary.json").read_text())["captured"]
    seconds = _best(functools.partial(_columns_wall_s, cell, folder))
    return float(_pkts(written) / (seconds - _best(functools.partial(_columns_wall_s, idle, folder))))


def _utp_packets_per_cpu_s(idle: Cell, folder: Path) -> float:
    """As above, of a libutp flow; its packets are repeated, so that the start, taken off, is little beside them."""
    (cell,) = expand(UTP, "complete")
    written = execute(resolve(cell, 1), folder, keep=())["captured"]
    repeat_packets(run_folder(folder, cell, 1), "pcap/bottleneck-out.pcap", _UTP_REPEATS)
    seconds = _best(functools.partial(_columns_cpu_s, cell, folder))
    start_s = _best(functools.partial(_columns_cpu_s, idle, folder))
    return float(_pkts(written) * _UTP_REPEATS / (seconds - start_s))


def _pkts(captured: Mapping[str, Mapping[str, int]]) -> int:
    return sum(held["pkts"] for held in captured.values())


def repeat_packets(folder: Path, name: str, times: int) -> None:
    """Let a capture of a run's folder have each of its packets so many times, and a new sum."""
    capture = sums.checked(folder, name).read_bytes()
    (folder / name).write_bytes(capture + capture[_PCAP_HEADER_BYTES:] * (times - 1))
    sums.write(folder, sums.read(folder) | {name: sums.digest(folder / name)})


def _columns_cpu_s(cell: Cell, folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _columns_wall_s(cell, folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _columns_most_mb(cell: Cell, folder: Path) -> float:
    """The most memory that the command holds; it does not grow with the capture."""
    with subprocess.Popen(_columns(cell, folder), stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return usage.ru_maxrss / 1024


def _columns_wall_s(cell: Cell, folder: Path) -> float:
    started = time.monotonic()
    subprocess.run(_columns(cell, folder), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def _columns(cell: Cell, folder: Path) -> list[str]:
    return [sys.executable, "-P", "-m", "analysis", "columns", str(run_folder(folder, cell, 1))]


def _two_guests_s(cell: Cell, folder: Path) -> float:
    """The slower of two at once; each takes a CPU of its own."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return _best(lambda: max(pool.map(lambda seed: _wall_s(cell, folder, seed), (1, 2))))
