"""Guests that do not get on are ended and named; those that are only slow, or stopped for a while, are not."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine import images, progress, usage, watch
from engine.errors import EngineError
from engine.run import execute, run_folder
from exec import script
from scenarios.resolve import Cell, expand, resolve
from tests.trust.conftest import SHORT, Sabotage

PROBE = '    outcome["probe"] = probe.probe('
COMPUTES = ["python3", "-I", "-S", "-c", "sum(range(10**6))"]
BULK, WORDS = "engine/guest/kernel_tcp.py", "[_BULK, *map(str, words)]"


@pytest.fixture
def undisturbed(cell: Cell, tmp_path: Path) -> dict[str, str]:
    digests: dict[str, str] = execute(resolve(cell, 1), tmp_path / "undisturbed")["digests"]
    return digests


def test_a_client_that_creeps_is_ended_and_named(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sides of the flow poll something that never blocks."""
    monkeypatch.setattr(progress, "STANDSTILL_S", 6.0)
    monkeypatch.setattr(progress, "CREEP", 2 * progress.CREEP)  # this machine may be fast
    polls = "import select\nwhile True: select.select([], [], [], 0)"
    sabotage(BULK, WORDS, f'["python3", "-c", {polls!r}]')
    with pytest.raises(
        EngineError, match=r"hardly any progress for 6 s .*: python3 \(process \d+\) keeps calling what"
    ):
        execute(resolve(cell, 1), tmp_path)


@pytest.mark.parametrize(
    ("before", "when"),
    [("    net = network.build(run)\n", "while the network was built"), (PROBE, "during the fidelity probe")],
)
def test_a_program_that_computes_before_zero_is_named_with_the_stage(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch, before: str, when: str
) -> None:
    monkeypatch.setattr(progress, "STANDSTILL_S", 3.0)
    sabotage("engine/guest/agent.py", before, f"    while True: pass\n{before}")
    with pytest.raises(EngineError, match=rf"no progress for 3 s {when}: .* computes without ever sleeping"):
        execute(resolve(cell, 1), tmp_path)


def test_a_guest_that_has_to_share_its_cpu_goes_on(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It computes for a second of CPU time, which takes it longer than a guest may stand still."""
    monkeypatch.setattr(progress, "STANDSTILL_S", 1.0)
    monkeypatch.setattr(progress, "_LEAST_CPU", 9.0)  # this machine may be slow
    sabotage("engine/guest/agent.py", PROBE, f"    sum(range(6 * 10**7))\n{PROBE}")
    run = watch.run

    def beside_others(command: list[str], *more: Any, **named: Any) -> int:
        """Begin them once the guest has its CPU, which they share."""
        words = [*command[:3], sys.executable, "-c", "while True: pass"]
        # sessions of their own: the kernel may share the CPU among sessions, not among processes
        others = [subprocess.Popen(words, start_new_session=True) for _ in range(8)]
        try:
            return run(command, *more, **named)
        finally:
            for other in others:
                other.kill()
                other.wait()

    monkeypatch.setattr(watch, "run", beside_others)
    assert execute(resolve(cell, 1), tmp_path)["wall_s"] > progress.STANDSTILL_S


def test_a_guest_that_starts_many_programs_before_zero_goes_on(
    cell: Cell, tmp_path: Path, sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a loaded machine with many hosts: no time passes, nothing idles, and yet it gets on."""
    monkeypatch.setattr(progress, "STANDSTILL_S", 1.0)
    monkeypatch.setattr(progress, "CREEP", 1e9)
    many = f"for _ in range(100): subprocess.run({COMPUTES}, check=True)"
    sabotage("engine/guest/agent.py", PROBE, f"    {many}\n{PROBE}")
    assert execute(resolve(cell, 1), tmp_path)["wall_s"] > progress.STANDSTILL_S


def test_a_script_that_starts_many_programs_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one whose network has many hosts."""
    monkeypatch.setattr(progress, "STANDSTILL_S", 1.0)
    monkeypatch.setattr(progress, "CREEP", 1e9)
    (tmp_path / "many.py").write_text(
        f"import subprocess\nfor _ in range(100): subprocess.run({COMPUTES}, check=True)\n"
    )
    order = script.ScriptRun(("python3", "many.py"), tmp_path, tmp_path)
    assert script.run(order, tmp_path / "results", echo=False)["exit_status"] == 0


def test_a_script_that_starts_programs_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "STANDSTILL_S", 1.0)
    monkeypatch.setattr(progress, "CREEP", 1e9)
    monkeypatch.setattr(progress, "STARTING_CPU_S", 2.0)
    (tmp_path / "many.py").write_text(f"import subprocess\nwhile True: subprocess.run({COMPUTES})\n")
    order = script.ScriptRun(("python3", "many.py"), tmp_path, tmp_path)
    with pytest.raises(EngineError, match=r"hardly any progress for 1 s while the script ran: python3") as told:
        script.run(order, tmp_path / "results", echo=False)
    assert "this one had 512 MiB (`--memory MIB` sets more)" in str(told.value)


@pytest.mark.parametrize(
    ("ran", "named"),
    [
        (["ksoftirqd/0 (process 10)", "python3 (process 119)", "ksoftirqd/0 (process 10)"], "python3 (process 119)"),
        (["sh (process 4)", "python3 (process 9)", "python3 (process 9)"], "python3 (process 9)"),
        (["ksoftirqd/0 (process 10)"], "ksoftirqd/0 (process 10)"),
    ],
)
def test_threads_of_the_kernel_are_named_only_if_no_program_ran(ran: list[str], named: str) -> None:
    assert progress.culprit(Counter(ran)) == named


def test_asking_who_runs_disturbs_nothing(
    cell: Cell, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_LOOK_S", 0.004)  # a fast machine carries the run out in a fifth of a second
    monkeypatch.setattr(progress, "STANDSTILL_S", 0.02)
    monkeypatch.setattr(progress, "CREEP", 1e9)
    monkeypatch.setattr(progress.Progress, "_judged", lambda *_: None)
    summary = execute(resolve(cell, 1), tmp_path)
    assert (run_folder(tmp_path, cell, 1) / "logs" / "console.log").read_text().count("running: ") > 1
    assert summary["digests"] == undisturbed


class Disturbance(threading.Thread):
    """Lowers the bounds once the scenario's time passes, then does something to the guest's kernel, a host process."""

    def __init__(self, standstill_s: float, act: Callable[[int], None]) -> None:
        super().__init__()
        self._standstill_s, self._act = standstill_s, act
        self.kernel = 0

    def run(self) -> None:
        """Wait for the guest that this process starts."""
        deadline = time.monotonic() + 120
        while not self.kernel and time.monotonic() < deadline:
            time.sleep(0.02)
            with suppress(OSError):
                for process in usage.processes(os.getpid()):
                    if "linux" in Path(f"/proc/{process}/comm").read_text():
                        at = progress.Progress._instant(self.reader, process)
                        self.kernel = process if (at.now_ns or 0) > 31e9 else 0
        progress.STANDSTILL_S = self._standstill_s
        self._act(self.kernel)

    @property
    def reader(self) -> progress.Progress:
        """Somebody who can read a guest's clock."""
        reader = object.__new__(progress.Progress)
        kernel = images.load().kernel
        reader._clock_at = progress.address_of(kernel, progress._CLOCK)
        reader._idle_at = progress.address_of(kernel, progress._IDLE)
        reader._forks_at = progress.address_of(kernel, progress._FORKS)
        return reader


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """What became of each suspicion; bounds are put back after the test."""
    lines: list[str | None] = []
    judge = progress.Progress._judged

    def noted(self: progress.Progress, *words: Any) -> str | None:
        lines.append(judge(self, *words))
        return lines[-1]

    monkeypatch.setattr(progress.Progress, "_judged", noted)
    monkeypatch.setattr(progress, "STANDSTILL_S", 60.0)
    return lines


def test_a_slow_guest_that_idles_goes_on(
    scenario: Path, tmp_path: Path, judged: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a link of 10 Gbit/s: virtual time passes slower than the bound, here one that no guest keeps."""
    monkeypatch.setattr(progress, "CREEP", 1e9)
    monkeypatch.setattr(watch, "_LOOK_S", 0.01)  # a fast machine carries the run out in a second
    scenario.write_text(SHORT.replace("10mbit", "50mbit").replace("1s", "60s"))
    Disturbance(0.2, lambda _: None).start()
    execute(resolve(expand(scenario, "complete")[0], 1), tmp_path)
    assert judged and not any(judged)


def test_a_guest_that_was_stopped_goes_on(scenario: Path, tmp_path: Path, judged: list[str | None]) -> None:
    def stop(kernel: int) -> None:
        os.kill(kernel, signal.SIGSTOP)
        time.sleep(4)
        progress.STANDSTILL_S = 60.0
        os.kill(kernel, signal.SIGCONT)

    scenario.write_text(SHORT.replace("1s", "60s"))
    disturbance = Disturbance(1.0, stop)
    disturbance.start()
    assert execute(resolve(expand(scenario, "complete")[0], 1), tmp_path)["wall_s"] > 4
    assert disturbance.kernel and not judged


def test_the_guests_clock_is_read_from_outside(cell: Cell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Virtual time and when the guest last began to idle, which it does all the time."""
    seen = []
    read = progress.Progress._instant

    def noted(self: progress.Progress, kernel: int | None) -> progress.Instant:
        seen.append(read(self, kernel))
        return seen[-1]

    monkeypatch.setattr(progress.Progress, "_instant", noted)
    monkeypatch.setattr(watch, "_LOOK_S", 0.01)  # the whole run takes half a second
    execute(resolve(cell, 1), tmp_path)
    told = [(at.now_ns, at.idle_ns) for at in seen if at.now_ns and at.idle_ns]
    assert told, seen
    assert all(0 <= now_ns - idle_ns < 5e9 for now_ns, idle_ns in told)
