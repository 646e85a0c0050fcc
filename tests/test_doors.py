"""Every way into the testbed stands once in docs/reference/commands.md, and there are no more than people can know."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from analysis.__main__ import _parser as analysis
from testbed.cli import COMMANDS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/reference/commands.md").read_text()
MOST = 40
PACKAGES = ("analysis", "common", "engine", "exec", "images", "scenarios", "testbed", "topologies")
IN_GUESTS = ("engine/guest", "images/implementations", "images/rootfs", "images/tcp_ledbat", "images/tcp_rledbat")


def listed(part: str) -> list[str]:
    text = PAGE.partition(f"## {part}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)


def modules() -> Iterator[str]:
    """What `python -m` carries out."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            place = file.relative_to(ROOT)
            if not str(place).startswith(IN_GUESTS) and '\nif __name__ == "__main__"' in file.read_text():
                yield ".".join(place.with_suffix("").parts).removesuffix(".__main__")


def test_every_door_stands_in_the_table_once() -> None:
    people, programs = listed("Of people"), listed("Of programs")
    makefile = (ROOT / "Makefile").read_text()
    targets = {f"make {name}" for name in re.findall(r"^([a-z0-9-]+):.*##", makefile, re.MULTILINE)} - {"make help"}
    [verbs] = [action for action in analysis("analysis")._actions if isinstance(action, argparse._SubParsersAction)]
    doors = {f"testbed {name}" for name in COMMANDS} | targets
    doors |= {f"python -m analysis {verb}" for verb in verbs.choices}
    doors |= {f"python -m {module}" for module in modules() if module != "analysis"}
    assert sorted([*people, *programs]) == sorted(doors)
    assert len(people) <= MOST


def test_every_trial_stands_in_the_table() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert sorted(listed("Trials")) == sorted(re.findall(r"^trial-([a-z0-9-]+):", makefile, re.MULTILINE))
