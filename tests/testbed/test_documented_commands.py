"""What the pages let people type: each command is taken by what it calls. Other tests carry many of them out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
import yaml
from snakemake.cli import get_argument_parser

from analysis.__main__ import _parser as analysis
from testbed.cli import COMMANDS, parsed

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTENDS = ROOT / "docs/howto/extending.md"
"""Its commands are those of a copy that it has extended: tests/test_extending.py."""
MAKEFILE = (ROOT / "Makefile").read_text()
SERVICES = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
SERVICE = re.compile(r"docker-compose (?:build|up|run --rm) ([\w-]+)")


def typed(page: Path) -> Iterator[str]:
    """The lines of a page's blocks for a shell, without comments."""
    for language, text in re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL):
        for line in text.replace("\\\n", " ").splitlines() if language in ("", "sh") else ():
            for part in re.sub(r"(^|\s)#.*", "", line).split(" && "):
                yield part.strip().removeprefix("$ ").removeprefix("sudo ")


def called(program: str) -> list[tuple[str, list[str]]]:
    """The calls of a program on all pages: the page, and the words behind the program's name."""
    found = []
    for page in PAGES:
        for line in typed(page):
            name, _, rest = line.partition(" ")
            if page != EXTENDS and re.fullmatch(rf"(?:\S+/bin/)?{program}", name):
                found.append((page.name, shlex.split(rest)))
    return found


def inline(begins: str) -> set[tuple[str, str]]:
    """What pages mention of calls that begin so, within a line's code."""
    code = re.compile(rf"`({begins}[^`]*)`")
    return {(page.name, text) for page in PAGES if page != EXTENDS for text in code.findall(page.read_text())}


def two_in_one(words: list[str]) -> list[str]:
    """As the command line does: `gate versions` is one command."""
    return [" ".join(words[:2]), *words[2:]] if " ".join(words[:2]) in COMMANDS else words


@cache
def usage_of_testbed(command: str) -> str:
    with redirect_stdout(StringIO()) as said, suppress(SystemExit):
        analysis("").parse_args([command, "--help"]) if command == "observe" else parsed([command, "--help"])
    return said.getvalue()


@cache
def usage(module: str) -> str:
    words = [sys.executable, "-m", module, "--help"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_commands_of_testbed_are_taken() -> None:
    calls = called("testbed")
    assert len(calls) > 40
    for page, words in calls:
        try:
            analysis("").parse_args(words) if words[0] == "observe" else parsed(two_in_one(words))
        except SystemExit:
            pytest.fail(f"{page}: testbed {shlex.join(words)}")


def test_what_is_mentioned_of_testbed_is_there() -> None:
    for page, text in inline("testbed [a-z]"):
        words = text.replace("`", "").split()[1:]
        name = next((each for each in (" ".join(words[:2]), words[0]) if each in COMMANDS), None)
        assert name, f"{page}: {text}"
        known = usage_of_testbed(name)
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]*", text):
            assert option in known or name in ("exec", "mn"), f"{page}: {text}"


def test_modules_that_pages_call_take_these_options() -> None:
    calls = [(page, words[1:]) for page, words in called("python3?") if words[:1] == ["-m"] and words[1] != "venv"]
    assert len(calls) > 15
    for page, (module, *words) in calls:
        assert find_spec(module), f"{page}: {module}"
        if module == "analysis":
            analysis("").parse_args(words)
            continue
        known = usage(module)
        assert all(word in known for word in words if word.startswith("--")), f"{page}: {module} {words}"


def test_targets_of_make_are_there() -> None:
    calls = called("make")
    assert len(calls) > 10
    for page, words in calls:
        for word in words:
            name, _, value = word.partition("=")
            there = f"$({name})" in MAKEFILE or f"$(if $({name})" in MAKEFILE if value else f"\n{name}:" in MAKEFILE
            assert there or f"trial-{name}:" in MAKEFILE, f"{page}: make {word}"
        trial = next((word.removeprefix("NAME=") for word in words if word.startswith("NAME=")), None)
        assert trial is None or f"\ntrial-{trial}:" in MAKEFILE, f"{page}: {words}"


def test_options_of_snakemake_are_taken() -> None:
    calls = called("snakemake")
    assert len(calls) > 5
    for page, words in calls:
        try:
            options = get_argument_parser().parse_args(words)
        except SystemExit:
            pytest.fail(f"{page}: snakemake {shlex.join(words)}")
        for file in (options.snakefile, options.workflow_profile):
            assert file is None or (ROOT / file).exists(), f"{page}: {file}"


def test_services_and_playbooks_are_there() -> None:
    services = [name for page in PAGES for name in SERVICE.findall(page.read_text())]
    assert services and {*services} <= SERVICES.keys()
    plays = called("ansible-playbook")
    assert plays
    for page, words in plays:
        files = [word for word in words if word.endswith(".yml")]
        assert all((ROOT / "images/ansible" / file).exists() for file in files), f"{page}: {words}"
