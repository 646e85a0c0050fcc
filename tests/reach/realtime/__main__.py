"""Virtual time beside real time: `python -m tests.reach.realtime [--case NAME]... [--real N] [--into FILE]`.

Each cell of scenarios.yaml runs in virtual time, and on the kernel that this host has, between two network namespaces
with wire.c as the path. Root is not needed, and nothing is left. Both sides give times of packets at the bottleneck, of
which the same numbers are made. The cells of groups.yaml and noise.yaml run in virtual time only.
"""

import argparse
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from analysis.capture.columns import write_columns
from analysis.run import Run
from engine import images
from engine.cpu_slots import all_cpus
from engine.run import execute, run_folder
from images import programs
from images.cache import Store, default_root
from scenarios.resolve import Cell, expand, resolve

FOLDER: Final = Path(__file__).parent
RECORDED: Final = FOLDER / "recorded.json"
BOTH: Final = "cells"
KINDS: Final = {BOTH: "scenarios.yaml", "groups": "groups.yaml", "noise": "noise.yaml"}
"""Files of cases, by the names under which their numbers are recorded."""
FROM_S: Final = 10.0
"""All numbers are those of the time from here to the end: slow start is over."""
_SPARE_S = 2
_NS = 1_000_000_000


@dataclass(frozen=True)
class Numbers:
    """What a run shows at the bottleneck; the late ones are None in virtual time, where nothing is late."""

    mbit_s: dict[str, float]
    wait_ms: float
    wait_p95_ms: float
    loss_percent: float
    late_ms: float | None = None
    late_p99_ms: float | None = None
    load: float | None = None


def numbers(passages: pl.DataFrame, rates_bps: Mapping[str, float], until_s: float) -> Numbers:
    """Return the numbers of packets with `time_ns`, `left_ns` and `dropped`, as `analysis.bottleneck.passages`."""
    offered = passages.filter(pl.col("time_ns").is_between(FROM_S * _NS, until_s * _NS, closed="left"))
    waits_ms = offered.filter(pl.col("left_ns").is_not_null()).select((pl.col("left_ns") - pl.col("time_ns")) / 1e6)
    waited = waits_ms.to_series()
    dropped = offered["dropped"].mean()
    mean_ms, p95_ms = waited.mean(), waited.quantile(0.95)
    assert isinstance(dropped, float)
    assert isinstance(mean_ms, float)
    assert p95_ms is not None
    return Numbers({name: bps / 1e6 for name, bps in rates_bps.items()}, mean_ms, p95_ms, 100 * dropped)


def in_virtual_time(cell: Cell, seed: int, into: Path) -> tuple[dict[str, Any], Numbers]:
    """Return the run.json and the numbers of a run in virtual time."""
    execute(resolve(cell, seed), into)
    folder = run_folder(into, cell, seed)
    write_columns(folder)
    run = Run(folder)
    settings: dict[str, Any] = json.loads((folder / "run.json").read_text())
    rates_bps = {flow["name"]: run.throughput(flow["name"], FROM_S) for flow in _forward(settings)}
    return settings, numbers(run.passages, rates_bps, cell.virtual_s)


def in_real_time(run: Mapping[str, Any], wire: Path) -> Numbers:
    """Return the numbers of the same run on this host's kernel, with how late packets came from the path.

    Raises:
        RuntimeError: a part of it failed, or nothing came of a flow.
    """
    seconds = run["duration_ns"] // _NS
    with tempfile.TemporaryDirectory(prefix="testbed-realtime-") as name:
        logs = Path(name)
        origin_ns = time.time_ns() + _SPARE_S * _NS
        for side, host in (("sender", "s1"), ("receiver", "d1")):
            # without the host's privileges, a receiver cannot ask for its buffer; the sysctl gives each the same
            buffers = {"net/ipv4/tcp_rmem": "4096 {0} {0}".format(run["sizes"]["receive_buffer_bytes"])}
            sysctls = {**run["hosts"][host]["sysctls"], **buffers}.items()
            (logs / f"{side}.sysctls").write_text("".join(f"{path} {value}\n" for path, value in sysctls))
        for flow in run["flows"]:
            _write_endpoints(run, flow, logs, origin_ns)
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "ORIGIN_NS": str(origin_ns),
            "SECONDS": str(seconds + _SPARE_S),  # what leaves the queue in the last second is noted on arrival
            "FORWARD": _way(run, "forward", run["bottleneck"]),
            "BACKWARD": _way(run, "backward", run["backward_bottleneck"]),
            "SEED": str(run["seed"]),
            "CHANGES": " ".join(f"{e['at_ns']}:{e['rate_bps']}" for e in run["events"] if e["on"] == "bottleneck"),
            "ROUTE_OPTIONS": run["hosts"]["s1"]["route_options"],
        }
        done = subprocess.run(
            [*_walls(run, logs, wire), "sh", "/run/path.sh"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds + 60,
            check=False,
        )
        load = os.getloadavg()[0]
        words = (logs / "words").read_text() if (logs / "words").exists() else ""
        if done.returncode:
            raise RuntimeError(f"{run['cell']}: {done.stderr}{words}")
        packets = pl.read_csv(io.BytesIO((logs / "packets.csv").read_bytes()))
    passages = packets.with_columns(
        left_ns=pl.when(pl.col("left_ns") >= 0).then("left_ns"), dropped=pl.col("left_ns") < 0
    )
    counted = passages.filter(pl.col("left_ns").is_between(FROM_S * _NS, seconds * _NS, closed="left"))
    rates_bps = {
        flow["name"]: 8 * int(counted.filter(pl.col("dport") == flow["port"])["bytes"].sum()) / (seconds - FROM_S)
        for flow in _forward(run)
    }
    if idle := [name for name, rate in rates_bps.items() if not rate]:
        raise RuntimeError(f"{run['cell']}: nothing came of {', '.join(idle)}: {words}")
    found = asdict(numbers(passages, rates_bps, seconds))
    late_ms = passages.filter(~pl.col("dropped"))["late_ns"] / 1e6
    return Numbers(**found | {"late_ms": late_ms.median(), "late_p99_ms": late_ms.quantile(0.99), "load": load})


def _forward(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [flow for flow in run["flows"] if flow["direction"] == "forward"]


def _way(run: Mapping[str, Any], way: str, bottleneck: Mapping[str, int] | None) -> str:
    """Return what wire.c takes for a way."""
    of_path: dict[str, int] = {}
    for event in run["events"]:
        if event["on"] == "path":
            assert event["at_ns"] == 0, "wire.c changes nothing but the rate"
            of_path |= {what: sides[f"{way}_{unit}"] for what, unit, sides in _units(event) if f"{way}_{unit}" in sides}
    limiter = [bottleneck["rate_bps"], bottleneck["buffer_pkts"]] if bottleneck else [0, 0]
    return ":".join(map(str, [*limiter, run["delay"][f"{way}_ns"], of_path.get("jitter", 0), of_path.get("loss", 0)]))


def _units(event: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, int]]]:
    return ((what, unit, event[what]) for what, unit in (("jitter", "ns"), ("loss", "ppm")) if what in event)


def _write_endpoints(run: Mapping[str, Any], flow: Mapping[str, Any], logs: Path, origin_ns: int) -> None:
    """Write the shell scripts of both ends of a flow; the first line says on which host they run."""
    backward = flow["direction"] != "forward"
    addresses = ["10.0.0.2", "10.0.0.1"] if not backward else ["10.0.0.1", "10.0.0.2"]
    about, port = run["implementations"][flow["implementation"]], flow["port"]
    start_ns, stop_ns = (origin_ns + flow[at] for at in ("start_ns", "stop_ns"))
    for role, peer in (("sends", addresses[0]), ("receives", addresses[1])):
        own = logs / f"{flow['name']}-{role}"
        own.mkdir()
        host = "sender" if (role == "sends") != backward else "receiver"
        if about["kind"] == "kernel-tcp":
            words = f"receive 4 {port} 0 1"
            if role == "sends":
                control, sample_ns = about["congestion_control"], run["sample_ns"]
                words = f"send {peer} {port} {control} 0 {start_ns} {stop_ns} {sample_ns} {origin_ns}"
                words += f" /run/logs/{own.name}/cwnd"
            command = f"exec /opt/tools/bulk {words}"
        else:
            role_word = {"sends": "sender", "receives": "receiver"}[role]
            settings = {
                "LOGDIR": f"/run/logs/{own.name}",
                "ROLE": role_word,
                "PEER": peer,
                "PORT": port,
                "SEED": run["seed"],
                "PARAMS": f"'{json.dumps(flow['params'])}'",
                "ORIGIN_NS": origin_ns,
                "SAMPLE_NS": run["sample_ns"],
                "DURATION": (flow["stop_ns"] - flow["start_ns"]) / 1e9,
            }
            exports = " ".join(f"{name}={value}" for name, value in settings.items())
            wait_s = max(0.0, (start_ns - time.time_ns()) / 1e9) if role == "sends" else 0
            command = f"sleep {wait_s:.3f}\nexport {exports}\nexec /opt/programs/{flow['implementation']}/endpoint"
        (logs / own.name).with_suffix(f".{role}").write_text(f"# {host}\n{command}\n")


def _walls(run: Mapping[str, Any], logs: Path, wire: Path) -> list[str]:
    """Return the words that start a command in namespaces of its own, with the guest's files and this kernel."""
    boot = images.load()
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--uid", "0", "--gid", "0", "--cap-add", "ALL"]
    words += ["--ro-bind", str(boot.rootfs), "/", "--proc", "/proc", "--dev", "/dev"]
    words += ["--dev-bind", "/dev/net/tun", "/dev/net/tun", "--tmpfs", "/tmp", "--tmpfs", "/run", "--tmpfs", "/opt"]
    words += ["--ro-bind", str(boot.tools), "/opt/tools", "--bind", str(logs), "/run/logs"]
    words += ["--ro-bind", str(wire), "/run/wire", "--ro-bind", str(FOLDER / "path.sh"), "/run/path.sh"]
    for name, about in run["implementations"].items():
        if about["kind"] == "program":
            words += ["--ro-bind", str(images.program(name).files), f"/opt/programs/{name}"]
    return words


def build_wire(into: Path) -> Path:
    """Compile wire.c."""
    wire = into / "wire"
    flags = ["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", str(wire), str(FOLDER / "wire.c")], check=True)
    return wire


def compared(cell: Cell, real: int, into: Path, wire: Path) -> dict[str, Any]:
    """Return the numbers of all seeds of a cell, of the first in real time, too, which has all CPUs of the testbed."""
    _build_programs(cell)
    found: dict[str, list[Numbers]] = {"virtual": [], "real": []}
    for seed in cell.seeds:
        run, virtual = in_virtual_time(cell, seed, into)
        found["virtual"].append(virtual)
        if seed <= real:
            with all_cpus():
                found["real"].append(in_real_time(run, wire))
    print(cell.name, *(f"  {side}: {each}" for side, all_of in found.items() for each in all_of), sep="\n", flush=True)
    return {side: [asdict(each) for each in all_of] for side, all_of in found.items()}


def _build_programs(cell: Cell) -> None:
    for name in {flow["implementation"] for flow in cell.settings["flows"]}:
        if cell.known[name]["kind"] == "program":
            programs.build(Store(default_root()), lambda _: None, name)


def table(recorded: Mapping[str, Any]) -> str:
    """Return the page's table: of each number the smallest and largest of the runs, in both times."""
    lines = [
        "| scenario | rate, virtual time | rate, real time | wait, virtual time | wait, real time |",
        f"|{'---|' * 5}",
    ]
    for case, sides in recorded["cells"].items():
        shown = [_shown(sides[side]) for side in ("virtual", "real")]
        *flows, wait = shown[0]
        rates = (
            ", ".join(f"{_name(flow) if len(flows) > 1 else ''}{_ends(of[flow])}" for flow in flows) for of in shown
        )
        waits = (_ends(of[wait]) for of in shown)
        lines.append(f"| {' | '.join((case, *rates, *waits))} |")
    return "\n".join(lines)


def _name(number: str) -> str:
    return f"{number.removesuffix(', Mbit/s')} "


def changed(recorded: Mapping[str, Any]) -> str:
    """Return the page's second table: cases with packets in groups, and between hosts that wake up late."""
    head = ("scenario", "number", "without", "with groups of", "with late hosts", "real time")
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for case, late in recorded["noise"].items():
        by_length = {
            length: _shown(runs)
            for name, runs in recorded["groups"].items()
            for of, _, length in [name.rpartition("-")]
            if of == case
        }
        sides = [_shown(runs) for runs in (recorded["cells"][case]["virtual"], late, recorded["cells"][case]["real"])]
        for number in sides[0]:
            groups = "; ".join(
                f"{length.removesuffix('ms')} ms: {_ends(numbers[number])}" for length, numbers in by_length.items()
            )
            without, late_hosts, real = (_ends(side[number]) for side in sides)
            lines.append(f"| {case} | {number} | {without} | {groups} | {late_hosts} | {real} |")
    return "\n".join(lines)


def _shown(runs: Sequence[Mapping[str, Any]]) -> dict[str, list[float]]:
    """Return what the tables show of runs, by the number's name."""
    rates = {f"{flow}, Mbit/s": [run["mbit_s"][flow] for run in runs] for flow in runs[0]["mbit_s"]}
    return rates | {"wait, ms": [run["wait_ms"] for run in runs]}


def _ends(values: Sequence[float]) -> str:
    least, most = (f"{value:.2f}" if value < 10 else f"{value:.1f}" for value in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def main() -> int:
    """Run what was asked for, add it to what is recorded, print the page's tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.reach.realtime", description=__doc__)
    parser.add_argument("--case", action="append", help="only this case; may be repeated")
    of = "only cases of this kind: in both times, with groups, or with late hosts; may be repeated"
    parser.add_argument("--of", action="append", choices=KINDS, help=of)
    parser.add_argument("--real", type=int, default=3, help="runs of each case in real time; default: %(default)s")
    parser.add_argument("--into", type=Path, default=RECORDED, help="file of results; default: %(default)s")
    options = parser.parse_args()
    recorded = json.loads(options.into.read_text()) if options.into.exists() else {kind: {} for kind in KINDS}
    with tempfile.TemporaryDirectory(prefix="testbed-realtime-") as name:
        runs, wire = Path(name) / "runs", build_wire(Path(name))
        for kind in options.of or KINDS:
            for cell in expand(FOLDER / KINDS[kind], "complete"):
                case = cell.name.removeprefix("case=")
                if options.case is not None and case not in options.case:
                    continue
                if kind == BOTH:
                    recorded["kernel"], recorded["cpus"] = platform.release(), os.cpu_count()
                    recorded[kind][case] = compared(cell, options.real, runs, wire)
                else:
                    _build_programs(cell)
                    recorded[kind][case] = [asdict(in_virtual_time(cell, seed, runs)[1]) for seed in cell.seeds]
                options.into.write_text(json.dumps(recorded, indent=1) + "\n")
    print(table(recorded), changed(recorded), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
