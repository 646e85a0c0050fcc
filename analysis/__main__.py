"""Command lines of the analysis: `python -m analysis plan|columns|observe|measure|figure|report|...`."""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from analysis.errors import BadInputError
from analysis.files import check_folder
from analysis.watchdog import LIMIT_S, ended_after
from common import sums
from common.arguments import path, wrong_shell
from common.counts import plural
from common.end_with_parent import end_with_pipeline
from common.output import ends_with_its_reader
from common.sums import DamagedError
from scenarios.run_files import FAILED

OBSERVED: Final = {".pcap", ".pcapng", ".cap", ".dmp", ".dump", ".ntar", ".flent", ".qlog", ".sqlog"}
"""Ends of names that a folder is searched for; the files may be packed."""


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None, called: str = "python -m analysis") -> int:
    """Run one command, `called` so in messages.

    Returns 0 done, 1 a comparison found a difference, 2 bad input, 3 it hung, 130 interrupted (Ctrl-C), 141 nobody
    reads the output.
    """
    options, unknown = _parser(called).parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if wrong := wrong_shell():
        print(f"analysis: {wrong}", file=sys.stderr)
        return 2
    end_with_pipeline()
    live = options.command == "observe"  # it may follow an interface
    try:
        with nullcontext() if live else ended_after(LIMIT_S, f"analysis: {options.command}"):
            return _COMMANDS[options.command](options) or 0
    except (BadInputError, DamagedError) as error:
        print(f"analysis: {error}", file=sys.stderr)
        return 2
    except _polars_error() as error:
        print(f"analysis: a table cannot be read: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"analysis: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _polars_error() -> type[Exception]:
    """What Polars raises for a damaged table; looked up once something was raised, as Polars takes long to load."""
    from polars.exceptions import PolarsError

    return PolarsError


# Each command imports what it needs: a command that draws nothing should not wait for the figure library.


def _plan(options: argparse.Namespace) -> None:
    import json

    from analysis.claims.plan import plan

    for planned in plan(options.studies):
        print(json.dumps(planned))


def _sums(options: argparse.Namespace) -> None:
    import json

    from analysis.damage import damage

    check_folder(options.folder, "files")
    if not options.write:
        for damages in damage(options.folder).items():
            print(json.dumps(damages))
        return
    if (there := options.folder / sums.FILE).exists():
        raise BadInputError(f"{there}: exists; allowed: a folder without sums, or remove it first")
    sums.write(options.folder, sums.below(options.folder))


def _columns(options: argparse.Namespace) -> None:
    _make_columns(options.runs)


def _make_columns(runs: Sequence[Path]) -> None:
    from analysis.capture.columns import write_columns
    from analysis.runs import failure_of

    for run in runs:
        if not run.exists() and (failed := run.with_name(f"{FAILED}{run.name}")).exists():
            print(f"analysis: {run}: no tables, since the run failed: {failure_of(failed).why}", file=sys.stderr)
            continue
        for warning in write_columns(run):
            print(f"analysis: {warning}", file=sys.stderr)


def _observe(options: argparse.Namespace) -> None:
    if options.seconds is not None and not (options.interface and 0 < options.seconds < math.inf):
        raise BadInputError(f"--seconds: found {options.seconds:g}; allowed: more than 0, with -i and an interface")
    captures = [path for path in options.paths if not path.is_dir()]
    for folder in options.paths:
        if folder not in captures:
            _observe_folder(folder, options.into)
    if options.interface:
        from analysis.observer.standalone.live import follow

        if options.paths:
            raise BadInputError("-i: found captures as well; allowed: one of the two")
        _tell(follow(options.interface, options.into or Path("observed", options.interface), options.seconds))
    elif captures:
        from analysis.observer.standalone.report import observe

        _tell(observe(captures, options.into or Path("observed", captures[0].name.partition(".")[0])))
    elif not options.paths:
        raise BadInputError("found nothing to observe; allowed: captures, run folders, or -i and an interface")


def _observe_folder(folder: Path, into: Path | None) -> None:
    """Observe a run, all runs below a folder, or each capture and log below it by itself."""
    # a run that has lost its run.json has sums, which name it
    if any((folder / name).exists() for name in ("run.json", sums.FILE)):
        return _observe_run(folder)
    runs = sorted(found.parent for found in folder.rglob("run.json") if not found.parent.name.startswith((FAILED, ".")))
    for run in runs:
        _observe_run(run)
    captures = [] if runs else sorted(path for path in folder.rglob("*") if OBSERVED.intersection(path.suffixes))
    if not runs and not captures:
        allowed = f"a run folder, or one with runs, captures or logs ({', '.join(sorted(OBSERVED))}) in it"
        raise BadInputError(f"{folder}: found a folder without run.json; allowed: {allowed}")
    target = into or Path("observed", folder.resolve().name)
    left_out = 0
    for capture in captures:
        from analysis.observer.standalone.report import observe

        try:
            _tell(observe([capture], target / capture.relative_to(folder)))
        except BadInputError as error:
            left_out += 1
            print(f"analysis: left out: {error}", file=sys.stderr)
    if left_out:
        print(f"{plural(len(captures) - left_out, 'capture')} observed, {left_out} left out")
    return None


def _observe_run(run: Path) -> None:
    from analysis.observe import observe

    for warning in observe(run):
        print(f"analysis: {warning}", file=sys.stderr)
    _tell(run / "observation.svg")


def _tell(page: Path) -> None:
    """Print a line for each flow, and where the rest is."""
    from analysis.observer.description import lines

    print("\n".join([*lines(page.parent), str(page)]))


def _measure(options: argparse.Namespace) -> None:
    from analysis.measure import claims_file, measure_all, verdicts_of, without_tables
    from analysis.report.results import lines

    files = [claims_file(named) for named in options.claims]
    if options.newer_than is None:  # by hand
        _make_columns(without_tables(files, options.runs))
    measure_all(files, options.runs, options.out, options.kunit, options.newer_than, options.processes)
    if options.newer_than is None:  # by hand
        for claims in files:
            print("\n".join(lines(verdicts_of(claims, options.out))))


def _tables(options: argparse.Namespace) -> None:
    from analysis.tables.over_runs import write_tables

    print(write_tables(options.results, options.newer_than, options.processes))


def _figure(options: argparse.Namespace) -> None:
    from analysis.figures.draw import draw

    draw(options.experiments, options.runs, options.out)


def _report(options: argparse.Namespace) -> None:
    from analysis.ns2 import by_claim
    from analysis.report import write_report
    from analysis.report.beside import reference_set, results_of

    if options.draw:
        from analysis.figures.draw import draw, outdated

        experiments = options.results / "experiments"
        draw(
            outdated(options.draw, experiments, options.newer_than, options.reference),
            options.results / "runs",
            experiments,
            options.processes,
            options.reference,
        )
    write_report(
        options.results,
        options.out,
        reference_set(options.reference) if options.reference else None,
        [results_of(*addresses) for addresses in options.beside],
        by_claim(options.simulator) if options.simulator else None,
    )


def _summary(options: argparse.Namespace) -> None:
    from analysis.report.beside import reference_set
    from analysis.summary import print_summary

    print_summary(options.results, reference_set(options.reference) if options.reference else None, options.next)
    if options.since is not None:
        from analysis.timing import print_times

        print_times(options.results, options.since, options.cores, options.cpu)


def _reference(options: argparse.Namespace) -> None:
    from analysis.reference.record import record
    from analysis.reference.rejudge import rejudge
    from common.commit import commit

    if options.results:
        record(options.studies, options.results, options.out, commit())
    else:
        rejudge(options.studies, options.out)


def _diff(options: argparse.Namespace) -> int:
    from analysis.reference.diff import compare

    return int(not compare(options.results, options.reference))


_COMMANDS: Final[dict[str, Callable[[argparse.Namespace], int | None]]] = {
    "plan": _plan,
    "sums": _sums,
    "columns": _columns,
    "observe": _observe,
    "measure": _measure,
    "tables": _tables,
    "figure": _figure,
    "report": _report,
    "summary": _summary,
    "reference": _reference,
    "diff": _diff,
}


def _parser(called: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=called, description="From run folders to the report.")
    commands = parser.add_subparsers(dest="command", required=True)

    plan = commands.add_parser("plan", help="the experiments of studies, their files and runs; one JSON line each")
    plan.add_argument("studies", metavar="STUDY", nargs="+", type=path, help="the folder of a study")

    about = "files of a folder that are damaged, missing or without a sum; one JSON line each"
    own_sums = commands.add_parser("sums", help=about)
    own_sums.add_argument("folder", metavar="FOLDER", type=path, help="results, or a run folder")
    vouch = "write sums for a folder without any, as its files are now: you vouch for them"
    own_sums.add_argument("--write", action="store_true", help=vouch)

    columns = commands.add_parser("columns", help="captures and traces of runs to Parquet tables")
    columns.add_argument("runs", metavar="RUN", nargs="+", type=path, help="a run folder")

    observe = commands.add_parser("observe", help="what captures reveal about each sender, as numbers and pictures")
    captures = (
        "a capture (pcap or pcapng, also packed by gzip), a run folder, or a file of qlog, iperf3 (JSON) or flent; "
        "captures given together are compared"
    )
    observe.add_argument("paths", metavar="FILE", nargs="*", type=path, help=captures)
    observe.add_argument(
        "-i", dest="interface", metavar="INTERFACE", help="capture at this interface, by dumpcap, until Ctrl-C"
    )
    observe.add_argument("--seconds", type=float, help="how long to capture; default: until Ctrl-C")
    observe.add_argument("--into", type=path, help="default: observed/NAME, by the first capture or the interface")

    measure = commands.add_parser("measure", help="verdicts on claims, from the runs of experiments")
    which = "a file with an experiment's claims; or an experiment's id, whose file is here or in a folder below"
    measure.add_argument("claims", metavar="CLAIMS", nargs="+", type=path, help=which)
    older = "only experiments whose verdicts are older than the file of this NAME beside them, or missing"
    measure.add_argument("--newer-than", metavar="NAME", help=older)
    measure.add_argument("--processes", type=int, default=1, help="number of processes that measure")
    measure.add_argument(
        "--kunit", type=path, help="file that `testbed kunit` wrote, for claims that a KUnit case decides"
    )
    _runs_and_out(measure)

    tables = commands.add_parser("tables", help="the tables over all runs and claims of results")
    tables.add_argument("--results", type=path, required=True, help="folder of results")
    older = "a file; rows of experiments that are older than it are made again, too"
    tables.add_argument("--newer-than", type=path, metavar="FILE", help=older)
    tables.add_argument("--processes", type=int, default=1, help="number of processes that make rows")

    figure = commands.add_parser("figure", help="the figures of experiments: SVG and interactive HTML")
    figure.add_argument("experiments", metavar="EXPERIMENT_ID", nargs="+")
    _runs_and_out(figure)

    report = commands.add_parser("report", help="the static report")
    report.add_argument("--results", type=path, required=True, help="folder of results")
    report.add_argument("--out", type=path, required=True, help="folder for the report")
    drawn = "experiments whose figures are drawn first, unless they are newer than what was measured"
    report.add_argument("--draw", metavar="EXPERIMENT_ID", nargs="+", default=[], help=drawn)
    older = "a file; figures older than it are drawn again, too"
    report.add_argument("--newer-than", type=path, metavar="FILE", help=older)
    report.add_argument("--reference", type=path, metavar="FOLDER", help="a reference set, shown beside each claim")
    simulator = "results of the papers' simulator (workflows/ns2), shown beside each claim"
    report.add_argument("--simulator", type=path, metavar="FOLDER", help=simulator)
    other = "results, or an RO-Crate (a folder or .zip), from elsewhere, shown beside each claim; may be repeated"
    report.add_argument("--beside", type=_named, metavar="NAME=PATH", action="append", default=[], help=other)
    report.add_argument("--processes", type=int, default=1, help="number of processes that draw")

    summary = commands.add_parser("summary", help="a table of findings for the terminal")
    summary.add_argument("--results", type=path, required=True, help="folder of results")
    summary.add_argument("--reference", type=path, help="folder of a reference set, shown below each study")
    summary.add_argument(
        "--next", metavar="LINE", action="append", default=[], help="a line to end with; may be repeated"
    )
    summary.add_argument(
        "--since", type=float, help="also show where the time went since this instant, in seconds of the epoch"
    )
    summary.add_argument("--cores", type=int, default=1, help="processors available in that time")

    summary.add_argument("--cpu", type=float, help="CPU time used since that instant, in seconds")

    about = "record a reference set from complete results of this commit; or judge it anew by today's rules"
    reference = commands.add_parser("reference", help=about)
    reference.add_argument("studies", metavar="STUDY", nargs="+", type=path, help="the folder of a study")
    whole = "folder of results; without it the recorded values get the verdicts of today's rules"
    reference.add_argument("--results", type=path, help=whole)
    reference.add_argument("--out", type=path, required=True, help="folder of the reference set")

    about = "compare each verdict and value with a reference set; status 1 where one differs"
    diff = commands.add_parser("diff", help=about)
    diff.add_argument("--results", type=path, required=True, help="folder of results")
    either = "folder of the reference set, or of other results"
    diff.add_argument("--reference", type=path, required=True, help=either)
    for own in commands.choices.values():
        own.set_defaults(parser=own)
    return parser


def _named(text: str) -> tuple[str, Path]:
    name, equals, place = text.partition("=")
    if not (name and equals and place):
        raise argparse.ArgumentTypeError(f"found {text!r}, allowed is NAME=PATH")
    return name, Path(place)


def _runs_and_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=path, required=True, help="folder of runs: STUDY/EXPERIMENT/CELL/seed-N/")
    parser.add_argument(
        "--out", type=path, required=True, help="folder for the results, with a folder for each experiment"
    )


if __name__ == "__main__":
    sys.exit(main())
