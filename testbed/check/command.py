"""Carries out `testbed check`: whether an implementation keeps docs/reference/implementations.md, in short runs."""

import argparse
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis.capture import pcap
from analysis.run.outcomes import with_kind
from engine import images
from engine.errors import EngineError
from engine.guest.programs import PAYLOAD
from engine.run import execute, run_folder
from scenarios.resolve import Cell, changed, expand, resolve
from scenarios.run_files import FAILED
from testbed import arguments
from testbed.check import page
from testbed.check.page import FILE, FORMAT

TRANSFER_BYTES = 1_000_000
ENDLESS_NS = 15_000_000_000  # Transmission lets a peer have data only after 10 s
LATE_NS = 30_000_000_000
NOT_SUPPORTED = 127
_TCP = 6
_LOST_IN_SLOW_START = 0.25  # of the transfer: a window that doubles once too often loses the 142 packets that fit here
_SEED = 1
_SCENARIO = """\
experiment: check
title: What `testbed check` runs
topology: {{name: dumbbell, pairs: 1}}
bottleneck: {{rate: 10mbit, buffer: 100p}}
delay: {{forward: 25ms, backward: 25ms}}
flows: [{{name: checked, implementation: {name}, from: s1, to: d1}}]
duration: 60s
captures: [sender, receiver]
keep_captures: true
"""


@dataclass(frozen=True)
class ContractDemand:
    """A demand of the contract, how the implementation fails it (None: it does not), and the folder of its runs.

    `wastes` says what else its sender did, which no demand forbids.
    """

    demand: str
    wrong: str | None
    runs: str
    wastes: str | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "implementation", nargs="?", help="the implementation under test; default: that of --implementation"
    )
    arguments.add_into(parser, "results/check", "the findings stand above")


def main(options: argparse.Namespace) -> int:
    """Print what is right and wrong with an implementation, and make a page of it; return 0 if all is right.

    Captures, logs and the page are kept in the folder --into/<its name>; those of an earlier check are replaced.

    Raises:
        EngineError: there is no such implementation, it has not been built, or the folder holds something else.
    """
    name = arguments.only(options.implementation, options.elsewhere)
    _is_program(name)  # what is asked for wrongly removes nothing
    folder = options.into / name
    _empty(folder)
    findings: list[ContractDemand] = []
    complete = False
    try:
        _keep(folder, name, findings, complete)
        for finding in check(name, folder):
            findings.append(finding)
            because = f": {finding.wrong}" * bool(finding.wrong)
            print(f"{'wrong' if because else 'ok':6} {finding.demand}{because}", flush=True)
            if finding.wastes:
                print(f"wastes {finding.wastes}", flush=True)
        complete = True
    finally:
        _keep(folder, name, findings, complete)
        print(f"page   {page.write(folder, options.again)}", flush=True)
    return int(any(finding.wrong for finding in findings))


def _empty(folder: Path) -> None:
    """Remove what an earlier check left.

    Raises:
        EngineError: no check left it.
    """
    if folder.exists():
        if not (folder / FILE).is_file():
            raise EngineError(f"{folder}: found other files; allowed: a new folder, or the folder of an earlier check")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)


def _keep(folder: Path, name: str, findings: Sequence[ContractDemand], complete: bool) -> None:
    document = {
        "format": FORMAT,
        "implementation": name,
        "complete": complete,
        "findings": [asdict(finding) for finding in findings],
    }
    (folder / FILE).write_text(json.dumps(document, indent=1) + "\n")


def _is_program(name: str) -> bool:
    is_program = bool(arguments.known([name])[name]["kind"] == "program")
    if is_program:
        images.program(name)  # without it, every demand would be reported as unmet
    return is_program


def check(name: str, folder: Path) -> Iterator[ContractDemand]:
    """Yield each demand in turn with what was found; runs go into `folder`."""
    is_program = _is_program(name)
    scenario = folder / "check" / "check.yaml"
    scenario.parent.mkdir()
    scenario.write_text(_SCENARIO.format(name=name))
    (cell,) = expand(scenario, "complete")
    runs = "runs/transfer"
    wrong = _transfer(cell, folder / runs, is_program, arguments.known([name])[name]["transport"])
    yield ContractDemand("transfers 1 MB from sender to receiver", wrong, runs, _wastes(folder / runs))
    runs = "runs/endless"
    demand = "sends without end until SIGTERM, and ends within a virtual second of it"
    yield ContractDemand(demand, _endless(cell, folder / runs), runs)
    if is_program:
        runs = "runs/late"
        yield ContractDemand("as receiver, waits half a minute for its sender", _late(cell, folder / runs), runs)
        for role in ("receiver", "sender"):
            runs = f"runs/unknown-to-{role}"
            demand = f"as {role}, answers an unknown parameter with {NOT_SUPPORTED}"
            yield ContractDemand(demand, _unknown(cell, folder / runs, role), runs)


def _transfer(cell: Cell, into: Path, is_program: bool, transport: str) -> str | None:
    def change(flow: dict[str, Any]) -> None:
        flow["bytes"] = TRANSFER_BYTES
        flow["payload"] = PAYLOAD

    try:
        summary = execute(_changed(cell, change), into)
    except EngineError as error:
        return _how(cell, into, error)
    flow = summary["flows"]["checked"]
    if flow["completed_ns"] is None:
        return f"not done after {cell.virtual_s:g} s at 10 Mbit/s"
    if flow["received_bytes"] != TRANSFER_BYTES:
        return f"the receiver reports {flow['received_bytes']} bytes"
    folder = run_folder(into, cell, _SEED)
    wrong = _wrong_payload(folder / "logs" / "checked.receiver") if is_program else None
    return wrong or _other_transport(folder / "pcap" / "sender.pcap", transport)


def _wrong_payload(logs: Path) -> str | None:
    arrived = logs / Path(PAYLOAD).name
    if not arrived.is_file():
        return "the receiver has not put what arrived into the file PAYLOAD"
    arrived_bytes = arrived.stat().st_size
    expected = b"".join(number.to_bytes(8, "big") for number in range(TRANSFER_BYTES // 8))
    if arrived_bytes != TRANSFER_BYTES or arrived.read_bytes() != expected:  # a foreign file may be of any size
        return f"the {arrived_bytes} bytes in PAYLOAD differ from the payload"
    return None


def _other_transport(capture: Path, transport: str) -> str | None:
    """Compare what `transport` says with the packets that carry most of the data."""
    over_udp = pl.when(pl.col("utp_header_bytes") > 0).then(pl.lit("utp")).otherwise(pl.lit("udp"))
    spoken = pl.when(pl.col("proto") == _TCP).then(pl.lit("tcp")).otherwise(over_udp)
    parts = [chunk.packets.filter(pl.col("payload_bytes") > 0) for chunk in pcap.read_chunks(capture)]
    by_bytes = pl.concat(parts).group_by(spoken.alias("spoken")).agg(pl.col("payload_bytes").cast(pl.Int64).sum())
    actual = str(by_bytes.sort("payload_bytes")["spoken"][-1])
    return None if actual == transport else f"its packets are {actual}; allowed: {transport}, as its `transport` says"


def _wastes(runs: Path) -> str | None:
    """Say how much more than the transfer's bytes the sender's packets carried, if that is more than one slow start."""
    capture = next(runs.glob("*/*/*/seed-*/pcap/sender.pcap"), None)
    if capture is None:
        return None
    parts = [chunk.packets.select("src", "payload_bytes") for chunk in pcap.read_chunks(capture)]
    by_host = pl.concat(parts).group_by("src").agg(pl.col("payload_bytes").cast(pl.Int64).sum())
    sent = int(by_host["payload_bytes"].max())  # type: ignore[arg-type]
    if sent <= (1 + _LOST_IN_SLOW_START) * TRANSFER_BYTES:
        return None
    more = 100 * (sent / TRANSFER_BYTES - 1)
    return f"its sender sent {sent:,} bytes of data for {TRANSFER_BYTES:,}, {more:.0f} % more"


def _endless(cell: Cell, into: Path) -> str | None:
    def change(flow: dict[str, Any]) -> None:
        flow["stop_ns"] = ENDLESS_NS

    try:
        execute(_changed(cell, change, duration_ns=ENDLESS_NS + 1_000_000_000), into)
    except EngineError as error:
        return _how(cell, into, error)
    return None


def _late(cell: Cell, into: Path) -> str | None:
    def change(flow: dict[str, Any]) -> None:
        flow["start_ns"] = LATE_NS
        flow["stop_ns"] = LATE_NS + ENDLESS_NS

    try:
        execute(_changed(cell, change, duration_ns=LATE_NS + ENDLESS_NS + 1_000_000_000), into)
    except EngineError as error:
        return _how(cell, into, error)
    return None


def _unknown(cell: Cell, into: Path, role: str) -> str | None:
    def change(flow: dict[str, Any]) -> None:
        flow["unknown_to"] = [role]

    try:
        execute(_changed(cell, change, duration_ns=2_000_000_000), into)
    except EngineError as error:
        failed = run_folder(into, cell, _SEED).with_name(f"{FAILED}seed-{_SEED}")
        try:
            status = json.loads((failed / "summary.json").read_text())["flows"]["checked"][f"{role}_exit"]
        except (FileNotFoundError, KeyError, TypeError):
            return str(error)
        return None if status == NOT_SUPPORTED else f"it exited with {status}"
    return "it was ignored"


def _how(cell: Cell, into: Path, error: EngineError) -> str:
    """Say why a run failed, and first how the flow ended, where that is known."""
    summary = run_folder(into, cell, _SEED).with_name(f"{FAILED}seed-{_SEED}") / "summary.json"
    said = json.loads(summary.read_text()) if summary.exists() else {}
    return with_kind(str(error), said.get("flows") or {})


def _changed(cell: Cell, change: Callable[[dict[str, Any]], None], **settings: Any) -> dict[str, Any]:
    run = resolve(cell, _SEED) | settings
    run["flows"][0]["stop_ns"] = run["duration_ns"]
    change(run["flows"][0])
    return changed(run)
