"""What would make the papers' claims fail: `python -m tests.workflows.rivals FOLDER [CLAIM ...]`.

Each claim that holds, or nearly does, by the reference set is measured again where one thing is changed, until it does
not hold: TCP in LEDBAT's place, another target, another decrease, and so on, in the order of CHANGES, with the first
seed that alone is in favour of it. A claim reads the runs of its own experiment changed, and those of others as they
are. What fails with which change goes to FOLDER/rivals.json, which a further call adds to. With --page what was found
goes into docs/results/rivals.csv, a row a claim, and its counts into docs/results/rivals.md.

With --recorded RUNS it runs nothing, and measures each of the others where the recorded run of another cell stands in
the place of one that the claim reads: of any experiment of the study with the same path, then of its own experiment
with another path. What fails then goes to FOLDER/recorded.json.

With --convention it tells instead which claims of a study get another verdict in their first seed where all its runs
follow one convention about what its paper leaves open: each of CONVENTIONS, into FOLDER/conventions.json.
"""

import argparse
import csv
import json
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from analysis.claims.question import Question
from analysis.errors import BadInputError
from analysis.files import replace_between, write_text
from analysis.judge.of_claim import judge
from analysis.judge.verdict import Verdict
from analysis.reference.files import read
from analysis.reference.papers import row
from analysis.runs import Runs
from common.counts import plural
from engine.errors import EngineError
from scenarios.errors import ScenarioError
from scenarios.implementations import Implementation, resolved_parameters
from scenarios.resolve import COMPLETE, Cell, expand, resolve
from testbed.claim import Named, claims, what_it_reads
from testbed.folders import REFERENCE
from testbed.need import needed

PAGE: Final = Path(__file__).parents[2] / "docs/results/rivals.md"
LIST: Final = PAGE.with_suffix(".csv")
FIELDS: Final = ("claim", "statement", "it fails with", "in the place of", "path", "measured then")
START, END = "<!-- rivals: written by python -m tests.workflows.rivals -->", "<!-- end of rivals -->"
BEGIN, CLOSE = "<!-- conventions: written by python -m tests.workflows.rivals -->", "<!-- end of conventions -->"
PAPERS: Final = {"icccn": "ICCCN 2010", "pam": "PAM 2010", "aina": "AINA 2011", "eunice": "EUNICE 2011"}
FOUND: Final = "rivals.json"
OTHERWISE: Final = "conventions.json"
RECORDED: Final = "recorded.json"
MOST: Final = 48  # recorded cells that a claim is measured with, for all that it reads together
FEWEST: Final = 4  # for each
NOT_OF_PATH: Final = (
    *("cell_values", "title", "flows", "tcp", "offload"),
    *("duration_ns", "sample_ns", "captures", "keep_captures"),
)
"""What of a cell's settings is not its path."""
Settings = dict[str, Any]
Change = Callable[[Settings, Mapping[str, Implementation]], None]
"""Changes the settings of a cell, or leaves them where it does not apply."""


def _is_ledbat(flow: Mapping[str, Any], known: Mapping[str, Implementation]) -> bool:
    return bool(known[flow["implementation"]]["family"] == "LEDBAT")


def _is_tcp(flow: Mapping[str, Any], known: Mapping[str, Implementation]) -> bool:
    return known[flow["implementation"]]["family"] in ("Reno", "CUBIC")


def _become(flow: dict[str, Any], name: str, known: Mapping[str, Implementation]) -> None:
    """Give a flow another implementation, with those of its parameters that this one has."""
    given = resolved_parameters({}, known[name]["parameters"])
    flow |= {
        "implementation": name,
        "params": given | {key: flow["params"][key] for key in given if key in flow["params"]},
    }


def _instead(of: Callable[..., bool], name: str) -> Change:
    def change(settings: Settings, known: Mapping[str, Implementation]) -> None:
        for flow in settings["flows"]:
            if of(flow, known):
                _become(flow, name, known)

    return change


def _with(**params: Any) -> Change:
    """Set parameters of LEDBAT flows; a number that is called times_... is a factor."""

    def change(settings: Settings, known: Mapping[str, Implementation]) -> None:
        for flow in settings["flows"]:
            for name, value in params.items():
                key = name.removeprefix("times_")
                if key in flow["params"] and _is_ledbat(flow, known):
                    flow["params"][key] = round(flow["params"][key] * value) if key != name else value

    return change


def _only_first(change: Change) -> Change:
    """Change the first of several LEDBAT flows alone."""

    def of_first(settings: Settings, known: Mapping[str, Implementation]) -> None:
        own = [flow for flow in settings["flows"] if _is_ledbat(flow, known)]
        if len(own) > 1:
            change({"flows": own[:1]}, known)

    return of_first


def _decrease(settings: Settings, known: Mapping[str, Implementation]) -> None:
    others = {"tcp-ledbat-md": "tcp-ledbat-ld"} | dict.fromkeys(
        ("tcp-ledbat-ld", "tcp-ledbat-ldmin", "tcp-ledbat-mdvar", "tcp-ledbat-draft00", "tcp-ledbat-aina"),
        "tcp-ledbat-md",
    )
    for flow in settings["flows"]:
        if flow["implementation"] in others:
            _become(flow, others[flow["implementation"]], known)


def _linear(settings: Settings, known: Mapping[str, Implementation]) -> None:
    for flow in settings["flows"]:
        if flow["implementation"] in ("tcp-ledbat-ldmin", "tcp-ledbat-mdvar"):
            _become(flow, "tcp-ledbat-ld", known)


def _other_window(settings: Settings, known: Mapping[str, Implementation]) -> None:
    """Exchange the receive windows of Windows XP and of Linux, and double those that clients were given."""
    others = {"tcp-w": "tcp-l-105120", "tcp-w-10220": "tcp-l-105120", "tcp-l-105120": "tcp-w", "tcp-l": "tcp-w"}
    for flow in settings["flows"]:
        if flow["implementation"] in others:
            _become(flow, others[flow["implementation"]], known)
        elif "receive_buffer_bytes" in flow["params"]:
            flow["params"]["receive_buffer_bytes"] *= 3


def _together(settings: Settings, known: Mapping[str, Implementation]) -> None:
    for flow in settings["flows"]:
        flow["start_ns"] = 0


CHANGES: Final[dict[str, Change]] = {
    "NewReno in LEDBAT's place": _instead(_is_ledbat, "tcp-reno"),
    "another decrease": _decrease,
    "the linear decrease": _linear,
    "twice the target": _with(times_target_ns=2),
    "half the target": _with(times_target_ns=0.5),
    "four times the target": _with(times_target_ns=4),
    "twice the target for the first of the flows": _only_first(_with(times_target_ns=2)),
    "a target of 1 ms": _with(target_ns=1_000_000),
    "LEDBAT in TCP's place": _instead(_is_tcp, "tcp-ledbat-draft00"),
    "another receive window": _other_window,
    "a base history of a minute": _with(base_history=1),
    "slow start": _with(slow_start="once"),
    "no slow start": _with(slow_start="never"),
    "a smallest window of ten packets": _with(min_window_pkts=10),
    "all flows start together": _together,
}
"""What is changed, of the senders and their starts alone; the path stays as it is."""


def _less_buffer(settings: Settings, known: Mapping[str, Implementation]) -> None:
    """Let B - 1 packets wait, as ns-2 does, wherever the paper's B may."""
    link = settings["bottleneck"]
    if link.get("buffer_pkts") in (10, 40, 50, 100):
        link["buffer_pkts"] -= 1


CONVENTIONS: Final[dict[str, dict[str, Change]]] = {
    "icccn": {"B - 1 packets may wait everywhere": _less_buffer},
    "eunice": {
        "a smallest window of one packet everywhere": _with(min_window_pkts=1),
        "a smallest window of two packets everywhere": _with(min_window_pkts=2),
    },
}
"""By study, what its paper leaves open and the scenarios do not settle in one way for all experiments."""


class Trial:
    """Measures claims beside changes, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known = claims()
        self.kept = read(REFERENCE)[1]
        self.found = _read(folder / FOUND)
        self.recorded = _read(folder / RECORDED)

    def of_papers(self) -> Iterator[Named]:
        """Yield the claims of papers that runs decide."""
        for named in self.known.values():
            claim = named.claim
            is_decided = not (claim.same_as or claim.data.get("role") or claim.kunit or claim.not_testable)
            if "year" in named.study.paper and is_decided and self._entry(named):
                yield named

    def judged(self) -> Iterator[Named]:
        """Yield those that hold, or nearly do."""
        for named in self.of_papers():
            if self._entry(named)["verdict"] in (Verdict.HOLDS, Verdict.NEARLY):
                yield named

    def carry_out(self, experiment: str, wanted: Sequence[Named]) -> None:
        """Look for the first change under which each of an experiment's claims fails."""
        left = [named for named in wanted if "change" not in self.found.get(named.claim.id, {})]
        for title, change in CHANGES.items():
            if left:
                with tempfile.TemporaryDirectory(dir=self.folder) as runs:
                    left = [named for named in left if not self._fails(named, title, change, Path(runs))]
        for named in left:
            self.found.setdefault(named.claim.id, {})
        _write(self.folder / FOUND, self.found)
        print(f"{experiment}: {len(wanted) - len(left)} of {len(wanted)} fail", flush=True)

    def compare(self, experiment: str, wanted: Sequence[Named], folder: Path) -> None:
        """Look among recorded runs for the first that makes each of an experiment's claims fail in another's place."""
        runs = Runs(folder)
        for named in wanted:
            if "change" in self.found.get(named.claim.id, {}) or "cell" in self.recorded.get(named.claim.id, {}):
                continue
            tried, seed = 0, self._seed(named)
            for place, cell, has_its_path in self._in_place(named):
                measured = self._measured(named, in_place(runs, named.experiment.runs_of, place, cell, seed), seed)
                tried += measured is not None
                if measured and measured[0] == Verdict.FAILS:
                    entry = {"place": name_of(place, named), "cell": name_of(cell, named), "measured": measured[1]}
                    self.recorded[named.claim.id] = {**entry, "path": "the same" if has_its_path else "another"}
                    break
            else:
                self.recorded[named.claim.id] = {"tried": tried}
        _write(self.folder / RECORDED, self.recorded)
        print(f"{experiment}: {sum('cell' in self.recorded.get(named.claim.id, {}) for named in wanted)}", flush=True)

    def _in_place(self, named: Named) -> Iterator[tuple[Cell, Cell, bool]]:
        """Yield a cell that a claim reads, one that may stand in its place, and whether that has the same path."""
        read = [one.cell for one in what_it_reads(named, self.known, 1)]
        read.sort(key=lambda cell: (cell.experiment != named.experiment.runs_of, cell.name != named.claim.cell))
        scenarios = {one.experiment.scenario for one in self.known.values() if one.study.name == named.study.name}
        others = [cell for cell in _cells(tuple(sorted(filter(None, scenarios)))) if cell not in read]
        others.sort(key=lambda cell: cell.experiment != named.experiment.runs_of)
        paths = [path_of(cell) for cell in others]
        pairs: dict[bool, list[tuple[Cell, Cell]]] = {True: [], False: []}
        for place in read:
            path = path_of(place)
            like = [(cell, there) for cell, there in zip(others, paths, strict=True) if _is_like(cell, place)]
            of_path = [cell for cell, there in like if there == path]
            elsewhere = [cell for cell, there in like if there != path and cell.experiment == place.experiment]
            for has_its_path, cells in ((True, of_path), (False, elsewhere)):
                pairs[has_its_path] += ((place, cell) for cell in cells[: max(FEWEST, MOST // len(read))])
        for has_its_path, in_place in pairs.items():
            yield from ((place, cell, has_its_path) for place, cell in in_place)

    def follow(self, experiment: str, wanted: Sequence[Named]) -> None:
        """Judge an experiment's claims where all runs of its study follow a convention, beside what they are."""
        told = _read(self.folder / OTHERWISE)
        for title, change in CONVENTIONS[wanted[0].study.name].items():
            with tempfile.TemporaryDirectory(dir=self.folder) as runs:
                for named in wanted:
                    seed = self._seed(named)
                    if not self._carry_out(named, change, Path(runs), seed, own=False):
                        continue
                    there, then = self._measured(named, Runs(Path(runs)), seed), self._recorded(named, seed)
                    if there and then:
                        told.setdefault(title, {})[named.claim.id] = [*then, *there]
        _write(self.folder / OTHERWISE, told)
        print(f"{experiment}: {len(wanted)} claims", flush=True)

    def _entry(self, named: Named) -> dict[str, Any]:
        """Return what the reference set has of a claim."""
        of_claims: dict[str, Any] = self.kept.get(named.experiment.id, {}).get("claims", {})
        return dict(of_claims.get(named.claim.id, {}))

    def _fails(self, named: Named, title: str, change: Change, runs: Path) -> bool:
        seed = self._seed(named)
        measured = self._measured(named, Runs(runs), seed) if self._carry_out(named, change, runs, seed) else None
        if measured is None or measured[0] != Verdict.FAILS:
            return False
        self.found[named.claim.id] = {"change": title, "measured": measured[1]}
        return True

    def _measured(self, named: Named, runs: Runs, seed: int) -> tuple[Verdict, str] | None:
        """Judge a claim by one seed of some runs, and give its number; None where these cannot tell."""
        claim, experiment = named.claim, named.experiment
        ask = Question(runs, experiment.runs_of, experiment.words)
        try:
            values = ask.numbers(claim.measure, claim.cell)[0] if claim.measure else {}
            held = ask.truths(claim.holds, claim.cell)[0] if claim.holds else {}
        except BadInputError:
            return None  # such as a word that TCP does not have
        return _alone(named, values, held, seed)

    def _recorded(self, named: Named, seed: int) -> tuple[Verdict, str] | None:
        """Judge a claim by one seed of the reference set."""
        kept = self._entry(named)
        by_seed = {int(one): math.inf if value == "never" else value for one, value in (kept["by_seed"] or {}).items()}
        return _alone(named, by_seed, {int(one): value for one, value in (kept["held"] or {}).items()}, seed)

    def _seed(self, named: Named) -> int:
        """Return the first seed that alone is in favour of a claim, so that what fails is due to a change."""
        kept = self._entry(named)
        seeds = sorted(map(int, {*(kept["by_seed"] or {}), *(kept["held"] or {})}))
        alone = ((seed, self._recorded(named, seed)) for seed in seeds)
        return next((seed for seed, judged in alone if judged and judged[0] != Verdict.FAILS), 1)

    def _carry_out(self, named: Named, change: Change, runs: Path, seed: int, *, own: bool = True) -> bool:
        """Carry out what a claim reads, with its own experiment's runs changed, or all; tell whether any is."""
        applies = False
        due: list[dict[str, Any]] = []
        for one in what_it_reads(named, self.known, 1):
            cell = one.cell
            if cell.experiment == named.experiment.runs_of or not own:
                cell = changed(cell, change)
                applies |= cell != one.cell
            due.append(resolve(cell, seed))
        if applies:
            try:
                for run in due:
                    needed(run, runs)
            except (EngineError, ScenarioError) as error:
                print(f"{named.claim.id}: {error}", flush=True)
                return False
        return applies


def _alone(
    named: Named, values: Mapping[int, float], held: Mapping[int, bool], seed: int
) -> tuple[Verdict, str] | None:
    """Judge a claim by one seed; give its number, too."""
    of_seed = {seed: values[seed]} if seed in values else {}
    judgement = judge(named.claim, named.experiment.words, of_seed, {seed: held[seed]} if seed in held else {})
    return (judgement.verdict, _number(of_seed.get(seed))) if judgement else None


def _number(value: float | None) -> str:
    return "" if value is None else "never" if math.isinf(value) else f"{value:.4g}"


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


def _write(file: Path, data: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(data, indent=1, sort_keys=True))


@cache
def _cells(scenarios: Sequence[Path]) -> list[Cell]:
    return [cell for scenario in scenarios for cell in expand(scenario, COMPLETE)]


def _is_like(cell: Cell, place: Cell) -> bool:
    """Say whether a cell has as many flows as another, and lasts as long at least."""
    is_as_long = cell.settings["duration_ns"] >= place.settings["duration_ns"]
    return is_as_long and len(cell.settings["flows"]) == len(place.settings["flows"])


def path_of(cell: Cell) -> Settings:
    """Give what the settings of a cell say of its path; how many hosts there are beside it is not of the path."""
    path = {name: value for name, value in cell.settings.items() if name not in NOT_OF_PATH}
    return path | {"topology": {**path["topology"], "pairs": None}}


def in_place(runs: Runs, own: str, place: Cell, cell: Cell, seed: int) -> Runs:
    """Return runs of which, in one seed, that of a cell stands in the place of another's.

    `own` is the experiment that is asked about: of it there is no other seed.
    """
    others = {}
    for experiment in {own, place.experiment}:
        of_seed = {key: run for key, run in runs.by_cell_and_seed(experiment).items() if key[1] == seed}
        if experiment == place.experiment:
            of_seed.pop((place.name, seed), None)
            other = runs.by_cell_and_seed(cell.experiment).get((cell.name, seed))
            of_seed |= {(place.name, seed): other} if other else {}
        others[experiment] = of_seed
    return runs.with_others(others)


def name_of(cell: Cell, named: Named) -> str:
    """Name a cell as a claim would: with its experiment where that is another."""
    return cell.name if cell.experiment == named.experiment.runs_of else f"{cell.experiment}, {cell.name}"


def changed(cell: Cell, change: Change) -> Cell:
    """Return a cell in which something is changed, or the same where that does not apply."""
    settings = deepcopy(cell.settings)
    change(settings, cell.known)
    return cell if settings == cell.settings else replace(cell, settings=settings)


def listed(trial: Trial, wanted: Sequence[Named]) -> Iterator[dict[str, str]]:
    """Yield a row for each claim, with FIELDS: what makes it fail, or nothing."""
    for named in wanted:
        by_change, by_run = (some.get(named.claim.id, {}) for some in (trial.found, trial.recorded))
        entry = by_change if "change" in by_change else by_run
        told = (entry.get("change") or entry.get("cell"), entry.get("place"), entry.get("path"), entry.get("measured"))
        statement = named.claim.data["title"].strip()
        yield dict(zip(FIELDS, (named.claim.id, statement, *(text or "" for text in told)), strict=True))


def summary(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield a row a paper, of how many claims fail by what."""
    claim, _, cause, place, path, _ = FIELDS
    yield "| paper | hold or nearly do | fail by a change | by a recorded run | of these on other paths | by neither |"
    yield "|---|---|---|---|---|---|"
    studies = [(name, [one for one in rows if one[claim].startswith(f"{name}-")]) for name in PAPERS]
    for name, some in (*studies, ("all", rows)):
        by_run = [one for one in some if one[place]]
        by_change = sum(bool(one[cause]) for one in some) - len(by_run)
        elsewhere = sum(one[path] == "another" for one in by_run)
        counts = (len(some), by_change, len(by_run), elsewhere, len(some) - by_change - len(by_run))
        yield row(PAPERS.get(name, name), *map(str, counts))


def write_list(rows: Sequence[Mapping[str, str]]) -> None:
    """Write what was found into the list and its counts into the page."""
    with LIST.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_counts(PAGE)


def write_counts(page: Path) -> None:
    """Write the counts of the list into a page."""
    with LIST.open(newline="") as file:
        lines = summary(list(csv.DictReader(file)))
        replace_between(page, START, END, "\n" + "".join(f"{line}\n" for line in lines) + "\n")


def conventions(told: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterator[str]:
    """Yield how many claims each convention changes something for, and a row for each that gets another verdict."""
    for title, of_claims in told.items():
        unlike = {claim: entry for claim, entry in of_claims.items() if entry[0] != entry[2]}
        all_of_them = plural(len(of_claims), "claim")
        count = f"{len(of_claims) - len(unlike)} of {all_of_them} whose runs it changes keep their verdict"
        yield f"\n**{title[:1].upper()}{title[1:]}**: {count}{'.' if not unlike else '; the others:'}"
        if unlike:
            yield "\n| claim | as it is | by the convention |\n|---|---|---|"
            for claim, (verdict, number, other, then) in unlike.items():
                yield row(f"`{claim}`", *(": ".join(filter(None, one)) for one in ((verdict, number), (other, then))))


def main() -> None:
    """Carry out what is called for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where runs lie while they are measured, and what was found")
    parser.add_argument("claims", nargs="*", help="experiments or claims; default: all of the papers")
    parser.add_argument("--recorded", type=Path, metavar="RUNS", help="run nothing, and compare with recorded runs")
    parser.add_argument("--convention", action="store_true", help="follow the conventions of CONVENTIONS")
    parser.add_argument("--page", action="store_true", help="run nothing, and write the tables of the page")
    options = parser.parse_intermixed_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    trial = Trial(options.folder)
    if options.page:
        write_list(list(listed(trial, list(trial.judged()))))
        told = "".join(f"{line}\n" for line in conventions(_read(options.folder / OTHERWISE)))
        replace_between(PAGE, BEGIN, CLOSE, f"{told}\n")
        return
    by_experiment: dict[str, list[Named]] = {}
    for named in trial.of_papers() if options.convention else trial.judged():
        if not options.claims or {named.claim.id, named.experiment.id} & set(options.claims):
            by_experiment.setdefault(named.experiment.id, []).append(named)
    for experiment, wanted in by_experiment.items():
        if options.recorded:
            trial.compare(experiment, wanted, options.recorded)
        elif not options.convention:
            trial.carry_out(experiment, wanted)
        elif wanted[0].study.name in CONVENTIONS:
            trial.follow(experiment, wanted)


if __name__ == "__main__":
    main()
