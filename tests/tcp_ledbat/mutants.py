"""Whether the KUnit cases notice a mistake: `python -m tests.tcp_ledbat.mutants [MODULE]`, `make trial NAME=mutants`.

Each mutant is tcp_ledbat or tcp_rledbat with one of the mistakes that mutations.py makes. One build holds them all: of
each function there is a copy for each of its mutants, and a variable says whose is called. The module's object file for
User-Mode Linux is that of a program, so mutants.c runs the cases in processes of this host, one for each mutant: no
kernel boots.

A mutant is killed if a case fails or its process ends by a signal, which it also does if it takes too long. The cases
have to pass without a change before. The exit status is 0 if at least 95 % are killed. Survivors are in survivors.yaml,
with the reasons for which no case can tell them from the module.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import yaml

from images import index, module
from images.build_root import BuildRoot
from images.cache import Store, default_root
from images.errors import ImageError
from images.kernel import build as kernel
from images.kernel.build import REPRODUCIBLE
from tests.tcp_ledbat import mutations
from tests.tcp_ledbat.mutations import Mutation

FILES: Final = {"tcp_ledbat": ("tcp_ledbat.c", "settings.h"), "tcp_rledbat": ("tcp_rledbat.c",)}
HERE: Final = Path(__file__).parent
PROGRAM: Final = HERE / "mutants.c"
SURVIVORS: Final = HERE / "survivors.yaml"
ENOUGH: Final = 0.95
UNCHANGED: Final = -1
# what runs once, when the module is loaded or a namespace made: no change in a loaded module reaches it
LEFT_OUT: Final = frozenset(
    {"ledbat_register", "ledbat_unregister", "ledbat_unregister_controls", "ledbat_add_table"}
    | {"ledbat_net_add", "ledbat_net_init", "ledbat_net_exit"}
    | {"rledbat_learn_default", "rledbat_register", "rledbat_unregister"}
)
# what a kernel's own tree compiles instead of settings.h
_IN_TREE: Final = re.compile(r"^#else\n(.*?)^#endif\n", re.M | re.S)
MUTANT: Final = f"int mutant = {UNCHANGED};\n"
# the sanitizer's calls are the kernel's
PLAIN: Final = "KASAN_SANITIZE := n\nccflags-y += -w\n"

Outcome = str
"""The case that failed first, or a signal; "" where nothing noticed the mistake."""


def mutants(name: str) -> list[Mutation]:
    """All mutants of a module."""
    made: list[Mutation] = []
    for file in FILES[name]:
        text = (module.HERE / name / file).read_text()
        if file == "tcp_ledbat.c":
            text = _IN_TREE.sub(lambda match: "\n" * match[0].count("\n"), text)
        made += mutations.of(file, text, LEFT_OUT)
    return made


def write(folder: Path, name: str, wanted: dict[int, Mutation]) -> None:
    """Write a module's tests with these mutants, by number."""
    ignored = shutil.ignore_patterns("debian", "*.7", "*.md")
    shutil.copytree(module.HERE / name, folder, ignore=ignored, dirs_exist_ok=True)
    for file in FILES[name]:
        numbered = {number: mutant for number, mutant in wanted.items() if mutant.file == file}
        (folder / file).write_text(_with_mutants((folder / file).read_text(), numbered))
    test = folder / f"{name}_test.c"
    behind = (HERE / f"mutants_{name}.h").read_text() + (HERE / "mutants.h").read_text()
    test.write_text(MUTANT + test.read_text() + behind)
    kbuild = next(file for file in (folder / "Kbuild", folder / "Makefile") if file.exists())
    kbuild.write_text(kbuild.read_text().replace(f"obj-m := {name}.o\n", "obj-m :=\n") + PLAIN)


def _with_mutants(text: str, numbered: dict[int, Mutation]) -> str:
    """The text of a file in which functions have copies for their mutants."""
    for function in reversed(list(mutations.FUNCTION.finditer(text))):
        copies = {number: mutant.text for number, mutant in numbered.items() if mutant.function == function["name"]}
        if copies:
            text = text[: function.start()] + _switch(function, copies) + text[function.end() :]
    return text


def _switch(function: re.Match[str], copies: dict[int, str]) -> str:
    """A function behind its copies, whose bodies stand first; it calls the one that is in force."""
    name, head = function["name"], function["head"]
    parameters = "" if function["parameters"] == "void" else function["parameters"]
    words = ", ".join(re.findall(r"\w+", parameter)[-1] for parameter in parameters.split(",") if parameter)
    before, cases = "", ""
    for number, copy in copies.items():
        own = f"{name}_mutant{number}"
        before += copy.replace(f"{name}(", f"{own}(", 1)
        cases += f"\tcase {number}:\n\t\treturn {own}({words});\n"
    body = function[0][len(head) + len("\n{\n") :]
    return f"{before}{head}\n{{\n\tswitch (mutant) {{\n{cases}\t}}\n{body}"


def compiled(folder: Path, name: str, wanted: dict[int, Mutation]) -> dict[int, Mutation]:
    """Compile the tests for the debug kernel; return the mutants that are C, which are those in the build."""
    store = Store(default_root())
    root = BuildRoot(store, print)
    tree = kernel.build(store, print, root, index.DEBUG).tree
    command = module.compiling("/seen/tree", "/build", "ARCH=um")
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        write(folder, name, wanted)
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


def outcomes(folder: Path, name: str, wanted: list[int]) -> dict[int, Outcome]:
    """What noticed each mutant, by number; also UNCHANGED."""
    program = folder / "mutants"
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-no-pie", "-o", program, PROGRAM, folder / f"{name}_test.o"],
        check=True,
    )
    said = subprocess.check_output([program, *map(str, [UNCHANGED, *wanted])], text=True)
    return {int(number): outcome for number, _, outcome in (line.partition(" ") for line in said.splitlines())}


def reasons() -> dict[tuple[str, str, str], str]:
    """Why a mutant that lives is the module, by function, old and new text."""
    listed = yaml.safe_load(SURVIVORS.read_text()) or []
    return {(mutant["function"], mutant["old"], mutant["new"]): mutant["because"] for mutant in listed}


def main(name: str = "tcp_ledbat") -> int:
    """Print a module's table; 0 if enough are killed."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "mutants"
        tried = compiled(folder, name, dict(enumerate(mutants(name))))
        noticed = outcomes(folder, name, list(tried))
    if case := noticed.pop(UNCHANGED):
        print(f"without a change: {case}", file=sys.stderr)
        return 1
    explained = reasons()
    for number, mutant in tried.items():
        about = f"{mutant.file}:{mutant.line}: {mutant.function}: {mutant.old!r} -> {mutant.new!r}"
        why = explained.get((mutant.function, mutant.old, mutant.new), "no reason is known")
        print(f"{about}: {noticed[number] or f'ALIVE: {why}'}")
    killed = sum(map(bool, noticed.values()))
    signals = sum(outcome.startswith("signal") for outcome in noticed.values())
    print(f"{killed} of {len(tried)} mutants killed, {signals} of them by signals")
    return 0 if killed >= ENOUGH * len(tried) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
