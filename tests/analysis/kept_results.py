"""Results as `measure` writes them, built from the reference set: real numbers of all experiments, without a run."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis import measure
from analysis.claims import registry
from analysis.claims.registry import Claim, Experiment, Extra, Study
from analysis.documents import Fields
from analysis.figures.numbers import as_json
from analysis.judge.spread import spread
from analysis.reference.files import files
from common import sums
from scenarios import tables
from scenarios.implementations import split_sides
from tests.analysis.synthetic import vouch

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "workflows/studies"
REFERENCE = ROOT / "workflows/reference"
FIGURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 240" width="680" height="240">'
    '<path d="M40 200 L200 60 L360 180 L640 40" fill="none" stroke="#0072B2" stroke-width="2"/></svg>'
)


class _Kept:
    """Answers like a Question, with what the reference set has on one claim."""

    own_cell = None

    def __init__(self, kept: dict[str, Any] | None, experiment: str) -> None:
        self._experiment = experiment
        self._kept = kept or {"by_seed": None, "held": None}

    def numbers(self, *_: object) -> tuple[dict[int, float], dict[str, str]]:
        return {
            seed: float("inf") if value == "never" else value for seed, value in _in_order(self._kept["by_seed"])
        }, {}

    def reads(self, *_: object) -> list[tuple[str, str]]:
        return [(self._experiment, "single")]

    def truths(self, *_: object) -> tuple[dict[int, bool], dict[str, str]]:
        return dict(_in_order(self._kept["held"])), {}


def _in_order(by_seed: dict[str, Any] | None) -> list[tuple[int, Any]]:
    """Give what the file has in the order of its texts in the order of the seeds."""
    return sorted((int(seed), value) for seed, value in (by_seed or {}).items())


def write(folder: Path, only: str = "*", size: str = "complete") -> None:
    """Write experiments/<id>/ with verdicts.json and a stand-in for the figure, for the studies that `only` matches."""
    recorded = files(REFERENCE)
    for studied in sorted(STUDIES.glob(only)):
        study = registry.load_study(studied)
        experiments = [registry.load(file) for file in registry.claims_files(studied)]
        by_id = {experiment.id: experiment for experiment in experiments}
        for experiment in experiments:
            if experiment.id not in recorded:
                continue
            kept = json.loads(recorded[experiment.id].read_text())
            if size == "quick":
                _leave_one_seed(kept)
            judged = [_judge(claim, experiment, by_id, kept) for claim in experiment.claims]
            result = _result(study, experiment, by_id, kept, judged, size)
            own = folder / "experiments" / experiment.id
            own.mkdir(parents=True)
            (own / "verdicts.json").write_text(json.dumps(result))
            (own / "metrics.csv").write_text("experiment,cell,seed,claim,metric,value,unit\n")
            for name in ("figure.svg", "figure-narrow.svg", "figure.html"):
                (own / name).write_text(FIGURE)
            (own / "figure.txt").write_text("A stand-in for the figure.\n")
            vouch(own)
    (folder / "experiments/viewer.js").write_text("")
    sums.write(folder / "experiments", {"viewer.js": sums.digest(folder / "experiments/viewer.js")})


def _leave_one_seed(kept: dict[str, Any]) -> None:
    numbers = kept.get("also_measured", {})
    kept["also_measured"] = {name: {"1": by_seed["1"]} for name, by_seed in numbers.items() if "1" in by_seed}
    for claim in kept["claims"].values():
        claim |= {name: claim[name] and {"1": claim[name]["1"]} for name in ("by_seed", "held")}


def _judge(claim: Claim, experiment: Experiment, by_id: dict[str, Experiment], kept: dict[str, Any]) -> dict[str, Any]:
    if claim.same_as:
        where = by_id[claim.same_as.partition("/")[0]]
        original = where.claim(claim.same_as)
        assert original is not None
        claim = registry.shown_here(claim, original)
    of_claim = kept["claims"].get(claim.id)
    if claim.kunit and of_claim:
        tests: Any = Fields(REFERENCE, {"cases": {claim.id: "passed"}})
        return measure._judge(claim, experiment, _Kept(of_claim, experiment.runs_of), tests, [])  # type: ignore[arg-type]
    return measure._judge(claim, experiment, _Kept(of_claim, experiment.runs_of), None, [])  # type: ignore[arg-type]


def _result(
    study: Study,
    experiment: Experiment,
    others: dict[str, Experiment],
    kept: dict[str, Any],
    judged: list[dict[str, Any]],
    size: str,
) -> dict[str, Any]:
    seeds = sorted({int(seed) for claim in kept["claims"].values() for seed in (claim["by_seed"] or {"1": 0})}) or [1]
    result = measure._result(study, experiment, others, [], judged)
    run = {"cell": "single", "size": size, "captures": [], "virtual_s": 60.0, "wall_s": 2.0}
    run |= {"ended": "2026-11-20T10:00:00+00:00"}
    return result | {
        "runs": [{**run, "seed": seed, "probe": None, "audit": None} for seed in seeds],
        "settings": [
            {"cell": "single", "rate_bps": 1e7, "buffer_pkts": 50, "rtt_ms": 50.0, "duration_s": 60.0}
            | {"flows": _flows(others.get(experiment.runs_of, experiment).scenario)}
        ],
        "provenance": {"commit": ["0" * 40], "code": ["1" * 64], "kernel": [{"digest": "2" * 64}]},
        "asserted": [],
        "also_measured": [_extra(extra, kept) for extra in experiment.also_measured],
        "failed": [],
        "figure": experiment.figure,
    }


def _extra(declared: Extra, kept: dict[str, Any]) -> dict[str, Any]:
    values = _Kept({"by_seed": kept.get("also_measured", {}).get(declared.metric), "held": None}, "").numbers()[0]
    measured = asdict(spread(values)) | {"by_seed": as_json(values)} if values else None
    shown = {"metric": declared.metric, "unit": declared.unit, "cell": declared.cell}
    return {**shown, "measured": measured, "unknown": {}}


def _flows(scenario: Path | None) -> list[dict[str, Any]]:
    assert scenario is not None
    data = tables.read(scenario).data
    flows = data.get("flows") or next(iter(data["cases"].values())).get("flows", [])
    for flow in flows:
        split_sides(flow)
    shown = ("name", "implementation", "receiver_implementation")
    return [{key: flow[key] for key in shown if key in flow} | {"params": {}} for flow in flows]
