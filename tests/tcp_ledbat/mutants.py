"""Whether the KUnit cases notice a mistake: `python -m tests.tcp_ledbat.mutants`, or `make mutants`.

Each mutant is the module with one of the mistakes that mutations.py makes. One build holds them all: of each function
there is a copy for each of its mutants, and a parameter of the test module says whose is called. A guest with the debug
kernel loads the tests once and runs them for one mutant after the other.

A mutant is killed if a case fails or if the guest, which passed all cases without a change before, ends or hangs in its
turn. A guest that does not pass them kills nothing, and ends this program. The exit status is 0 if at least 95 % are
killed. Survivors are in survivors.yaml, with the reasons for which no case can tell them from the module.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import yaml

from engine import handover, images, kunit, launch, progress, watch
from engine.cpu_claims import free_cpu
from engine.errors import EngineError
from images import index, module
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.errors import ImageError
from images.kernel import build as kernel
from images.kernel.build import REPRODUCIBLE
from tests.tcp_ledbat import mutations
from tests.tcp_ledbat.mutations import Mutation

SOURCES: Final = module.HERE / "tcp_ledbat"
FILES: Final = ("tcp_ledbat.c", "settings.h")
TEST: Final = "tcp_ledbat_test"
PROGRAM: Final = "load_mutants"
SURVIVORS: Final = Path(__file__).with_name("survivors.yaml")
ENOUGH: Final = 0.95
HANGS_S: Final = 15  # a mutant takes a second
UNCHANGED: Final = -1
# what runs once, when the module is loaded or a namespace made: no change in a loaded module reaches it
LEFT_OUT: Final = frozenset(
    {"ledbat_register", "ledbat_unregister", "ledbat_unregister_controls", "ledbat_register_table"}
    | {"ledbat_net_add", "ledbat_net_init", "ledbat_net_exit"}
)
# what a kernel's own tree compiles instead of settings.h
_IN_TREE: Final = re.compile(r"^#else\n(.*?)^#endif\n", re.M | re.S)
MUTANT: Final = f"static int mutant = {UNCHANGED};\n"
# whoever writes to the parameter runs the cases once more
PARAMETER: Final = """
static int mutant_set(const char *text, const struct kernel_param *kp)
{
	int error = kstrtoint(text, 10, &mutant);

	return error ?: kunit_run_tests(&ledbat_suite);
}

static const struct kernel_param_ops mutant_ops = { .set = mutant_set };
module_param_cb(mutant, &mutant_ops, NULL, 0200);
"""

Outcome = str
"""The names of the cases that failed, "the guest ended", or "" where nothing noticed the mistake."""


def mutants() -> list[Mutation]:
    """All mutants of the module."""
    made: list[Mutation] = []
    for file in FILES:
        text = (SOURCES / file).read_text()
        if file == "tcp_ledbat.c":
            text = _IN_TREE.sub(lambda match: "\n" * match[0].count("\n"), text)
        made += mutations.of(file, text, LEFT_OUT)
    return made


def write(folder: Path, wanted: dict[int, Mutation]) -> None:
    """Write the module's tests with these mutants, by number."""
    shutil.copytree(SOURCES, folder, ignore=shutil.ignore_patterns("debian", "*.8", "*.md"), dirs_exist_ok=True)
    for name in FILES:
        numbered = {number: mutant for number, mutant in wanted.items() if mutant.file == name}
        (folder / name).write_text(_with_mutants((folder / name).read_text(), numbered))
    test = folder / f"{TEST}.c"
    test.write_text(MUTANT + test.read_text() + PARAMETER)
    kbuild = (folder / "Kbuild").read_text().replace("obj-m := tcp_ledbat.o\n", "obj-m :=\n")
    (folder / "Kbuild").write_text(f"{kbuild}ccflags-y += -w\n")


def _with_mutants(text: str, numbered: dict[int, Mutation]) -> str:
    """The text of a file in which functions have copies for their mutants."""
    for function in reversed(list(mutations.FUNCTION.finditer(text))):
        copies = {number: one.text for number, one in numbered.items() if one.function == function["name"]}
        if copies:
            text = text[: function.start()] + _switch(function, copies) + text[function.end() :]
    return text


def _switch(function: re.Match[str], copies: dict[int, str]) -> str:
    """A function behind its copies, whose bodies stand first; it calls the one that is in force."""
    name, head = function["name"], function["head"]
    words = ", ".join(re.findall(r"\w+", parameter)[-1] for parameter in function["parameters"].split(","))
    before, cases = "", ""
    for number, copy in copies.items():
        own = f"{name}_mutant{number}"
        before += copy.replace(f"{name}(", f"{own}(", 1)
        cases += f"\tcase {number}:\n\t\treturn {own}({words});\n"
    body = function[0][len(head) + len("\n{\n") :]
    return f"{before}{head}\n{{\n\tswitch (mutant) {{\n{cases}\t}}\n{body}"


def compiled(folder: Path, wanted: dict[int, Mutation]) -> dict[int, Mutation]:
    """Compile the tests for the debug kernel; return the mutants that are C, which are those in the build."""
    store = Store(default_root())
    root = BuildRoot(store, print)
    tree = kernel.build(store, print, root, index.DEBUG).tree
    command = module.compiling("/seen/tree", "/build", "ARCH=um")
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        write(folder, wanted)
        log = folder / "log"
        try:
            see = {"/seen/tree": tree}
            root.run(command, log, "Compiling mutants", work=folder, see=see, environment=REPRODUCIBLE)
        except ImageError:
            wrong = set(map(int, re.findall(r"In function .\w+_mutant(\d+)", log.read_text())))
            if not wrong:
                raise
            wanted = {number: mutant for number, mutant in wanted.items() if number not in wrong}
        else:
            return wanted


def results(folder: Path, wanted: list[int]) -> dict[int, Outcome]:
    """What noticed each mutant.

    Raises:
        EngineError: a guest did not pass all cases without a change.
    """
    found: dict[int, Outcome] = {}
    while left := [number for number in wanted if number not in found]:
        said = _guest(folder, left)
        if not said.get("unchanged"):
            raise EngineError("the cases do not pass without a change")
        found |= {int(number): outcome for number, outcome in said["outcomes"].items()}
        begun = said["begun"]
        if begun in left and begun not in found:
            found[begun] = "the guest ended"
        print(f"{len(found)} of {len(wanted)} mutants tried", file=sys.stderr, flush=True)
    return found


def _guest(folder: Path, wanted: list[int]) -> dict[str, object]:
    """Load the tests in a guest and run them for some mutants; what it left, as far as it came."""
    with tempfile.TemporaryDirectory() as scratch, handover.scratch("mutants") as out, free_cpu() as cpu:
        code = Path(scratch) / "code"
        for package in ("engine", "topologies"):
            shutil.copytree(images.PROJECT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(folder / f"{TEST}.ko", out)
        (out / "wanted.json").write_text(json.dumps(wanted))
        shutil.copy(Path(__file__).with_name(f"{PROGRAM}.py"), code / "engine" / "guest")
        (out / "logs").mkdir()
        project, images.PROJECT = images.PROJECT, code
        boot = images.load(index.DEBUG)
        arguments = [*launch.boot_arguments(boot, 1, f"engine.guest.{PROGRAM}"), *kunit.SWITCHED_ON]
        command = launch.command(boot, out, cpu, arguments, kunit.LIMITS)
        images.PROJECT = project
        try:
            # with the kernel, a guest that waits for others on this host is not taken for one that hangs
            watch.run(command, out, kunit.LIMITS, kernel=boot.kernel)
        except EngineError as error:
            print(error, file=sys.stderr)
        left = out / "logs" / "mutants.json"
        return dict(json.loads(left.read_text())) if left.exists() else {}


def reasons() -> dict[tuple[str, str, str], str]:
    """Why a mutant that lives is the module, by function, old and new text."""
    listed = yaml.safe_load(SURVIVORS.read_text()) or []
    return {(one["function"], one["old"], one["new"]): one["because"] for one in listed}


def main() -> int:
    """Print the table; 0 if enough are killed."""
    progress.STANDSTILL_S = HANGS_S  # type: ignore[misc]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "mutants"
        tried = compiled(folder, dict(enumerate(mutants())))
        found = results(folder, list(tried))
    explained = reasons()
    for number, mutant in tried.items():
        about = f"{mutant.file}:{mutant.line}: {mutant.function}: {mutant.old!r} -> {mutant.new!r}"
        why = explained.get((mutant.function, mutant.old, mutant.new), "no reason is known")
        print(f"{about}: {found[number] or f'ALIVE: {why}'}")
    killed = sum(bool(outcome) for outcome in found.values())
    ended = sum(outcome == "the guest ended" for outcome in found.values())
    print(f"{killed} of {len(tried)} mutants killed, {ended} of them by ending the guest")
    return 0 if killed >= ENOUGH * len(tried) else 1


if __name__ == "__main__":
    sys.exit(main())
