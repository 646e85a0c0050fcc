"""The ``testbed`` command: finds what a command does, and says how it ended."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from analysis.__main__ import main as analyse
from analysis.errors import BadInputError
from common.arguments import path, wrong_shell
from common.output import ends_with_its_reader
from common.sums import DamagedError
from engine import interrupt
from engine.errors import EngineError, printable
from scenarios.errors import ScenarioError
from testbed import arguments as of_commands

ROOT: Final = Path(__file__).parents[1]
OBSERVE: Final = "observe"
"""The only command that does without a checkout; the analysis carries it out."""
# each command: its module, which has `configure` for the parser and `main` for the options, and a line of help
COMMANDS: Final = {
    OBSERVE: ("", "what captures reveal about each sender; needs neither runs nor images"),
    "run": ("testbed.run", "carry out runs of a scenario"),
    "plan": ("testbed.plan", "check scenarios, and list their cells and runs"),
    "claim": ("testbed.claim", "one claim of a paper: run what it reads, and show it beside the reference"),
    "shell": ("testbed.shell", "Mininet's command line in a scenario's network, in real time"),
    "exec": ("exec.command", "a Mininet script of yours, unmodified, in virtual time"),
    "mn": ("exec.mn", "Mininet's own command `mn`, such as `testbed mn --topo tree,2 --test pingall`"),
    "compare": ("testbed.compare.command", "implementations side by side, as a page of numbers and pictures"),
    "interop": ("testbed.interop.command", "every two implementations in every case, as a matrix"),
    "conformance": ("testbed.conformance.command", "what packets show of RFC 6817, LEDBAT++, RFC 9840 and BEP 29"),
    "evaluate": ("testbed.evaluate.command", "a control by the criteria of RFC 9743, beside a baseline"),
    "gate": ("testbed.gate.command", "whether an implementation stays within budgets, for CI"),
    "gate versions": ("testbed.gate.versions", "a gate's numbers over an implementation's versions, as pictures"),
    "gate bisect": ("testbed.gate.bisect", "the version with which a number changed"),
    "hunt": ("testbed.hunt.command", "the scenarios in which an implementation breaks a property, made small"),
    "rewind": ("testbed.rewind.command", "a run again up to an instant, and other futures from there"),
    "wireshark": ("testbed.wireshark", "a run's packets as one file for Wireshark, with names and what happened"),
    "check": ("testbed.check.command", "whether an implementation keeps its contract"),
    "doctor": ("engine.doctor", "what this host lacks and how to get it"),
    "archive": ("testbed.archive.command", "everything measured as an RO-Crate, without captures"),
    "verify": ("testbed.archive.verify_command", "repeat what an archive or hand-in holds, and compare bytes"),
    "kunit": ("engine.kunit", "tests of the LEDBAT module's arithmetic, in the debug kernel"),
}

EXTRAS: Final = {"vl_convert": "pictures", "fissix": "pipeline", "rocrate": "pipeline"}
"""Modules that some commands need beyond what the wheel requires, and the extra of the wheel that brings each."""
RUNS_IMPLEMENTATIONS: Final = (
    *("run", "plan", "shell", "compare", "interop", "conformance", "evaluate", "gate", "hunt", "rewind", "check"),
)
_ELSEWHERE: Final[dict[str, Any]] = {
    "type": path,
    "metavar": "FOLDER",
    "help": "an implementation outside this checkout, named after its folder: a folder, REPOSITORY@COMMIT:FOLDER or "
    "ARCHIVE.tar.gz@sha256:SUM; may be repeated",
}


@ends_with_its_reader
def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and do what it says.

    Returns 0 done, 1 a run failed, 2 bad input, 130 interrupted (Ctrl-C), 141 nobody reads the output, 143 terminated
    (SIGTERM).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if " ".join(words[:2]) in COMMANDS:
        words[:2] = [" ".join(words[:2])]
    if words[:1] == [OBSERVE]:
        return analyse(words, "testbed")
    if words and words[0] in COMMANDS and not (ROOT / "Snakefile").exists():
        print(f"runs need ledbat-testbed or a checkout; this installation can only {OBSERVE}", file=sys.stderr)
        return 2
    if wrong := wrong_shell():
        print(wrong, file=sys.stderr)
        return 2
    try:
        return _carried_out(words)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        need = f"pip install 'ledbat-testbed[{EXTRAS[error.name]}]'"
        print(f"testbed {words[0]} needs {error.name}, which is not installed: {need}", file=sys.stderr)
        return 2


def parsed(words: list[str]) -> argparse.Namespace:
    """Read a command's words; end with status 2 if it does not take them."""
    parser = argparse.ArgumentParser(prog="testbed", description="Runs of LEDBAT scenarios in virtual time.")
    parser.set_defaults(kept="nothing is kept", passes_on=False)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = words[:1] if words[:1] and words[0] in COMMANDS else COMMANDS  # each of the others takes time to build
    for name in named:
        module, says = COMMANDS[name]
        own = commands.add_parser(name, help=says, allow_abbrev=False)
        if words[:1] == [name]:
            import_module(module).configure(own)
        if name in RUNS_IMPLEMENTATIONS:
            own.add_argument("--implementation", dest="elsewhere", action="append", default=[], **_ELSEWHERE)
    options, others = parser.parse_known_args(words)
    options.others = others
    options.again = shlex.join(["testbed", *words[0].split(), *words[1:]])
    if others and not options.passes_on:
        commands.choices[options.command].error(f"unrecognized arguments: {' '.join(others)}")
    return options


def _carried_out(words: list[str]) -> int:
    options = parsed(words)
    try:
        options.elsewhere = of_commands.elsewhere(getattr(options, "elsewhere", []))
        with interrupt.terminable():
            return int(import_module(COMMANDS[options.command][0]).main(options))
    except (ScenarioError, EngineError, BadInputError, DamagedError) as error:
        print(printable(str(error)), file=sys.stderr)
        return 2
    except OSError as error:
        into = getattr(options, "into", None)
        at = Path(error.filename or "/")
        if into is None or at == Path("/") or not (at.is_relative_to(into) or into.absolute().is_relative_to(at)):
            raise
        print(f"--into {into}: cannot be written ({error.strerror}); choose another", file=sys.stderr)
        return 2
    except KeyboardInterrupt as interruption:
        word = "terminated" if isinstance(interruption, interrupt.Terminated) else "interrupted"
        print(f"{word}; {options.kept}", file=sys.stderr)
        return interrupt.status(interruption)
