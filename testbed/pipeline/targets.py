"""What a call of the pipeline is asked for, checked before anything is looked at."""

from collections.abc import Iterable, Sequence

from snakemake.exceptions import WorkflowError

from scenarios.errors import choices
from testbed.pipeline.plan import Plan


def refuse_unknown(asked: Iterable[str], known: Sequence[str], plan: Plan) -> None:
    """Refuse what is no target, with the nearest ones, and an experiment of which nothing runs at the plan's size.

    A file is Snakemake's to find.

    Raises:
        WorkflowError: one of `asked` is refused.
    """
    for name in asked:
        if "/" not in name and name not in known:
            raise WorkflowError(f"target: found {name!r}; allowed: {choices(known, name)}")
        if name in plan.studies.claims and name not in plan.targets:
            seeds = f"{plan.studies.claims[name]['runs_of']}: seeds.{plan.size} is 0 in each of its cells"
            raise WorkflowError(f"target: found {name!r}, but {seeds}; allowed: --config size=complete")
