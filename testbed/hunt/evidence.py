"""What is kept of a finding: its scenario, a run with captures, a picture, packets, and texts to pass on."""

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from analysis.claims.question import Question
from analysis.files import write_text
from analysis.judge.statement import SIGNS
from analysis.report.evidence import command_of
from analysis.report.formats import texts_with_unit
from analysis.run import Run
from analysis.runs import Runs
from scenarios import homes
from scenarios.cell_names import SINGLE
from scenarios.resolve import COMPLETE
from testbed.hunt.hunt import SEED, Finding, parts
from testbed.hunt.measure import MeasuredRuns
from testbed.hunt.question import HuntQuestion
from testbed.hunt.scenario import EXPERIMENT, Data, text
from testbed.shared import pictures
from testbed.shared.packets import TAP, ShownPacket, around
from testbed.shared.units import unit
from testbed.shared.vocabulary import Number, number_of

SCENARIO: Final = "scenario.yaml"
AUTHORS: Final = "authors.md"
UNFINISHED: Final = "not minimal yet: the budget was over before; a larger one continues"
_CAPTURES: Final = ("bottleneck-in", "bottleneck-out", TAP, "receiver")


@dataclass(frozen=True)
class FindingEvidence:
    """A finding as pages show it. Paths are relative to the hunt's folder; numbers are those of the first seed."""

    id: str
    property: str
    says: str
    otherwise: str
    because: str
    holds: str
    scenario: str
    first: str
    parts: list[str]
    measured: Number
    bound: Number
    shown: list[str]  # both with their unit
    ended: list[str]
    survival: str
    is_minimal: bool
    is_fragile: bool
    runs: int
    command: str
    rewind: str
    run: str
    picture: str
    instant_s: float
    packets: list[ShownPacket]
    budget: str
    authors: str


def keep(finding: Finding, number: int, question: HuntQuestion, folder: Path) -> FindingEvidence:
    """Carry out a finding's run with captures, and write all that is kept of it; `number` counts from 1.

    Raises:
        EngineError: the run failed.
    """
    own = folder / "findings" / f"{number}-{finding.prop.name}"
    scenario = titled(finding, question.client)
    write_text(own / SCENARIO, text(scenario))
    captured = scenario | {"captures": list(_CAPTURES), "keep_captures": True}
    run = Run(question.runs.keep(captured, SEED, own / "runs"))
    _draw(run, own)
    measured, bound = _numbers(finding, question)
    instant_s = number_of(finding.prop.instant, run)
    instant_s = instant_s if math.isfinite(instant_s) else run.duration / 2
    place = own.relative_to(folder)
    evidence = FindingEvidence(
        id=own.name,
        property=finding.prop.name,
        says=finding.prop.says,
        otherwise=finding.prop.otherwise,
        because=finding.prop.because,
        holds=finding.prop.holds,
        scenario=text(scenario),
        first=text(finding.first),
        parts=sorted(parts(finding.scenario)),
        measured=_finite(measured),
        bound=_finite(bound),
        shown=_shown(finding, measured, bound),
        ended=[str(outcome) for outcome in run.outcomes(run.settings.flows[0].name)],
        survival=str(finding.survival or UNFINISHED),
        is_minimal=finding.survival is not None,
        is_fragile=finding.survival is not None and finding.survival.is_fragile,
        runs=finding.runs,
        command=command_of({"cell": SINGLE, "seed": SEED, "size": COMPLETE}, str(own / SCENARIO)),
        rewind=shlex.join(
            ["testbed", "rewind", str(run.folder), "--at", f"{max(0.0, instant_s - 1):.1f}s", *homes.named()]
        ),
        run=str(run.folder.relative_to(folder)),
        picture=str(place / "figure"),
        instant_s=instant_s,
        packets=around(run, instant_s),
        budget=_budget(finding, bound),
        authors=str(place / AUTHORS),
    )
    write_text(own / AUTHORS, for_authors(evidence, question.client, _versions(run)))
    return evidence


def titled(finding: Finding, client: str) -> Data:
    """Return a finding's scenario with a title that says what happens."""
    return finding.scenario | {"title": f"{client} {finding.prop.otherwise}"}


def _finite(value: Number) -> Number:
    return value if value is not None and math.isfinite(value) else None


def _shown(finding: Finding, *numbers: Number) -> list[str]:
    known = [number for number in numbers if number is not None]
    return texts_with_unit(known, unit(finding.prop.measured))


def _draw(run: Run, folder: Path) -> None:
    ask = Question(Runs(folder / "runs"), EXPERIMENT, {})
    pictures.draw(folder / "figure", ask, [{"cell": run.settings.cell}])


def _numbers(finding: Finding, question: HuntQuestion) -> tuple[Number, Number]:
    """Return what was measured with the first seed, and its bound."""
    runs: MeasuredRuns = question.runs
    own = runs.of(finding.scenario, SEED).numbers
    other = finding.prop.other(finding.scenario, question.baseline)
    beside = runs.of(other, SEED).numbers.get(finding.prop.measured) if other else None
    return own[finding.prop.measured], finding.prop.bound_of(own, beside)


def _budget(finding: Finding, bound: Number) -> str:
    """Return the line of a gate's file; where two scenarios are compared, the bound is what the other one gave."""
    name = next(field for field, sign in SIGNS.items() if sign == finding.prop.sign)
    limit = float(f"{bound:.6g}") if finding.prop.comparison else finding.prop.bound
    entry = {"id": finding.prop.says.rstrip("."), "scenario": SCENARIO, "measure": finding.prop.measured, name: limit}
    return yaml.safe_dump([entry], default_flow_style=True, sort_keys=False, width=1 << 20).strip()[1:-1]


def _versions(run: Run) -> dict[str, str]:
    return run.summary.maybe("versions", dict) or {}


def for_authors(evidence: FindingEvidence, client: str, versions: dict[str, str]) -> str:
    """Write what the client's authors need: what happens, how to see it, and what was not looked at."""
    version = f" (version {versions[client]})" if versions.get(client) else ""
    needs = f" It has {_listed(evidence.parts)}." if evidence.parts else ""
    if evidence.parts and evidence.is_minimal:
        needs = f" It needs {_listed(evidence.parts)}: without any of these, the property holds."
    ended = "".join(f"\nThe client {sentence}.\n" for sentence in evidence.ended)
    packets = "\n".join(map(str, evidence.packets))
    return f"""# {client} {evidence.otherwise}

What should hold: {evidence.says} {evidence.because}

With the scenario below, {client}{version} breaks that.{needs} {evidence.survival[0].upper()}{evidence.survival[1:]}.
{ended}
```yaml
{evidence.scenario}```

Measured with seed {SEED}: `{evidence.holds}` does not hold. The run repeats byte for byte:
`testbed run {SCENARIO} --seed {SEED}`.

At the sender, around {evidence.instant_s:.3f} s (`->` is sent by it):

```
{packets}
```

The cause was not looked for: no code of the client was changed.
"""


def _listed(words: Iterable[str]) -> str:
    *most, last = [f"`{word}`" for word in words]
    return f"{', '.join(most)} and {last}" if most else last
