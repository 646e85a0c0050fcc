"""Futures of a run: what it would have been if something had been otherwise from an instant on."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Final

from analysis.capture import packed
from analysis.capture.pcap import FILE_HEADER_BYTES
from analysis.capture.records import HEADER_BYTES, records
from analysis.run import Run
from analysis.run_json import NS
from analysis.series import NotMeasuredError
from analysis.watchdog import LIMIT_S, ended_after
from engine.errors import EngineError
from engine.run import folder_of
from scenarios.resolve import changed
from testbed.need import columns_since, needed
from testbed.rewind.history import Past
from testbed.shared.vocabulary import Number, number_of

STUDY: Final = "rewind"
PAST: Final = "past"

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Future:
    """One of a run's futures: from `at_ns` on it draws otherwise (`redraw`, 0: as before) and has other `events`.

    `events` are resolved as in run.json; None keeps those of the run. `captures` are taps beside those of the run.
    """

    past: Past
    at_ns: int
    redraw: int
    events: Events | None
    named: str
    captures: tuple[str, ...]
    into: Path
    expressions: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its run ends up."""
        return folder_of(self.into, self.run)

    @cached_property
    def run(self) -> dict[str, Any]:
        """Its run.json: that of the run, with what is otherwise."""
        run = self.past.run
        before = [event for event in run["events"] if event["at_ns"] < self.at_ns]
        after = [event for event in run["events"] if event["at_ns"] >= self.at_ns]
        drawn = [{"at_ns": self.at_ns, "on": "path", "redraw": self.redraw}] if self.redraw else []
        events = [*before, *drawn, *(after if self.events is None else self.events)]
        captures = list(dict.fromkeys([*run["captures"], *self.captures]))
        return changed(run, study=STUDY, cell=self.named, events=events, captures=captures)


@dataclass(frozen=True)
class FutureResult:
    """What a future gave: its folder, numbers by their expressions, and how many packets of the prefix are the same.

    `unknown` says by their expressions why there is no number.
    """

    folder: Path
    numbers: dict[str, Number]
    same_pkts: int
    unknown: dict[str, str]


def carry_out(future: Future) -> FutureResult:
    """Carry out a future, unless it is there already, and measure it; its packets before the instant must be the run's.

    Raises:
        EngineError: the run failed, or its past differs.
    """
    needed(future.run, future.into, since=columns_since(future.into))
    run = Run(future.folder)
    past = future.folder.parents[1] / PAST / future.folder.name
    same_pkts = 0
    if past != future.folder:
        same_pkts = compared(past, future.folder, future.at_ns, future.past.run["captures"])
    numbers: dict[str, Number] = {}
    unknown = {}
    with ended_after(LIMIT_S, "testbed rewind: the numbers of a run"):
        for text in future.expressions:
            try:
                numbers[text] = number_of(text, run)
            except NotMeasuredError as error:
                numbers[text], unknown[text] = None, str(error)
    return FutureResult(future.folder, numbers, same_pkts, unknown)


def check_past(outcome: FutureResult, past: Past) -> None:
    """Compare the run that was carried out again with what the first one recorded; both have its scenario's captures.

    Raises:
        EngineError: a file of captures or traces has other bytes.
    """
    digests = json.loads((outcome.folder / "summary.json").read_text())["digests"]
    both = [name for name in past.digests if name in digests or not name.startswith("pcap/")]
    if different := [name for name in both if digests.get(name) != past.digests[name]]:
        raise EngineError(
            f"{past.folder}: repeated, it differs in {', '.join(different)}: images or code have changed since"
        )


def compared(past: Path, future: Path, at_ns: int, taps: Sequence[str]) -> int:
    """Return how many captured packets two runs have before an instant, which must be the same, byte by byte.

    Raises:
        EngineError: they are not.
    """
    origin_ns = json.loads((future / "run.json").read_text())["origin_ns"]
    count = 0
    files = captures_at(past, taps)
    for file in files:
        ours = before(file, origin_ns + at_ns)
        if ours != before(future / "pcap" / file.name, origin_ns + at_ns):
            raise EngineError(f"{future}: {file.name} differs before {at_ns / NS:g} s, where both have the same past")
        count += len(ours)
    return count


def captures_at(run: Path, taps: Sequence[str]) -> list[Path]:
    """List the captures of a run at these taps."""
    return [file for tap in taps for file in packed.kept(run) if packed.place(file).partition(".")[0] == tap]


def before(capture: Path, until_ns: int) -> list[bytes]:
    """List the records of a capture before an instant, with their headers."""
    content = packed.content(capture)
    early = takewhile(lambda record: record.time_ns < until_ns, records(content))
    return [content[record.begins - HEADER_BYTES : record.begins + record.kept_bytes] for record in early]


def write_late(capture: Path, from_ns: int, into: Path) -> None:
    """Write the part of a capture that begins with an instant."""
    content = packed.content(capture)
    late = (record.begins - HEADER_BYTES for record in records(content) if record.time_ns >= from_ns)
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_bytes(content[:FILE_HEADER_BYTES] + content[next(late, len(content)) :])
