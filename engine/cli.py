"""The ``testbed`` command."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from engine import (
    backends,
    check,
    conformance,
    doctor,
    exec_missing,
    exec_packages,
    exec_script,
    gate,
    hand_in,
    interrupt,
    kunit,
    versions,
)
from engine.compare import compare
from engine.errors import EngineError, printable
from engine.finished import is_finished
from engine.interop import interop
from engine.kinds import kinds
from engine.run import execute, run_folder
from engine.shell import shell
from engine.sizes import MEMORY_MIB, MOST_MEMORY_MIB
from scenarios.errors import ScenarioError
from scenarios.output import ends_with_its_reader
from scenarios.plan import plan
from scenarios.resolve import SIZES, Cell, expand

ROOT: Final = Path(__file__).parents[1]
# commands of the analysis, which has a command line of its own
HANDED_ON: Final = {"observe": "what captures tell of each sender; needs no run, and no images"}


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and do what it says.

    Returns 0 done, 1 a run failed, 2 bad input, 130 interrupted (Ctrl-C), 141 nobody reads the output, 143 terminated
    (SIGTERM).
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words and words[0] in HANDED_ON:
        os.execv(sys.executable, [sys.executable, "-m", "analysis", *words])  # noqa: S606 (its exit status is the answer)
    parser = _parser()
    options, others = parser.parse_known_args(words)
    if options.action is _mn:
        options.arguments = others  # its options are Mininet's to judge
    elif others:
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    if not (ROOT / "Snakefile").exists():
        print(
            f"runs need a checkout of the project; what is installed here can {', '.join(HANDED_ON)}", file=sys.stderr
        )
        return 2
    try:
        with interrupt.terminable():
            return int(options.action(options))
    except (ScenarioError, EngineError) as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    except KeyboardInterrupt as interruption:
        word = "terminated" if isinstance(interruption, interrupt.Terminated) else "interrupted"
        print(f"{word}; {options.kept}", file=sys.stderr)
        return interrupt.status(interruption)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="testbed", description="Runs of LEDBAT scenarios in virtual time.")
    parser.set_defaults(kept="nothing is kept")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    for name, says in HANDED_ON.items():
        commands.add_parser(name, help=says)

    run = commands.add_parser("run", help="carry out runs of a scenario")
    run.add_argument("scenario", type=Path)
    run.add_argument("--seed", type=int, action="append", help="may be repeated; default: all seeds of the size")
    run.add_argument("--cell", action="append", help="of the scenario's matrix; may be repeated; default: all")
    run.add_argument("--size", choices=SIZES, default="full")
    run.add_argument("--into", type=Path, default=Path("results/runs"), help="default: %(default)s")
    run.add_argument("--backend", choices=backends.NAMES, default="virtual", help="default: %(default)s")
    kept = "keep runs that ended well after FILE was written, made of the same scenario, images and code"
    run.add_argument("--keep-since", type=Path, metavar="FILE", help=kept)
    run.set_defaults(action=_run, kept="finished runs are kept")

    planning = commands.add_parser("plan", help="list the cells of scenarios as JSON lines")
    planning.add_argument("scenario", type=Path, nargs="+")
    planning.add_argument("--size", choices=SIZES, default="full")
    planning.set_defaults(action=_plan)

    looking = commands.add_parser("shell", help="Mininet's command line in a scenario's network, in real time")
    looking.add_argument("scenario", type=Path)
    looking.add_argument("--cell", help="one cell of the scenario's matrix; default: the first")
    looking.set_defaults(action=_shell)

    executing = commands.add_parser("exec", help="a Mininet script of yours, unmodified, in virtual time")
    started = executing.add_mutually_exclusive_group(required=True)
    started.add_argument("script", nargs="?", help="a script that uses Mininet, in Python or *.sh")
    started.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module instead, and its arguments"
    )
    executing.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")
    _add_exec_options(executing)
    executing.set_defaults(action=_exec, kept="the script had not begun")

    mininet = commands.add_parser(
        "mn", help="Mininet's own command `mn`, such as `testbed mn --topo tree,2 --test pingall`"
    )
    _add_exec_options(mininet)
    mininet.set_defaults(action=_mn, kept="mn had not begun")

    comparing = commands.add_parser("compare", help="implementations side by side, as a page of numbers and pictures")
    comparing.add_argument("implementation", nargs="+", help="two or more; the others are tested against the first")
    comparing.add_argument("--scenario", action="append", default=[], help="of the panel, or a file; may be repeated")
    comparing.add_argument("--seeds", type=int, default=5, help="runs of each cell; default: %(default)s")
    comparing.add_argument("--into", type=Path, default=Path("results/compare"), help="default: %(default)s")
    comparing.set_defaults(action=_compare)

    meeting = commands.add_parser("interop", help="every two implementations in every case, as a matrix")
    meeting.add_argument("implementation", nargs="+", help="each sends to each, and to itself")
    meeting.add_argument("--case", action="append", default=[], help="one of workflows/interop; may be repeated")
    meeting.add_argument("--script", type=Path, action="append", default=[], metavar="FILE", help="a packet script")
    meeting.add_argument("--into", type=Path, default=Path("results/interop"), help="default: %(default)s")
    meeting.set_defaults(action=_interop)

    conforming = commands.add_parser("conformance", help="what packets show of RFC 6817, LEDBAT++ and BEP 29")
    conforming.add_argument("implementation", nargs="+", help="each is judged by itself")
    conforming.add_argument("--into", type=Path, default=Path("results/conformance"), help="default: %(default)s")
    conforming.set_defaults(action=_conformance, kept="finished runs are kept")

    guarding = commands.add_parser("gate", help="whether an implementation stays within budgets, for CI")
    guarding.add_argument("budgets", type=Path, nargs="?", default=gate.DEFAULT, help="default: workflows/gate's")
    guarding.add_argument("--client", help="the implementation; default: the one that the budgets name")
    guarding.add_argument("--into", type=Path, default=Path("results/gate"), help="default: %(default)s")
    guarding.add_argument("--history", type=Path, metavar="FILE", help="append a line of JSON with what was measured")
    guarding.set_defaults(action=_gate, kept="finished runs are kept")

    ageing = commands.add_parser("versions", help="a gate's numbers over an implementation's versions, as pictures")
    ageing.add_argument("implementation", help="one that lists versions")
    ageing.add_argument("budgets", type=Path, nargs="?", default=gate.DEFAULT, help="default: workflows/gate's")
    ageing.add_argument("--from", dest="first", metavar="VERSION", help="default: the oldest")
    ageing.add_argument("--to", dest="last", metavar="VERSION", help="default: the newest")
    ageing.add_argument("--into", type=Path, default=Path("results/versions"), help="default: %(default)s")
    ageing.set_defaults(action=_versions, kept="finished runs are kept")

    searching = commands.add_parser("bisect", help="the version with which a number changed")
    searching.add_argument("implementation", help="one that lists versions")
    searching.add_argument("--good", required=True, metavar="VERSION", help="whose number is as it should be")
    searching.add_argument("--bad", required=True, metavar="VERSION", help="whose number is not")
    searching.add_argument("--measure", required=True, metavar="EXPRESSION", help="the number, in the words of budgets")
    searching.add_argument("--scenario", required=True, help="of the panel of `testbed compare`, or a file")
    searching.add_argument("--cell", help="the point of the scenario that counts, if it has several")
    searching.add_argument("--into", type=Path, default=Path("results/bisect"), help="default: %(default)s")
    searching.set_defaults(action=_bisect, kept="finished runs are kept")

    telling = commands.add_parser("kinds", help="how often `observe` tells a controller's kind, of all that are here")
    telling.add_argument("--into", type=Path, default=Path("results/kinds"), help="default: %(default)s")
    telling.set_defaults(action=lambda options: kinds(options.into), kept="finished runs are kept")

    trying = commands.add_parser("check", help="whether an implementation keeps its contract")
    trying.add_argument("implementation")
    trying.add_argument("--into", type=Path, default=Path("results/check"), help="default: %(default)s")
    trying.set_defaults(action=_check, kept="what was found stands above")

    checking = commands.add_parser("doctor", help="what this host lacks and how to get it")
    checking.set_defaults(action=lambda _: doctor.main())

    archiving = commands.add_parser("archive", help="everything measured as an RO-Crate, without captures")
    archiving.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    archiving.add_argument("--out", type=Path, required=True, help="a new folder, or a file that ends with .zip")
    archiving.set_defaults(action=_archive)

    verifying = commands.add_parser("verify", help="carry out what an archive or hand-in holds again and compare bytes")
    verifying.add_argument("crate", type=Path, help="of `testbed archive`, or of `testbed exec --hand-in`")
    chosen = verifying.add_mutually_exclusive_group()
    chosen.add_argument("--run", action="append", help="STUDY/EXPERIMENT/CELL/seed-N; may be repeated")
    chosen.add_argument("--all", action="store_true", help="default: the first run of each experiment")
    verifying.set_defaults(action=_verify)

    testing = commands.add_parser("kunit", help="tests of the LEDBAT module's arithmetic, in the debug kernel")
    testing.add_argument("--into", type=Path, default=Path("results/kunit.json"), help="default: %(default)s")
    testing.set_defaults(action=lambda options: kunit.main(options.into))

    measuring = commands.add_parser("bench", help="speed of guests and of the capture reader")
    measuring.add_argument("--into", type=Path, default=Path("results/bench.json"), help="default: %(default)s")
    measuring.set_defaults(action=_bench)
    return parser


def _run(options: argparse.Namespace) -> int:
    worst = 0
    for cell in _cells(options.scenario, options.size, options.cell or []):
        for seed in options.seed or cell.seeds:
            name = run_folder(Path(), cell, seed)
            since: Path | None = options.keep_since
            if since is not None and is_finished(cell, seed, options.into, options.backend, since):
                print(f"{name}: finished before, and kept", flush=True)
                continue
            try:
                summary = execute(cell, seed, options.into, options.backend)
            except EngineError as error:
                print(printable(f"{name}: failed: {error}"), file=sys.stderr, flush=True)
                worst = 1
                continue
            print(
                f"{name}: {summary['ended_ns'] / 1e9:g} s in {summary['wall_s']:.1f} s{_unfinished(summary)}",
                flush=True,
            )
    return worst


def _unfinished(summary: dict[str, Any]) -> str:
    """Say which flows did not deliver their bytes in time."""
    flows = summary["flows"].items()
    late = [name for name, flow in flows if "completed_ns" in flow and flow["completed_ns"] is None]
    return f"; not done in time: {', '.join(late)}" if late else ""


def _plan(options: argparse.Namespace) -> int:
    for cell in plan(options.scenario, options.size):
        print(json.dumps(cell))
    return 0


def _shell(options: argparse.Namespace) -> int:
    return shell(_cells(options.scenario, "full", [options.cell] if options.cell else [])[0])


def _add_exec_options(parser: argparse.ArgumentParser) -> None:
    time = parser.add_mutually_exclusive_group()
    time.add_argument("--real-time", action="store_true", help="at this terminal, for what asks questions")
    time.add_argument("--hand-in", type=Path, metavar="FILE.zip", help="also pack all for `testbed verify`")
    parser.add_argument("--seed", type=int, default=1, help="of all randomness; default: %(default)s")
    parser.add_argument("--into", type=Path, help="default: results/exec/<its name>")
    parser.add_argument("--deb", type=_names, default=(), help="Debian packages to add, separated by commas")
    parser.add_argument("--pip", type=_names, default=(), help="Python packages to add, separated by commas")
    parser.add_argument("--keep-all", action="store_true", help="also files that it writes outside its folder")
    parser.add_argument("--limit", type=int, metavar="SECONDS", help="virtual time after which it is interrupted")
    parser.add_argument("--memory", type=int, default=MEMORY_MIB, metavar="MIB", help="default: %(default)s")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _exec(options: argparse.Namespace) -> int:
    if options.module is not None:
        if not options.module:
            raise EngineError("-m names nothing; allowed: a Python module, then its own arguments")
        name, *options.arguments = options.module
        return _in_lab(options, None, ("python3", "-m", name), name)
    script = Path(options.script)
    return _in_lab(options, script, exec_script.command_of(script, Path.cwd()), script.stem)


def _mn(options: argparse.Namespace) -> int:
    return _in_lab(options, None, ("mn",), "mn")


def _in_lab(options: argparse.Namespace, script: Path | None, command: tuple[str, ...], name: str) -> int:
    folder = Path.cwd()
    beside = script.resolve().parent if script else folder
    if options.limit is not None and options.limit < 1:
        raise EngineError(f"--limit is {options.limit}; allowed: seconds of virtual time, from 1 on")
    if not MEMORY_MIB <= options.memory <= MOST_MEMORY_MIB:
        raise EngineError(f"--memory is {options.memory}; allowed: MiB, from {MEMORY_MIB} to {MOST_MEMORY_MIB}")
    order = exec_script.Order(
        words=(*command, *options.arguments),
        folder=folder,
        beside=beside,
        seed=options.seed,
        deb=options.deb,
        pip=(*exec_packages.named_by(script, beside), *options.pip),
        keep_all=options.keep_all,
        limit_s=options.limit,
        memory_mib=options.memory,
        stdin=b"" if options.real_time or os.isatty(0) else sys.stdin.buffer.read(),
        together=os.path.sameopenfile(1, 2),
    )
    into = options.into or Path("results/exec", name)
    if options.hand_in:
        summary = hand_in.run(order, into, options.hand_in)
    else:
        summary = exec_script.run(order, into, options.real_time)
    for sentence in (*exec_missing.sentences(summary["missing"]), *exec_missing.elsewhere(summary)):
        print(printable(sentence), file=sys.stderr)
    print(f"exit status {summary['exit_status']}; results in {into}", file=sys.stderr)
    return int(summary["exit_status"])


def _compare(options: argparse.Namespace) -> NoReturn:
    compare(options.implementation, options.scenario, options.seeds, options.into)


def _interop(options: argparse.Namespace) -> NoReturn:
    interop(options.implementation, options.case, options.script, options.into)


def _conformance(options: argparse.Namespace) -> int:
    return conformance.main(options.implementation, options.into)


def _check(options: argparse.Namespace) -> int:
    return check.main(options.implementation, options.into)


def _gate(options: argparse.Namespace) -> int:
    return gate.main(options.budgets, options.client, options.into, options.history)


def _versions(options: argparse.Namespace) -> int:
    return versions.versions(options.implementation, options.first, options.last, options.budgets, options.into)


def _bisect(options: argparse.Namespace) -> int:
    asked = options.scenario, options.cell, options.measure
    return versions.bisect(options.implementation, options.good, options.bad, *asked, options.into)


def _archive(options: argparse.Namespace) -> int:
    from engine.archive import archive

    print(archive(options.results, options.out))
    return 0


def _verify(options: argparse.Namespace) -> int:
    from engine.verify import verify

    worst = 0
    handed_in = hand_in.is_hand_in(options.crate)
    outcomes = [hand_in.verify(options.crate)] if handed_in else verify(options.crate, options.run or (), options.all)
    for outcome in outcomes:
        print(printable(str(outcome)), flush=True)
        worst |= bool(outcome.different)
    return worst


def _bench(options: argparse.Namespace) -> int:
    from engine import bench  # it needs the analysis package, which a host that only runs scenarios may lack

    return bench.main(options.into)


def _cells(scenario: Path, size: str, names: list[str]) -> list[Cell]:
    """The cells of these names; all, if there are none."""
    cells = {cell.name: cell for cell in expand(scenario, size)}
    for name in names:
        if name not in cells:
            raise EngineError(f"{scenario}: no cell {name!r}; it has: {', '.join(cells)}")
    return [cells[name] for name in names or cells]
