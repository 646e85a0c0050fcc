"""Which runs of a comparison failed: the run itself, or the client in it, which then has no numbers there."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analysis.runs import Runs
from common.counts import plural
from scenarios.run_files import FAILED
from testbed.compare.judge import STUDY
from testbed.shared.panel import CLIENT

_FAILED: Final = "failed"
_MOST_NAMED: Final = 2  # clients in a title


@dataclass(frozen=True)
class FailedRun:
    """A run without numbers: its cell and seed, the client, what became of it in a word and in full, and its folder."""

    cell: str
    seed: int
    client: str
    verb: str
    says: str
    folder: str

    def __str__(self) -> str:
        return f"{self.cell}, seed-{self.seed}: {self.says}"

    @property
    def is_result(self) -> bool:
        """Whether the run came to its end, and only the client did not: then the same run gives the same again."""
        return self.verb != _FAILED


def of(results: Path, wanted: Mapping[str, str]) -> dict[str, list[FailedRun]]:
    """List what failed, by the file of its scenario; `wanted` gives the files by experiment.

    What was interrupted is not known.
    """
    runs = Runs(results / "runs")
    failed = {file: sorted(_of(runs, experiment), key=_order) for experiment, file in wanted.items()}
    return {file: of_file for file, of_file in failed.items() if of_file}


def told(failed: Iterable[FailedRun], ran: Collection[str]) -> str:
    """Say for a title which clients failed how often; `ran` has the client of each run, failed ones, too."""
    verbs: dict[str, Counter[str]] = {}
    for run in failed:
        verbs.setdefault(run.client, Counter())[run.verb] += 1
    if len(verbs) > _MOST_NAMED:
        wrong = sum(counted.total() for counted in verbs.values())
        return f"{wrong} of {plural(len(ran), 'run')} of {len(verbs)} implementations failed"
    amounts = Counter(ran)
    return "; ".join(
        f"{client} {' and '.join(f'{verb} in {count}' for verb, count in counted.most_common())} of "
        f"{plural(amounts[client], 'run')}"
        for client, counted in verbs.items()
    )


def client_of(cell: str) -> str:
    """Return the client of a cell."""
    return next((part.partition("=")[2] for part in cell.split(",") if part.startswith(f"{CLIENT}=")), "")


def _of(runs: Runs, experiment: str) -> Iterable[FailedRun]:
    for (cell, seed), run in runs.by_cell_and_seed(experiment).items():
        for outcome in run.outcomes(CLIENT)[:1]:
            folder = _folder(experiment, cell, f"seed-{seed}")
            yield FailedRun(cell, seed, client_of(cell), outcome.verb, f"the client {outcome}", folder)
    for failure in runs.failed(experiment):
        folder = _folder(experiment, failure.cell, f"{FAILED}seed-{failure.seed}")
        yield FailedRun(failure.cell, failure.seed, client_of(failure.cell), _FAILED, failure.why, folder)


def _folder(experiment: str, cell: str, run: str) -> str:
    return str(Path("runs", STUDY, experiment, cell, run))


def _order(run: FailedRun) -> tuple[str, int]:
    return run.cell, run.seed
