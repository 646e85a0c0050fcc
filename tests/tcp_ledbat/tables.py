"""The tables of docs/howto/module.md: `python -m tests.tcp_ledbat.tables` carries out their runs.

It takes a quarter of an hour. They are the same on every machine, so tests/reach compares them with the pages.
"""

import itertools
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from engine import images
from engine.run import execute, run_folder
from scenarios.load import read
from scenarios.resolve import expand, resolve

HERE: Final = Path(__file__).parent
PAGE: Final = images.PROJECT / "docs" / "howto" / "module.md"
START, END = "<!-- {}: written by a program of tests/tcp_ledbat -->\n", "<!-- end of {} -->"
PACKET_BITS: Final = 8 * 1500
SLOW_CWND_PKTS: Final = 2
HOSTS_BPS: Final = 50e6
CONTROLS: Final = {
    "cubic": "CUBIC",
    "ledbat": "`ledbat`",
    "ledbat-slow-start": "`ledbat`, `slow_start=1`",
    "ledbatpp": "`ledbatpp`",
}
LINKS: Final = {"100mbit": ("100 Mbit/s", 100e6), "1gbit": ("1 Gbit/s", 1e9)}
ROUND_TRIPS: Final = {"500us": "1 ms", "5ms": "10 ms", "50ms": "100 ms"}
JOINED: Final = {"ledbat": "`ledbat`", "ledbatpp": "`ledbatpp`", "ledbatpp-20": "`ledbatpp`, `target_us=20000`"}
JOINS: Final = {"tcp-cubic": "CUBIC", "tcp-bbr": "BBR"}

SITUATIONS: Final = {
    "quiet": "nothing",
    "loss-tenth": "0.1 % of packets are lost",
    "loss-one": "1 % of packets are lost",
    "aggregation": "packets come in groups, every 10 ms, as over Wi-Fi",
    "silence": "at 30 s nothing comes through for 5 s (suspend and resume)",
    "tunnel": "at 30 s the path leads through a VPN: packets of 1380 bytes, round trips 20 ms longer",
    "nearer": "at 30 s the path is another one: round trips 20 ms shorter",
    "farther": "at 30 s the path is another one: round trips 80 ms longer",
}

Traces = dict[str, pl.DataFrame]


@dataclass(frozen=True)
class Rate:
    """What a flow reaches alone: payload, also of the time between slowdowns, in bit/s; mean queue in ms."""

    bps: float
    between_slowdowns_bps: float
    queue_ms: float


def runs(data: dict[str, Any], *traces: str) -> Iterator[tuple[dict[str, Any], Traces]]:
    """Carry out a scenario; of each cell its values and some traces."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tables" / "scenario.yaml"
        file.parent.mkdir()
        file.write_text(yaml.safe_dump(data))
        for cell in expand(file, "complete"):
            execute(resolve(cell, 1), Path(folder) / "runs")
            kept = run_folder(Path(folder) / "runs", cell, 1) / "traces"
            yield cell.settings["cell_values"], {name: pl.read_csv(kept / f"{name}.csv") for name in traces}


def last_half(trace: pl.DataFrame) -> pl.DataFrame:
    return trace.filter(pl.col("time_ns") >= trace["time_ns"].max() // 2)  # type: ignore[operator]  # an integer


def acked_bps(part: pl.DataFrame) -> float:
    """Rate of the acknowledged payload."""
    return float(8e9 * (part["bytes_acked"][-1] - part["bytes_acked"][0]) / (part["time_ns"][-1] - part["time_ns"][0]))


def cycles(trace: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of a trace of LEDBAT++ the part from its second slowdown to its last one, and the longest part without any.

    The longest part ends where a slowdown begins, and starts a second after the window is what it was before.
    """
    times, windows, thresholds = (trace[name].to_list() for name in ("time_ns", "cwnd_pkts", "ssthresh_pkts"))
    begins = [at for at in range(1, len(times)) if times[at] > 1e9 and windows[at] <= SLOW_CWND_PKTS < windows[at - 1]]
    second, last = begins[1], begins[-1]
    regained = next(at for at in range(begins[-2] + 10, last) if windows[at] >= thresholds[at])
    quiet = trace.filter(pl.col("time_ns").is_between(times[regained] + 10**9, times[last - 1]))
    return trace[second : last + 1], quiet


def rates(timestamps: str = "1ms") -> dict[tuple[str, str], dict[str, Rate]]:
    """By link and one-way delay: what each control reaches."""
    slow = read(HERE / "rates.yaml").data
    slow = {**slow, "tcp": {**slow["tcp"], "timestamps": timestamps}}
    fast = {**slow, "bottleneck": {**slow["bottleneck"], "buffer": "12500p"}}
    short = {**fast, "duration": "40s", "matrix": {"rate": ["1gbit"], "one_way": ["500us", "5ms"]}}
    long = {**fast, "matrix": {"rate": ["1gbit"], "one_way": ["50ms"]}}
    by_case: dict[tuple[str, str], dict[str, Rate]] = {}
    for values, traces in itertools.chain(*(runs(data, "cwnd-f1", "queue") for data in (slow, short, long))):
        _, link_bps = LINKS[values["rate"]]
        queue_pkts = float(last_half(traces["queue"])["backlog_pkts"].to_numpy().mean())
        window = traces["cwnd-f1"]
        whole, quiet = cycles(window) if values["case"] == "ledbatpp" else (last_half(window), last_half(window))
        rate = Rate(acked_bps(whole), acked_bps(quiet), 1e3 * queue_pkts * PACKET_BITS / link_bps)
        by_case.setdefault((values["rate"], values["one_way"]), {})[values["case"]] = rate
    return by_case


def shares() -> dict[str, dict[str, float]]:
    """Share of each control beside CUBIC in the last half, 0 to 1, by the case of clocks.yaml."""
    by_case: dict[str, dict[str, float]] = {}
    for values, traces in runs(read(HERE / "clocks.yaml").data, "cwnd-low", "cwnd-cubic"):
        low, cubic = (acked_bps(last_half(traces[name])) for name in ("cwnd-low", "cwnd-cubic"))
        by_case.setdefault(values["case"], {})[values["control"]] = low / (low + cubic)
    return by_case


def joined() -> dict[tuple[str, str], dict[str, float]]:
    """Share of each control in the last half, 0 to 1, by who joins and the one-way delay of joined.yaml."""
    by_path: dict[tuple[str, str], dict[str, float]] = {}
    for values, traces in runs(read(HERE / "joined.yaml").data, "cwnd-low", "cwnd-joins"):
        low, joins = (acked_bps(last_half(traces[name])) for name in ("cwnd-low", "cwnd-joins"))
        by_path.setdefault((values["joins"], values["one_way"]), {})[values["case"]] = low / (low + joins)
    return by_path


def situations() -> dict[str, dict[str, Rate]]:
    """By the case of hosts.yaml and the control: what a flow reaches in the last half."""
    by_case: dict[str, dict[str, Rate]] = {}
    for values, traces in runs(read(HERE / "hosts.yaml").data, "cwnd-f1", "queue"):
        bps = acked_bps(last_half(traces["cwnd-f1"]))
        queue_pkts = float(last_half(traces["queue"])["backlog_pkts"].to_numpy().mean())
        rate = Rate(bps, bps, 1e3 * queue_pkts * PACKET_BITS / HOSTS_BPS)
        by_case.setdefault(values["case"], {})[values["control"]] = rate
    return by_case


def chunk_s() -> dict[str, float]:
    """By control: how long a piece of chunks.yaml takes, to a sample of 20 ms; the fifth of ten."""
    by_control = {}
    for values, traces in runs(read(HERE / "chunks.yaml").data, "cwnd-chunk-5"):
        times = traces["cwnd-chunk-5"]["time_ns"]
        by_control[values["control"]] = (times[-1] - times[0]) / 1e9
    return by_control


def table_of_rates(by_case: dict[tuple[str, str], dict[str, Rate]]) -> str:
    """In Markdown."""
    names = [*CONTROLS.values(), "`ledbatpp` between slowdowns"]
    lines = ["| link | round-trip time | " + " | ".join(names) + " |", "|---" * (2 + len(names)) + "|"]
    for (link, one_way), by_control in by_case.items():
        cubic_bps = by_control["cubic"].bps
        cells = [
            f"{by_control[control].bps / cubic_bps:.1%}, {by_control[control].queue_ms:.0f} ms" for control in CONTROLS
        ]
        cells.append(f"{by_control['ledbatpp'].between_slowdowns_bps / cubic_bps:.1%}")
        lines.append(f"| {LINKS[link][0]} | {ROUND_TRIPS[one_way]} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def table_of_joined(by_path: dict[tuple[str, str], dict[str, float]]) -> str:
    """In Markdown."""
    lines = ["| joined by | round-trip time | " + " | ".join(JOINED.values()) + " |", "|---" * (2 + len(JOINED)) + "|"]
    for joins, name in JOINS.items():
        for (by, one_way), shares in by_path.items():
            if by == joins:
                round_trip_ms = 2 * int(one_way.removesuffix("ms"))
                cells = " | ".join(f"{shares[case]:.1%}" for case in JOINED)
                lines.append(f"| {name} | {round_trip_ms} ms | {cells} |")
    return "\n".join(lines) + "\n"


def table_of_situations(by_case: dict[str, dict[str, Rate]], chunks: dict[str, float]) -> str:
    """In Markdown."""
    lines = ["| what happens | " + " | ".join(CONTROLS[control.removeprefix("tcp-")] for control in chunks) + " |"]
    lines.append("|---" * (1 + len(chunks)) + "|")
    for case, name in SITUATIONS.items():
        rates = [by_case[case][control] for control in chunks]
        lines.append(
            f"| {name} | " + " | ".join(f"{of.bps / 1e6:.1f} Mbit/s, {of.queue_ms:.0f} ms" for of in rates) + " |"
        )
    lines.append(
        "| 1 MB is sent every 3 s, each time over a new connection | "
        + " | ".join(f"{seconds:.1f} s each" for seconds in chunks.values())
        + " |"
    )
    return "\n".join(lines) + "\n"


def write(page: Path, name: str, table: str) -> None:
    """Put a table into a page."""
    head, _, tail = between(page.read_text(), name)
    page.write_text(head + table + tail)


def between(page: str, name: str) -> tuple[str, str, str]:
    """What stands before, between and behind the marks of a table."""
    head, start, rest = page.partition(START.format(name))
    table, end, tail = rest.partition(END.format(name))
    return head + start, table, end + tail


def main() -> None:
    """Write all tables into the page."""
    write(PAGE, "hosts", table_of_situations(situations(), chunk_s()))
    write(PAGE, "joined", table_of_joined(joined()))
    write(PAGE, "rates", table_of_rates(rates()))


if __name__ == "__main__":
    main()
