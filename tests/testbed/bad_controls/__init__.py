"""Reno with faults (tcp_bad), and which rows of `testbed evaluate` each fault must fail (predictions.yaml)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.copies import ROOT, Copy, copied

HERE = Path(__file__).parent
PREDICTIONS: dict[str, Any] = yaml.safe_load((HERE / "predictions.yaml").read_text())
CONTROLS: dict[str, Any] = PREDICTIONS["controls"]
DESCRIPTION = """\
title: Reno with a fault, {name}
kind: kernel-tcp
congestion_control: bad_{name}
module: tcp_bad
roles: [sender]
transport: tcp
licence: GPL-2.0-only
source: a test of this project
version_command: [cat, /sys/module/tcp_bad/version]
"""


def with_bad_controls(into: Path) -> Copy:
    """Copy the project and add the controls, as docs/howto/adding-an-algorithm.md says."""
    copy = copied(into)
    shutil.copytree(HERE / "tcp_bad", copy.folder / "images" / "tcp_bad")
    for name in CONTROLS:
        folder = copy.folder / "images" / "implementations" / f"tcp-bad-{name}"
        folder.mkdir()
        (folder / "implementation.yaml").write_text(DESCRIPTION.format(name=name))
    return copy


def only(copy: Copy, rows: Sequence[str]) -> None:
    """Let the copy's criteria have these rows alone, as criterion/row, of those criteria that they name."""
    for criterion in {row.partition("/")[0] for row in rows}:
        place = Path("workflows/rulebooks/rfc9743") / criterion / "statements.yaml"
        data = yaml.safe_load((ROOT / place).read_text())
        data.pop("among", None)  # statements that criteria share
        data["statements"] = [row for row in data["statements"] if f"{criterion}/{row['id']}" in rows]
        (copy.folder / place).write_text(yaml.safe_dump(data))


def predicted(name: str) -> set[str]:
    """Return the rows that a control must fail, in hindsight."""
    of_control = CONTROLS[name]
    rows = {*PREDICTIONS["reno"]["fails"], *of_control["fails"], *of_control.get("beyond", {})}
    return rows - {*of_control.get("missed", {})}


def failed(copy: Copy, name: str, rows: Sequence[str]) -> set[str]:
    """Evaluate a control beside Reno in the criteria of these rows; return the rows that it does not meet."""
    only(copy, rows)
    chosen = "".join(f" --criterion {criterion}" for criterion in sorted({row.partition("/")[0] for row in rows}))
    done = copy(f"testbed evaluate tcp-bad-{name} --baseline tcp-reno --seeds {CONTROLS[name]['seeds']}{chosen}")
    assert done.returncode in (0, 1, 2), done.stdout + done.stderr
    document = json.loads((copy.folder / "results/evaluate" / f"tcp-bad-{name}" / "evaluation.json").read_text())
    return {
        f"{criterion['id']}/{cell['row']}"
        for criterion in document["criteria"]
        for cell in criterion["cells"]
        if cell["verdict"] == "does not hold"
    }
