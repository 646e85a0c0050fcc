"""Carries out `testbed evaluate`: runs a control and a baseline in the scenarios of all criteria, and judges it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from analysis.judge.verdict import exit_status
from analysis.watchdog import LIMIT_S, ended_after
from common.counts import plural
from engine.errors import EngineError
from scenarios.errors import choices
from scenarios.resolve import COMPLETE
from testbed import arguments, own_study
from testbed.evaluate import figures, judge, matrix, pages, read_criteria, scenarios
from testbed.evaluate.judge import STUDY
from testbed.evaluate.read_criteria import Criterion
from testbed.shared.panel import STANDARD


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "implementation", nargs="?", help="the implementation under test; default: that of --implementation"
    )
    parser.add_argument(
        "--criterion",
        action="append",
        default=[],
        help="a criterion of docs/howto/evaluate.md; may be repeated; default: all",
    )
    parser.add_argument(
        "--baseline", metavar="NAME", default=STANDARD, help="implementation to compare with; default: %(default)s"
    )
    parser.add_argument("--seeds", type=int, metavar="N", default=5, help="runs of each cell; default: %(default)s")
    parser.add_argument(
        "--most-seeds",
        type=int,
        metavar="N",
        help="runs of each cell of a scenario that leaves even the placebo open; default: four times --seeds",
    )
    arguments.add_into(parser, "results/evaluate")


def main(options: argparse.Namespace) -> int:
    """Evaluate a control; return 1 when a criterion does not hold, else 2 when one is open, else 0.

    Everything is kept in the folder --into/<the control>; a second call continues there, and with --criterion shows
    what others have found there, too. --into/index.html has all controls evaluated there.

    Raises:
        EngineError, ScenarioError: something is wrong with the order, before anything runs.
    """
    client = arguments.only(options.implementation, options.elsewhere)
    baseline = options.baseline
    arguments.senders([client, baseline])
    if client == baseline:
        raise EngineError(f"--baseline: found {baseline!r}, the control under test; allowed: another one")
    arguments.check_seeds(options.seeds)
    most = 4 * options.seeds if options.most_seeds is None else options.most_seeds
    if not options.seeds <= most <= arguments.most_seeds():
        raise EngineError(f"--most-seeds: found {most}; allowed: {options.seeds} to {arguments.most_seeds()}")
    known = read_criteria.load_all()
    chosen = _chosen(options.criterion, known)
    folder = own_study.folder_of(options.into, client)
    placebo = scenarios.placebo_of(baseline) if client != scenarios.placebo_of(baseline) else None
    names = [baseline, *([placebo] if placebo else []), client]
    seeds = {name: options.seeds for criterion in chosen for name in criterion.scenarios}
    with own_study.alone(folder):
        earlier = [one for one in known if one not in chosen and is_there(one, folder / "studies" / STUDY, names)]
        kept = {name for one in earlier for name in (*one.scenarios, *one.references)}
        shown = [one for one in known if one in chosen or one in earlier]
        while True:
            own_study.write(folder, STUDY, scenarios.texts(chosen, names, seeds), kept)
            if seeds and (status := own_study.carry_out(folder, kept)):
                return status
            with ended_after(LIMIT_S, "testbed evaluate: the judgement"):
                judged = judge.judge(shown, folder, client, baseline, placebo)
            chaotic = {name for name in judge.chaotic(judged) if name in seeds and 2 * seeds[name] <= most}
            if not chaotic or options.seeds == 1:
                break
            print(
                f"The placebo is open in {', '.join(sorted(chaotic))}: twice as many seeds.",
                file=sys.stderr,
                flush=True,
            )
            seeds |= {name: 2 * seeds[name] for name in chaotic}
        with ended_after(LIMIT_S, "testbed evaluate: the page"):
            drawings = figures.draw(folder, [name for one in shown for name in one.scenarios], client, baseline)
            page = pages.write(folder, judged, client, baseline, options.seeds, drawings, options.again, placebo)
            matrix.write(options.into)
        failed = judge.count_failed(folder)
    print(pages.summary(judged, client, baseline, options.seeds, page))
    if failed:
        print(f"{plural(failed, 'run')} failed; the next call tries again.", file=sys.stderr)
    return exit_status([of_criterion.verdict for of_criterion in judged if of_criterion.cells])


def is_there(criterion: Criterion, study: Path, names: Sequence[str]) -> bool:
    """Whether an earlier call has written a criterion's scenarios as this one would, with whatever seeds."""
    files = {name: study / name for name in criterion.scenarios}
    if not all(file.is_file() for file in files.values()):
        return False
    seeds = {name: yaml.safe_load(file.read_text())["seeds"][COMPLETE] for name, file in files.items()}
    made = scenarios.texts([criterion], names, seeds)
    return all((study / name).is_file() and (study / name).read_text() == text for name, text in made.items())


def _chosen(names: list[str], all_of_them: Sequence[Criterion]) -> list[Criterion]:
    known = {criterion.id: criterion for criterion in all_of_them}
    for name in names:
        if name not in known:
            raise EngineError(f"--criterion: found {name!r}; allowed: {choices(list(known), name)}")
    return [criterion for name, criterion in known.items() if not names or name in names]
