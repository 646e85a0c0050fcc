"""Which verdicts changed between two reference sets, and why: by reading, by rule or by measurement.

A claim that is checked in another way than before changed by *reading*. For the others, the old numbers are judged
again by the rules of today: what differs from the old verdict changed by *rule*, and what then differs with the new
numbers changed by *measurement*.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from analysis.claims import registry
from analysis.claims.registry import Claim, Experiment
from analysis.documents import read_json
from analysis.errors import BadInputError
from analysis.files import write_text
from analysis.reference import JUDGED_BY
from analysis.reference import check as checked
from analysis.verdicts.of_claim import judge
from analysis.verdicts.rules import Outcome

INTRODUCTION: Final = """\
Two recordings of the reference set, claim by claim. A claim that is checked in another way than before changed *by
reading*. For the others, the old numbers are judged again by the rules of today: what differs from the old verdict
changed *by rule*, and what then differs with the new numbers changed *by measurement*. A claim can be in both lists.
[claims.md](claims.md#reference-set) says how this page is made."""

Kept = dict[str, Any]  # what a reference set has of one claim
NOT_MEASURED: Final = "not measured"
MADE: Final = "<!-- made of {} -->"


@dataclass(frozen=True)
class Change:
    """One claim: its verdict before, by the rules of today with the old numbers, and with the new ones."""

    id: str
    before: str
    again: str
    now: str
    reread: bool  # it is checked in another way, so the old numbers do not answer it
    old: Kept
    new: Kept
    check: str


def write_page(before: Path, reference: Path, studies: Iterable[Path], out: Path) -> list[str]:
    """Write the page in Markdown; returns the claims whose explanations quote numbers that may no longer hold.

    Args:
        before: the folder of the older reference set.
        reference: that of the newer one.
        studies: the folders of all studies.
        out: the page.
    """
    experiments = [registry.load(file) for study in studies for file in registry.claims_files(study)]
    old, new = _claims_of(before), _claims_of(reference)
    write_text(out, page(old, new, experiments, digest(reference)))
    return [
        claim.id
        for one in experiments
        for claim in one.claims
        if re.search(r"\d", (claim.data.get("cause") or {}).get("text", ""))
        and not _is_same(old.get(claim.id), new.get(claim.id))
    ]


def _is_same(old: Kept | None, new: Kept | None) -> bool:
    return old is not None and new is not None and all(old[name] == new[name] for name in ("by_seed", "held"))


def digest(reference: Path) -> str:
    """SHA-256 of a reference set, so that a page tells which one it was made of."""
    text = b"".join(file.name.encode() + b"\0" + file.read_bytes() for file in sorted(reference.glob("*.json")))
    return hashlib.sha256(text).hexdigest()


def _claims_of(reference: Path) -> dict[str, Kept]:
    files = sorted(reference.glob("*.json"))
    if not files:
        raise BadInputError(f"{reference}: there is no reference set")
    return {name: kept for file in files for name, kept in read_json(file).get("claims", dict).items()}


def page(old: dict[str, Kept], new: dict[str, Kept], experiments: list[Experiment], made_of: str) -> str:
    """Make the page of two sets of claims by id."""
    known = {claim.id: (claim, one.words) for one in experiments for claim in one.claims if not claim.same_as}
    repeated = {claim.id for one in experiments for claim in one.claims if claim.same_as}
    both = sorted(known.keys() & old.keys() & new.keys())
    changes = [_change(*known[name], old[name], new[name]) for name in both]
    reread = [one for one in changes if one.reread]
    by_rule = [one for one in changes if not one.reread and one.before != one.again]
    by_measurement = [one for one in changes if not one.reread and one.again != one.now]
    gone, added = sorted(old.keys() - known.keys() - repeated), sorted(known.keys() - both)
    numbers = [
        ("in both sets", len(both)),
        ("same verdict", sum(one.before == one.now for one in changes)),
        ("another verdict by rule: the old numbers, judged by the rules of today", len(by_rule)),
        ("another verdict by measurement: the new numbers, judged by the rules of today", len(by_measurement)),
        ("checked in another way", len(reread)),
        ("of these, another verdict: by reading", sum(one.before != one.now for one in reread)),
        ("now shown from another experiment and counted there", len(repeated & old.keys())),
        ("no longer in the registry", len(gone)),
        ("new, or not measured before", len(added)),
    ]
    lines = [
        "# Which verdicts changed, and why",
        "",
        MADE.format(made_of),
        "",
        *INTRODUCTION.splitlines(),
        "",
        *_table(["claims", "number"], numbers),
        "",
        "## Before and now",
        "",
        *_matrix([(one.before, one.now) for one in changes]),
        "",
        "## By rule",
        "",
        *_table(["before", "by the rules of today", "claims"], _grouped(by_rule)),
        "",
        "## By measurement",
        "",
        *_table(
            ["claim", "with the old numbers", "now", "old", "new"],
            ((one.id, one.again, one.now, _measured(one.old), _measured(one.new)) for one in by_measurement),
        ),
        "",
        "## By reading",
        "",
        *_table(
            ["claim", "before", "now", "was checked by", "is checked by"],
            ((one.id, one.before, one.now, f"`{one.old['check']}`", f"`{one.check}`") for one in reread),
        ),
        "",
        "## Gone and new",
        "",
        *_table(["claims", "which"], [("gone", ", ".join(_short(gone))), ("new", ", ".join(_short(added)))]),
    ]
    return "\n".join(lines) + "\n"


def _change(claim: Claim, words: Mapping[str, str], old: Kept, new: Kept) -> Change:
    check = checked(claim.data, words)
    # numbers that answer what was asked before say nothing about what is asked today
    answered = claim.not_testable or new["check"].partition(JUDGED_BY)[0] == check.partition(JUDGED_BY)[0]
    return Change(
        id=claim.id,
        before=old["verdict"],
        again=_judge(claim, words, old),
        now=_judge(claim, words, new) if answered else NOT_MEASURED,
        reread=old["check"] != check,
        old=old,
        new=new,
        check=check,
    )


def _judge(claim: Claim, words: Mapping[str, str], kept: Kept) -> str:
    values = {int(seed): math.inf if one == "never" else one for seed, one in (kept["by_seed"] or {}).items()}
    held = {int(seed): one for seed, one in (kept["held"] or {}).items()}
    if claim.not_testable:
        return Outcome.NOT_TESTABLE
    judged = None if claim.kunit else judge(claim, words, values, held)
    return judged.outcome if judged else kept["verdict"]


def _measured(kept: Kept) -> str:
    if kept["held"]:
        return f"holds in {sum(kept['held'].values())} of {len(kept['held'])} seeds"
    if not kept["by_seed"]:
        return "nothing"
    numbers = [one for one in kept["by_seed"].values() if one != "never"]
    seeds = f"{len(kept['by_seed'])} seed{'s' * (len(kept['by_seed']) > 1)}"
    return f"mean {fmean(numbers):.4g} of {seeds}" if numbers else f"never in {seeds}"


def _grouped(changed: Iterable[Change]) -> Iterator[tuple[str, str, str]]:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in changed:
        groups[one.before, one.again].append(one.id)
    for (before, again), names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield before, again, f"{len(names)}: {', '.join(_short(names))}"


def _short(names: Iterable[str]) -> Iterator[str]:
    """Name claims, with their experiment once: "x/e01 e02"."""
    of: dict[str, list[str]] = defaultdict(list)
    for name in names:
        experiment, _, short = name.rpartition("/")
        of[experiment].append(short)
    return (f"{experiment}/{' '.join(short)}" for experiment, short in of.items())


def _matrix(verdicts: list[tuple[str, str]]) -> list[str]:
    counted = Counter(verdicts)
    names = [*Outcome, NOT_MEASURED]
    rows = [
        (before, *(str(counted[before, now] or "") for now in names), sum(one == before for one, _ in verdicts))
        for before in Outcome
    ]
    return _table(["before", *(f"now {now}" for now in names), "together"], rows)


def _table(heads: list[str], rows: Iterable[Iterable[object]]) -> list[str]:
    written = [f"| {' | '.join(str(field).replace('|', '&#124;') for field in row)} |" for row in rows]
    return [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *written] if written else ["None."]
