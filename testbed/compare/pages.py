"""The pages of a comparison: an index with all numbers, and for each scenario a page with its pictures."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from analysis.documents import read_yaml
from analysis.errors import BadInputError
from analysis.judge.false_discoveries import largest_believed
from analysis.provenance import distinct
from analysis.report.evidence import Evidence, of_run
from analysis.report.formats import number
from testbed.compare import distributions, failures
from testbed.compare.failures import FailedRun
from testbed.compare.judge import FILE, FORMAT, STUDY
from testbed.shared.differences import LEVEL, smallest_p
from testbed.shared.formats import read_of_format
from testbed.shared.made import Made
from testbed.shared.metrics import PHASES
from testbed.shared.page import write_page
from testbed.shared.panel import RIVAL
from testbed.shared.standings import add_standing, counts, title

OWN: Final = Path(__file__).with_name("templates")
# how a client stands beside the first one, in a number: a sign, and what it says
STANDINGS: Final = {
    "better": ("▲", "better"),
    "worse": ("▼", "worse"),
    "more": ("↑", "more, which is neither better nor worse"),
    "less": ("↓", "less, which is neither better nor worse"),
    "alike": ("=", "no difference shown"),
    "open": ("○", "cannot show a difference"),
}


def write_pages(results: Path, again: str) -> Path:
    """Write index.html and a page for each scenario into the comparison's folder; returns the index.

    They name the command that makes them `again`.
    """
    measured = {experiment: results / "experiments" / experiment / FILE for experiment in wanted(results)}
    scenarios = [_read(file) for file in measured.values() if file.exists()]
    if not scenarios:
        raise BadInputError(f"{results}: nothing has been measured there yet (no experiments/*/{FILE})")
    p_values = [
        entry["p"] for metric in _metrics(scenarios) for entry in metric["clients"].values() if entry["p"] is not None
    ]
    largest_p = largest_believed(p_values, LEVEL)
    for scenario in scenarios:
        for point in scenario["points"]:
            for metric in point["metrics"]:
                add_standing(metric, scenario["clients"][0], largest_p)
    measured_in = {metric["phase"] for metric in _metrics(scenarios)}
    seeds = max((entry["seeds"] for metric in _metrics(scenarios) for entry in metric["clients"].values()), default=1)
    failed = failures.of(results, wanted(results))
    values = {
        "clients": scenarios[0]["clients"],
        "scenarios": scenarios,
        "failed": failed,
        "missing": missing(results),
        "believed": largest_p,
        "standings": STANDINGS,
        "phases": [phase for phase in PHASES if phase in measured_in],
        "distributions": distributions.caption(seeds),
        "tests": len(p_values),
        "level": LEVEL,
        "seeds": seeds,
        "smallest_p": smallest_p(seeds, seeds),
        "pairs": [
            _pairs(scenario) for scenario in scenarios if any(RIVAL in point["values"] for point in scenario["points"])
        ],
        "point_name": point_name,
        "spread": spread,
        "evidence_of": partial(_evidence, results),
        "evidence_of_failed": lambda file, run: of_run(results / run.folder, results, f"studies/{STUDY}/{file}"),
    }
    made = _made(scenarios, failed)
    for scenario in scenarios:
        own = {"scenario": scenario, **_outcome([scenario], seeds, failed)}
        page = results / f"{scenario['experiment']}.html"
        write_page(page, OWN / "scenario.html", {**values, **own}, made, again)
    overview = {**values, **_outcome(scenarios, seeds, failed)}
    files = [str(file.relative_to(results)) for file in measured.values() if file.exists()]
    return write_page(results / "index.html", OWN / "comparison.html", overview, made, again, files)


def _outcome(
    scenarios: Sequence[dict[str, Any]], seeds: int, failed: Mapping[str, Sequence[FailedRun]]
) -> dict[str, Any]:
    """Say of scenarios what came out: a title, and how often each other client stands how beside the first one.

    The title of several scenarios speaks of all that failed, also where nothing was measured.
    """
    metrics, clients = _metrics(scenarios), scenarios[0]["clients"]
    files = failed.keys() if scenarios[1:] or len(failed) > 1 else [scenarios[0]["scenario"]]
    wrong = [run for file in files for run in failed.get(file, [])]
    cells = [*(run["cell"] for scenario in scenarios for run in scenario["runs"]), *(run.cell for run in wrong)]
    says = failures.told(wrong, list(map(failures.took_part, cells)))
    said = "; ".join(filter(None, (says, title(metrics, clients, seeds))))
    return {"title": said, "standing_counts": counts(metrics, clients), "failures": says}


def _made(scenarios: Sequence[dict[str, Any]], failed: Mapping[str, Sequence[FailedRun]]) -> Made:
    """Give what the runs of all scenarios are, as their judge wrote it down."""
    wrong = sum(map(len, failed.values()))
    versions = {name: version for scenario in scenarios for name, version in scenario["versions"].items()}
    provenance = distinct(
        {name: value} for scenario in scenarios for name, values in scenario["provenance"].items() for value in values
    )
    return Made(sum(len(scenario["runs"]) for scenario in scenarios) + wrong, wrong, versions, provenance)


def _metrics(scenarios: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """List the numbers of all points; `where` names the point, and the scenario if there are several."""
    return [
        metric | {"where": "; ".join(filter(None, (scenario["title"] if scenarios[1:] else "", point_name(point))))}
        for scenario in scenarios
        for point in scenario["points"]
        for metric in point["metrics"]
    ]


def point_name(point: Mapping[str, Any]) -> str:
    """Name a point by its values, as in `rate 10mbit, buffer 50p`; a case by its name alone."""
    return ", ".join(
        f"{'' if name == 'case' else name.replace('_', ' ') + ' '}{value}" for name, value in point["values"].items()
    )


def spread(mean: float, deviation: float) -> str:
    """Give a standard deviation to the decimals that its mean has on a page; 0 where these do not show it."""
    text = number(mean)
    if "\N{MULTIPLICATION SIGN}" in text:
        return number(deviation, 2)
    decimals = len(text.partition(".")[2])
    rounded = round(deviation, decimals)
    return f"{rounded:,.{decimals}f}" if rounded else "0"


def _evidence(results: Path, scenario: dict[str, Any], run: dict[str, Any]) -> Evidence:
    return of_run(results / run["folder"], results, f"studies/{STUDY}/{scenario['scenario']}")


def missing(results: Path) -> list[str]:
    """List the files of scenarios of which no run ended well."""
    files = wanted(results).items()
    return [file for experiment, file in files if not (results / "experiments" / experiment / FILE).exists()]


def wanted(results: Path) -> dict[str, str]:
    """Give the file of each experiment of the comparison."""
    return {read_yaml(path).get("experiment", str): path.name for path in sorted(results.glob("studies/*/*.yaml"))}


def _read(path: Path) -> dict[str, Any]:
    return read_of_format(path.parent, path.name, FORMAT).data


def _pairs(scenario: dict[str, Any]) -> dict[str, Any]:
    """Give the share of each client (row) against each rival (column)."""
    shares: dict[str, dict[str, Any]] = {client: {} for client in scenario["clients"]}
    for point in scenario["points"]:
        for metric in point["metrics"]:
            if metric["name"] == "share":
                for client, entry in metric["clients"].items():
                    shares[client][point["values"][RIVAL]] = entry
    return {"title": scenario["title"], "experiment": scenario["experiment"], "shares": shares}
