"""Results that are shown beside those at hand: the reference set, and what others sent from their machines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analysis.digits import nine_digits
from analysis.documents import read_json
from analysis.errors import BadInputError
from analysis.experiment_files import KUNIT_CASE, VERDICTS
from analysis.judge.findings import JUDGED, WANTED
from analysis.judge.rules import HOLDS
from analysis.judge.spread import spread
from analysis.judge.verdict import Verdict
from analysis.reference import files
from analysis.report.formats import result_text
from analysis.report.results import is_look, is_look_there, state_of
from common import archives
from common.archives import ArchiveError
from scenarios.resolve import QUICK

REFERENCE: Final = "reference set"
MEASURED: Final = f"experiments/*/{VERDICTS}"


@dataclass(frozen=True)
class Beside:
    """Results of elsewhere, by claim; `made` says when, on what and from which commit, as far as it is known.

    A reference set also has `kept`, what its files have of each experiment, the number of `runs` of its commit, also in
    sets that lie below it, and the day of each experiment's own set.
    """

    name: str
    claims: dict[str, dict[str, Any]]
    made: dict[str, str] = field(default_factory=dict)
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: int = 0
    days: dict[str, str] = field(default_factory=dict)

    def called(self, experiment: str = "") -> str:
        """Name it with its day, that of an experiment's own set or by default of the whole, as far as it has one."""
        day = self.days.get(experiment) or self.made.get("date")
        return f"{self.name} of {day}" if day else self.name

    def entry(self, claim: Mapping[str, Any]) -> dict[str, Any] | None:
        """Give verdict, text, number of seeds, and whether the verdict is the same, of a claim; None if it has none."""
        there = self.claims.get(claim["id"])
        if there is None:
            return None
        text = result_text({**claim, "measured": there["measured"], "held": there["held"]}) or there.get("tested", "")
        seeds = len(_by_seed(there))
        return {"name": self.name, "verdict": state_of(there), "text": text, "seeds": seeds, **_agreement(claim, there)}


def _agreement(claim: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """Say whether verdicts are the same, and numbers in the seeds that both have; a look only contradicts."""
    here, other = _by_seed(claim), _by_seed(there)
    both = here.keys() & other.keys()
    same_numbers = bool(both) and all(here[seed] == other[seed] for seed in both)
    if claim.get("is_look"):
        opposite = {claim["verdict"] in HOLDS, there["verdict"] in HOLDS} == {True, False}
        contradicts = opposite and Verdict.FAILS in (claim["verdict"], there["verdict"])
        return {"agrees": not contradicts, "same_numbers": same_numbers, "same_seeds": False}
    agrees = claim["verdict"] == there["verdict"]
    return {"agrees": agrees, "same_numbers": same_numbers, "same_seeds": here.keys() == other.keys()}


def _by_seed(claim: Mapping[str, Any]) -> dict[str, Any]:
    numbers: dict[str, Any] = nine_digits((claim.get("measured") or {}).get("by_seed") or claim.get("held") or {})
    return numbers


def reference_set(folder: Path) -> Beside:
    """Read the files that `python -m analysis reference` wrote.

    Raises BadInputError where there are none.
    """
    about, kept = files.read(folder)
    sets = files.sets(folder)
    days = {name: each["date"] for name, each in sets.items() if "date" in each}
    whole = [
        each
        for each in {id(each): each for each in sets.values()}.values()
        if each.get("commit") == about.get("commit")
    ]
    claims = {
        name: {
            "verdict": claim["verdict"],
            "held": claim["held"],
            "measured": claim["by_seed"] and _spread(claim["by_seed"]),
            "is_look": is_look_there(claim),
            **{name: claim.get(name) for name in (*JUDGED, WANTED)},
            **_tested(claim),
        }
        for each in kept.values()
        for name, claim in each["claims"].items()
    }
    made = {name: max(each[name] for each in whole) for name in ("date", "commit") if name in about}
    return Beside(REFERENCE, claims, made, kept, sum(each.get("runs", 0) for each in whole), days)


def _tested(claim: Mapping[str, Any]) -> dict[str, str]:
    """Say what the module's unit test of a claim came to; nothing of others."""
    if claim["check"] != KUNIT_CASE:
        return {}
    outcome = {Verdict.HOLDS: "passed", Verdict.FAILS: "failed"}.get(claim["verdict"], "was not run")
    return {"tested": f"the module's unit test {outcome}"}


def _spread(by_seed: dict[str, Any]) -> dict[str, Any]:
    values = {int(seed): float("inf") if value == "never" else float(value) for seed, value in by_seed.items()}
    return vars(spread(values)) | {"by_seed": by_seed}


def results_of(name: str, place: Path) -> Beside:
    """Read the verdicts in a folder of results, or in an RO-Crate (a folder or a .zip) that someone sent.

    Raises BadInputError where nothing was measured.
    """
    measured = list(_verdicts(place))
    if not measured:
        raise BadInputError(f"{place}: holds no {MEASURED}")
    ended = sorted(run["ended"] for verdicts in measured for run in verdicts["runs"] if "ended" in run)
    commits = {commit for verdicts in measured for commit in verdicts["provenance"].get("commit", [])}
    sizes = {run["size"] for verdicts in measured for run in verdicts["runs"]}
    made = {
        "date": ended[-1][:10] if ended else "",
        "host": ", ".join(sorted({verdicts["host"] for verdicts in measured if "host" in verdicts})),
        "commit": ", ".join(sorted({commit[:12] for commit in commits})),
        "size": ", ".join(sorted(sizes)),
    }
    claims = {
        claim["id"]: {**claim, "is_look": is_look(claim, any(run["size"] == QUICK for run in verdicts["runs"]))}
        for verdicts in measured
        for claim in verdicts["claims"]
    }
    return Beside(name, claims, {key: value for key, value in made.items() if value})


def _verdicts(place: Path) -> Iterator[dict[str, Any]]:
    if place.is_dir():
        for file in sorted(place.glob(MEASURED)):
            yield read_json(file).data
        return
    try:
        names = [member.filename for member in archives.members(place) if Path(member.filename).match(MEASURED)]
        for name in sorted(names):
            yield archives.parse_json(archives.read_member(place, name), f"{place}: {name}")
    except ArchiveError as error:
        raise BadInputError(str(error)) from None
