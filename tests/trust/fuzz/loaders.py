"""Fuzzes the loader of scenarios: the project's own files, mutated. `python -m tests.trust.fuzz.loaders COUNT SEED`."""

import random
import sys
import tempfile
from pathlib import Path

from engine.images import PROJECT
from scenarios import scenario_files
from scenarios.errors import ScenarioError
from scenarios.resolve import SIZES, expand

TELLING = [
    *(
        "&a ",
        "*a",
        "!!int ",
        "!!python/object:os.system ",
        "!!binary ",
        "!!timestamp ",
        "!!set ",
        "? ",
        "<<: ",
        "|",
        ">",
    ),
    *(
        "[",
        "{",
        "]",
        "}",
        ": ",
        "- ",
        "'",
        '"',
        "\t",
        "\n",
        "---\n",
        "...\n",
        "%YAML 9.9\n",
        "\0",
        "\N{BYTE ORDER MARK}",
    ),
    *("9" * 5000, "1e999ms", "-1", "0", "null", "~", ".nan", "{}", "[]", "99999999999999999999mbit", "0s", "0p"),
    *("${x}", "${", "matrix: ", "cases: ", "../../x", "<script>", "$(id)", "route", "\N{NEXT LINE}", "[" * 5000),
]


def mutated(seed: int) -> bytes:
    """One of the project's scenarios with a few changes, a function of the seed."""
    chance = random.Random(seed)  # noqa: S311 (repeatable on purpose)
    sources = [file for study in sorted((PROJECT / "workflows/studies").iterdir()) for file in scenario_files(study)]
    text = bytearray(chance.choice(sources).read_bytes())
    for _ in range(chance.randrange(1, 6)):
        where, length = chance.randrange(len(text)), chance.randrange(1, 60)
        match chance.randrange(5):
            case 0:
                text[where:where] = chance.choice(TELLING).encode()
            case 1:
                del text[where : where + length]
            case 2:
                text[where] = chance.randrange(256)
            case 3:
                other = chance.randrange(len(text))
                text[where:where] = text[other : other + length]
            case _:  # another value
                colon = text.find(b":", where)
                line_end = text.find(b"\n", colon)
                text[colon + 1 : max(line_end, colon + 1)] = b" " + chance.choice(TELLING).encode()
        text = text or bytearray(b" ")
    return bytes(text)


def load(text: bytes, folder: Path) -> None:
    """Load a scenario file of this text: it is one, or a `ScenarioError` says why not, and nothing else is raised."""
    file = folder / "fuzzed" / "scenario.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text)
    try:
        expand(file, random.choice(SIZES))  # noqa: S311
    except ScenarioError as error:
        assert str(file) in str(error)


def main() -> None:
    """Fuzz; the seed of an input that fails stands in its error."""
    count, first = int(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                load(mutated(seed), Path(folder))
            except Exception as error:
                error.add_note(f"input {seed}")
                raise
    print(f"{count} scenarios loaded or refused")


if __name__ == "__main__":
    main()
