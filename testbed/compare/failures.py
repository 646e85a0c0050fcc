"""Which runs of a comparison failed: the run itself, or the client in it, which then has no numbers there."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.run.outcomes import verb_of
from analysis.runs import Runs
from common.counts import plural
from scenarios.cell_names import values_of
from scenarios.run_files import FAILED
from testbed.compare.judge import STUDY
from testbed.shared.panel import CLIENT, RIVAL

_FAILED: Final = "failed"
_MOST_NAMED: Final = 2  # clients in a title


@dataclass(frozen=True)
class FailedRun:
    """A run without numbers: its cell and seed, who failed, what became of it in a word and in full, and its folder.

    Who failed is the client, the implementation that the run's failing flow takes from its cell, or a neighbour that is
    the same in all cells. `is_result`: the run came to its end, and only the client did not, so that the same run gives
    the same again.
    """

    cell: str
    seed: int
    client: str
    verb: str
    says: str
    folder: str
    is_result: bool = False

    def __str__(self) -> str:
        return f"{self.cell}, seed-{self.seed}: {self.says}"


def of(results: Path, wanted: Mapping[str, str]) -> dict[str, list[FailedRun]]:
    """List what failed, by the file of its scenario; `wanted` gives the files by experiment.

    What was interrupted is not known.
    """
    runs = Runs(results / "runs")
    failed = {file: sorted(_of(runs, experiment), key=_order) for experiment, file in wanted.items()}
    return {file: of_file for file, of_file in failed.items() if of_file}


def told(failed: Iterable[FailedRun], ran: Collection[Collection[str]]) -> str:
    """Say for a title which clients failed how often; `ran` has who took part in each run, in failed ones, too."""
    verbs: dict[str, Counter[str]] = {}
    for run in failed:
        verbs.setdefault(run.client, Counter())[run.verb] += 1
    if len(verbs) > _MOST_NAMED:
        wrong = sum(counted.total() for counted in verbs.values())
        return f"{wrong} of {plural(len(ran), 'run')} of {len(verbs)} implementations failed"
    amounts = Counter(name for names in ran for name in names)
    amounts.update({name: len(ran) for name in verbs.keys() - amounts.keys()})  # a neighbour is in each run
    return "; ".join(
        f"{client} {' and '.join(f'{verb} in {count}' for verb, count in counted.most_common())} of "
        f"{plural(amounts[client], 'run')}"
        for client, counted in verbs.items()
    )


def took_part(cell: str) -> set[str]:
    """Return the implementations that a cell compares."""
    values = values_of(cell)
    return {values[name] for name in (CLIENT, RIVAL) if name in values}


def _client_of(cell: str) -> str:
    return values_of(cell).get(CLIENT, "")


def _of(runs: Runs, experiment: str) -> Iterable[FailedRun]:
    for (cell, seed), run in runs.by_cell_and_seed(experiment).items():
        for outcome in run.outcomes(CLIENT)[:1]:
            folder = _folder(experiment, cell, f"seed-{seed}")
            yield FailedRun(cell, seed, _client_of(cell), outcome.verb, f"the client {outcome}", folder, is_result=True)
    for failure in runs.failed(experiment):
        folder = _folder(experiment, failure.cell, f"{FAILED}seed-{failure.seed}")
        who, verb = _client_of(failure.cell), _FAILED
        if failure.implementation:
            ran, verb = failure.implementation, verb_of(failure.kind)
            who = ran if ran in took_part(failure.cell) else f"the neighbour {ran}"
        yield FailedRun(failure.cell, failure.seed, who, verb, failure.why, folder)


def _folder(experiment: str, cell: str, run: str) -> str:
    return str(Path("runs", STUDY, experiment, cell, run))


def _order(run: FailedRun) -> tuple[str, int]:
    return run.cell, run.seed
