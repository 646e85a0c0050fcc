"""What ns-3's LEDBAT gives where the papers have a linear LEDBAT, as a table in Markdown.

Run `python -m testbed.tables ns-3`; it needs Debian's libns3-dev. Beside each value stand the paper's and the mean of
the reference set's runs. In ns-3 3.37 LEDBAT does not grow without slow start, so all flows begin with it.
"""

import json
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.bench import ns3
from scenarios import CLAIMS, tables

_WORKFLOWS = Path(__file__).parents[2] / "workflows"
_PAYLOAD_BYTES = 1448
_FLOW_BYTES = 100_000_000
_EVERY = ("--targetMs=25", "--ackEvery=1", "--sampleS=0.1")


@dataclass(frozen=True)
class _Cell:
    """A claim, what stands for its runs in ns-3, and the claim's number there."""

    study: str
    file: str
    claim: str
    settings: tuple[str, ...]
    measure: Callable[[Sequence[ns3.Sample]], float]


def _jain(start_s: float) -> Callable[[Sequence[ns3.Sample]], float]:
    """Jain's index of two flows from `start_s` on."""

    def of(run: Sequence[ns3.Sample]) -> float:
        before = next(sample for sample in run if sample.at_s >= start_s).received_bytes
        first, second = (after - early for after, early in zip(run[-1].received_bytes, before, strict=True))
        return (first + second) ** 2 / (2 * (first**2 + second**2))

    return of


def _done_s(flow: int) -> Callable[[Sequence[ns3.Sample]], float]:
    """When all of a flow's bytes have arrived."""
    return lambda run: next((sample.at_s for sample in run if sample.received_bytes[flow] >= _FLOW_BYTES), math.inf)


def _smallest_window_s(after_s: float) -> Callable[[Sequence[ns3.Sample]], float]:
    """When the window first is as small as it gets after `after_s`."""

    def of(run: Sequence[ns3.Sample]) -> float:
        later = [sample for sample in run if sample.at_s > after_s]
        return min(later, key=lambda sample: sample.window_bytes[0] // _PAYLOAD_BYTES).at_s

    return of


_TABLE1 = ("--flows=ledbat@0,ledbat@10", "--rate=10Mbps", "--oneWayMs=25", "--buffer=50", "--window=1", "--seconds=300")
_FIG2A = ("--flows=newreno@0,ledbat@0", "--rate=10Mbps", "--oneWayMs=25", "--buffer=40", "--window=1", "--seconds=20")
_FIG1 = (
    f"--flows=ledbat@0:{_FLOW_BYTES},ledbat@15:{_FLOW_BYTES}",
    *("--rate=10Mbps", "--oneWayMs=20", "--buffer=60", "--window=3", "--seconds=240"),
)
# the delay of ns-3's link is that of both directions
_FIG4 = (
    *("--flows=ledbat@0", "--rate=2Mbps", "--oneWayMs=130", "--buffer=100", "--window=1", "--seconds=300"),
    *("--changeS=120", "--changedMs=190"),
)
_CELLS = (
    _Cell("icccn", "table1-ledbat", "e47", _TABLE1, _jain(10)),
    _Cell("icccn", "fig2a", "e01", _FIG2A, _jain(0)),
    _Cell("eunice", "fig1", "e01", _FIG1, _done_s(1)),
    _Cell("eunice", "fig1", "e02", _FIG1, lambda run: max(_done_s(0)(run), _done_s(1)(run))),
    _Cell("aina", "fig4", "e01", _FIG4, _smallest_window_s(120)),
)


def main(_words: list[str]) -> int:
    """Print the table; without ns-3, say what is missing."""
    if not ns3.is_installed():
        print("ns-3 is missing: install libns3-dev", file=sys.stderr)
        return 1
    print("| claim | paper | here | ns-3 |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        program = ns3.build(Path(folder))
        runs = {settings: ns3.samples(program, *_EVERY, *settings) for settings in {cell.settings for cell in _CELLS}}
    for cell in _CELLS:
        title, paper, here = _known(cell)
        there = cell.measure(runs[cell.settings])
        print(f"| {title} | {paper} | {here:.4g} | {'never' if math.isinf(there) else format(there, '.4g')} |")
    return 0


def _known(cell: _Cell) -> tuple[str, str, float]:
    """Of a claim its title, the paper's value, and the mean of the reference set's seeds."""
    file = _WORKFLOWS / "studies" / cell.study / f"{cell.file}{CLAIMS}"
    registered = tables.read(file).data
    claim = next(claim for claim in registered["claims"] if claim["id"] == cell.claim)
    reference = json.loads((_WORKFLOWS / "reference" / f"{registered['experiment']}.json").read_text())
    by_seed = dict(reference["claims"])[f"{registered['experiment']}/{cell.claim}"]["by_seed"]
    return claim["title"], claim["paper"], statistics.fmean(by_seed.values())
