"""What the tests of the module share."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine import images, kunit, launch, watch
from engine.cpu_slots import free_cpu
from engine.errors import EngineError
from engine.run import execute, run_folder
from images import index
from scenarios.resolve import expand, resolve

SCENARIO = """\
experiment: {name}
title: a test
topology: {{name: dumbbell, pairs: {pairs}}}
bottleneck: {{rate: {rate}, buffer: {buffer}}}
delay: {{forward: {forward}, backward: {backward}}}
tcp: {{{tcp}ack: {ack}, initial_window: {initial_window}}}
flows:
{flows}
events:
{events}
duration: {duration}
sample: {sample}
seeds: {{complete: 1, quick: 1}}
{more}
"""

Result = Callable[[str], pl.DataFrame]
Run = Callable[..., Result]


@pytest.fixture
def debug_images() -> images.Images:
    """The debug kernel and the module for it."""
    try:
        return images.load(index.DEBUG)
    except EngineError as error:
        pytest.skip(str(error))


@pytest.fixture
def in_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Run a program as root in a guest that boots these images, other files beside it; gives what is /results there."""

    def carry_out(boot: images.Images, program: Path, *beside: Path) -> Path:
        code, results = tmp_path / "code", tmp_path / "results"
        for package in ("engine", "topologies"):
            shutil.copytree(images.PROJECT / package, code / package, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (program, *beside):
            shutil.copy(file, code / "engine" / "guest" / file.name)
        monkeypatch.setattr(images, "PROJECT", code)
        (results / "logs").mkdir(parents=True)
        arguments = launch.boot_arguments(boot, 1, f"engine.guest.{program.stem}")
        with free_cpu() as cpu:
            command = launch.command(boot, results, cpu, arguments, kunit.LIMITS)
            watch.run(command, results, kunit.LIMITS, kernel=boot.kernel)
        return results

    return carry_out


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Carry out flows over a dumbbell in virtual time; what comes back reads a trace by its name, with ``t_s``."""

    def carry_out(*flows: str, events: tuple[str, ...] = (), **values: Any) -> Result:
        settings = {"rate": "10mbit", "buffer": "150p", "forward": "20ms", "backward": "20ms", "duration": "30s"}
        settings |= {"sample": "10ms", "ack": "every-packet", "initial_window": "1p", "tcp": "", "more": ""} | values
        lines = [
            f"  - {{name: f{index}, from: s{index}, to: d{index}, implementation: {flow}}}"
            for index, flow in enumerate(flows, 1)
        ]
        changes = "\n".join(f"  - {{{event}}}" for event in events)
        file = tmp_path / "trial" / "behaviour.yaml"
        file.parent.mkdir(exist_ok=True)
        text = SCENARIO.format(
            name="behaviour", pairs=len(flows), flows="\n".join(lines), events=changes or "  []", **settings
        )
        file.write_text(text)
        [cell] = expand(file, "complete")
        execute(resolve(cell, 1), tmp_path)
        traces = run_folder(tmp_path, cell, 1) / "traces"
        return lambda name: pl.read_csv(traces / f"{name}.csv").with_columns(t_s=pl.col("time_ns") / 1e9)

    return carry_out
